package inspect

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// every opcode, with bytes that are no text.
var everyCode = []entry{
	{0, op.Op{Code: op.Put, DB: 2, Key: []byte("a\x00\xff"), Value: []byte("<v>\xfe"), DeadlineMilli: startMilli + 5}},
	{1, op.Op{Code: op.Put, DB: 2, Key: []byte("ü"), Value: []byte{}}},
	{2, op.Op{Code: op.Splice, DB: 2, Key: []byte("ü"), Offset: 3, Value: []byte("0123456789")}},
	{3, op.Op{Code: op.SetDeadline, DB: 2, Key: []byte("ü"), DeadlineMilli: startMilli + 77}},
	{3, op.Op{Code: op.SetDeadline, DB: 2, Key: []byte("ü")}},
	{4, op.Op{Code: op.Delete, DB: 2, Key: []byte("ü")}},
	{5, pending("order:1", "f", "me", 1000)},
	{6, completed("order:1", "f", "me", "result\n", 1000)},
	{7, op.Op{Code: op.SwapDB, DB: 0, DB2: 1}},
	{8, op.Op{Code: op.FlushDB, DB: 3}},
	{9, op.Op{Code: op.FlushAll}},
	{10, op.Op{Code: op.Tick}},
}

func dumpLines(t *testing.T, fsys vfs.FS, name string, source Source, f Filter, valueBytes int) []string {
	t.Helper()
	var out []byte
	require.NoError(t, Dump(target(fsys, name), source, &f, func(it *Item) error {
		out = AppendLine(out, it, valueBytes)
		return nil
	}))
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestDumpLines(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	forge(t, fsys, everyCode...)
	require.Equal(t, []string{
		`1 2027-01-15T08:00:00.000Z put db=2 key="a\x00\xff" deadline=2027-01-15T08:00:00.005Z (1800000000005) value="<v>\xfe" bytes=4`,
		`2 2027-01-15T08:00:00.001Z put db=2 key="ü" deadline=none value="" bytes=0`,
		`3 2027-01-15T08:00:00.002Z splice db=2 key="ü" offset=3 value="01234567"... bytes=10`,
		`4 2027-01-15T08:00:00.003Z set-deadline db=2 key="ü" deadline=2027-01-15T08:00:00.077Z (1800000000077)`,
		`5 2027-01-15T08:00:00.003Z set-deadline db=2 key="ü" deadline=none`,
		`6 2027-01-15T08:00:00.004Z delete db=2 key="ü"`,
		`7 2027-01-15T08:00:00.005Z idempotency-put db=0 key="order:1" deadline=2027-01-15T08:00:01.000Z (1800000001000) idem=pending fingerprint="f" owner="me"`,
		`8 2027-01-15T08:00:00.006Z idempotency-put db=0 key="order:1" deadline=2027-01-15T08:00:01.000Z (1800000001000) idem=completed fingerprint="f" owner="me" result="result\n" bytes=7`,
		`9 2027-01-15T08:00:00.007Z swap-db db=0 with=1`,
		`10 2027-01-15T08:00:00.008Z flush-db db=3`,
		`11 2027-01-15T08:00:00.009Z flush-all`,
		`12 2027-01-15T08:00:00.010Z tick`,
	}, dumpLines(t, fsys, dir, SourceAll, Filter{DB: -1}, 8))
}

func TestDumpFilters(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	forge(t, fsys, everyCode...)
	hasPrefix := func(prefix string) func([]byte) bool {
		return func(key []byte) bool { return bytes.HasPrefix(key, []byte(prefix)) }
	}
	for _, c := range []struct {
		filter Filter
		want   []wal.LSN
	}{
		{Filter{DB: -1, Key: []byte("ü")}, []wal.LSN{2, 3, 4, 5, 6, 9, 10, 11}},
		{Filter{DB: -1, Key: []byte{}}, []wal.LSN{9, 10, 11}},
		{Filter{DB: -1, Match: hasPrefix("order:")}, []wal.LSN{7, 8, 9, 10, 11}},
		{Filter{DB: -1, Codes: []op.Code{op.IdempotencyPut, op.Tick}}, []wal.LSN{7, 8, 12}},
		{Filter{DB: -1, Key: []byte("ü"), Codes: []op.Code{op.Delete}}, []wal.LSN{6}},
		{Filter{DB: -1, FirstLSN: 11}, []wal.LSN{11, 12}},
		{Filter{DB: -1, LastLSN: 2}, []wal.LSN{1, 2}},
		{Filter{DB: -1, FirstLSN: 3, LastLSN: 4}, []wal.LSN{3, 4}},
		{Filter{DB: 2}, []wal.LSN{1, 2, 3, 4, 5, 6, 11}},
		{Filter{DB: 3}, []wal.LSN{10, 11}},
		{Filter{DB: 1}, []wal.LSN{9, 11}},
	} {
		var got []wal.LSN
		require.NoError(t, Dump(target(fsys, dir), SourceAll, &c.filter, func(it *Item) error {
			got = append(got, it.LSN)
			return nil
		}))
		require.Equal(t, c.want, got, "%+v", c.filter)
	}
}

// JSON holds every byte of key and value: what is not UTF-8 as base64.
func TestDumpJSON(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	forge(t, fsys, everyCode...)
	var out []byte
	require.NoError(t, Dump(target(fsys, dir), SourceAll, &Filter{DB: -1}, func(it *Item) (err error) {
		out, err = AppendJSON(out, it, -1)
		return err
	}))
	lines := bufio.NewScanner(bytes.NewReader(out))
	for i := range everyCode {
		require.True(t, lines.Scan())
		var got map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &got), lines.Text())
		o := &everyCode[i].op
		require.EqualValues(t, i+1, got["lsn"])
		require.EqualValues(t, o.Code, got["code"])
		require.Equal(t, CodeName(o.Code), got["op"])
		require.EqualValues(t, startMilli+everyCode[i].at, got["t_ms"])
		require.Equal(t, "wal/wal-0000000000000001.seg", got["file"])
		require.Positive(t, got["offset"])
		if o.Key != nil {
			require.Equal(t, string(o.Key), bytesOf(t, got, "key"))
			require.EqualValues(t, o.DB, got["db"])
		}
		if o.Code == op.Put || o.Code == op.Splice {
			require.Equal(t, string(o.Value), bytesOf(t, got, "value"))
			require.EqualValues(t, len(o.Value), got["value_bytes"])
		}
		if o.Code == op.Put || o.Code == op.SetDeadline || o.Code == op.IdempotencyPut {
			require.EqualValues(t, o.DeadlineMilli, got["deadline_ms"])
			require.Equal(t, o.DeadlineMilli != 0, got["deadline"] != nil)
		}
	}
	require.False(t, lines.Scan())
	require.Contains(t, string(out), `"deadline":"2027-01-15T08:00:01.000Z","idem":{"state":"completed","fingerprint":"f","owner":"me","result_bytes":7,"result":"result\n"}`)
	require.Contains(t, string(out), `"op":"swap-db","code":7,"db":0,"with_db":1`)

	cut, err := AppendJSON(nil, &Item{LSN: 1, Op: &op.Op{Code: op.Put, Key: []byte("k"), Value: []byte("aü")}}, 2)
	require.NoError(t, err)
	require.Contains(t, string(cut), `"value_bytes":3,"value":"a"`, "text stays text when it is cut within a letter")
}

// bytesOf is a field of bytes, under either of its names.
func bytesOf(t *testing.T, got map[string]any, name string) string {
	t.Helper()
	if encoded, ok := got[name+"_base64"].(string); ok {
		require.NotContains(t, got, name)
		b, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		return string(b)
	}
	require.Contains(t, got, name)
	return got[name].(string)
}

// What is shown of a directory: the newest snapshot and the log behind it, or
// one of the two.
func TestDumpSources(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	newest, older := st.m.Snapshots[0], st.m.Snapshots[1]
	count := func(name string, source Source) (entries int, first, last wal.LSN) {
		require.NoError(t, Dump(target(st.fs, name), source, &Filter{DB: -1}, func(it *Item) error {
			if it.LSN == 0 {
				entries++
				return nil
			}
			if first == 0 {
				first = it.LSN
			}
			last = it.LSN
			return nil
		}))
		return entries, first, last
	}
	entries, first, last := count(dir, SourceAll)
	require.Equal(t, []any{50, newest.LastLSN + 1, st.last()}, []any{entries, first, last})
	entries, first, last = count(dir, SourceLog)
	require.Equal(t, []any{0, older.LastLSN + 1, st.last()}, []any{entries, first, last})
	for _, file := range []string{dir, st.snapshot(0), st.snapshot(1)} {
		entries, first, _ = count(file, SourceSnapshot)
		require.Equal(t, []any{50, wal.LSN(0)}, []any{entries, first})
	}
	require.Contains(t, dumpLines(t, st.fs, dir, SourceSnapshot, Filter{DB: -1}, 1)[0], `snapshot put db=0 key="key`)
}

// Damage ends a dump behind all that comes before it.
func TestDumpUpToTheDamage(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	f := offsetOfRecord(t, st.fs, st.m, st.last()-10)
	damage(t, st.fs, path.Join(dir, f.Segment), f.Offset+80)
	last := wal.LSN(0)
	err := Dump(target(st.fs, dir), SourceLog, &Filter{DB: -1}, func(it *Item) error {
		last = it.LSN
		return nil
	})
	var bad *wal.DamageError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, f.Offset, bad.Offset)
	require.Equal(t, st.last()-11, last)

	enough := errors.New("enough")
	require.ErrorIs(t, Dump(target(st.fs, dir), SourceLog, &Filter{DB: -1}, func(*Item) error { return enough }), enough)
	require.ErrorContains(t, Dump(target(vfs.NewMem(), "nowhere"), SourceAll, &Filter{}, nil), "nowhere")
}

func TestParseCode(t *testing.T) {
	t.Parallel()
	for _, n := range codeNames {
		for _, s := range []string{n.name, strings.ToUpper(n.name), strconv.Itoa(int(n.code))} {
			code, err := ParseCode(s)
			require.NoError(t, err)
			require.Equal(t, n.code, code)
		}
	}
	for _, s := range []string{"", "200", "-1", "256", "set"} {
		_, err := ParseCode(s)
		require.ErrorContains(t, err, "unknown opcode")
	}
	// Every opcode of the registry has a name.
	for code := range 256 {
		if op.Decode([]byte{byte(code)}, new(op.Op)) == nil || !isUnknown(byte(code)) {
			require.NotContains(t, CodeName(op.Code(code)), "opcode-", "opcode %d", code)
		}
	}
}

func isUnknown(code byte) bool {
	var unknown *op.UnknownCodeError
	return errors.As(op.Decode([]byte{code}, new(op.Op)), &unknown)
}

// Behind bad places of a log all records are shown that are whole, once.
func TestDumpSalvage(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	fsys := st.fs.Kill()
	first := st.m.Snapshots[1].LastLSN + 1
	var places []wal.Found
	gone := map[wal.LSN]bool{first + 3: true, first + 4: true, first + 70: true}
	for lsn := range gone {
		places = append(places, offsetOfRecord(t, fsys, st.m, lsn))
	}
	for _, at := range places {
		damage(t, fsys, path.Join(dir, at.Segment), at.Offset+80)
	}
	salvage := func() (out []wal.LSN) {
		require.NoError(t, Dump(target(fsys, dir), SourceSalvage, &Filter{DB: -1, FirstLSN: first}, func(it *Item) error {
			out = append(out, it.LSN)
			return nil
		}))
		return out
	}
	var want []wal.LSN
	for lsn := first; lsn <= st.last(); lsn++ {
		if !gone[lsn] {
			want = append(want, lsn)
		}
	}
	require.Equal(t, want, salvage())
	damage(t, fsys, path.Join(dir, engine.ManifestName), 20)
	require.Equal(t, want, salvage(), "the manifest is not needed")
	require.NoError(t, copyFile(fsys, path.Join(dir, places[0].Segment), fsys,
		path.Join(dir, engine.WALDir, "wal-00000000000000ff.seg"), func(int64, int64) {}))
	require.Equal(t, want, salvage(), "no record twice")
	stop := errors.New("stop")
	require.ErrorIs(t, Dump(target(fsys, dir), SourceSalvage, &Filter{DB: -1}, func(*Item) error { return stop }), stop)
}
