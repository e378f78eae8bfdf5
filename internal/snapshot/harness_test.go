package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// content is what a snapshot holds.
type content struct {
	header  Header
	pieces  []piece
	records []record
	lastT   int64

	blockBytes int // 0 is as usual
}

type piece struct {
	Piece
	entries []op.Op
}

type record struct {
	lsn    wal.LSN
	tMilli int64
	op     op.Op
}

func put(db int, key, value string, deadlineMilli int64) op.Op {
	return op.Op{Code: op.Put, DB: db, Key: []byte(key), Value: []byte(value), DeadlineMilli: deadlineMilli}
}

// writeTo writes c to f, as the engine does.
func writeTo(t testing.TB, f vfs.File, c *content) Info {
	t.Helper()
	w := NewWriter(f, c.header)
	if c.blockBytes != 0 {
		w.blockBytes = c.blockBytes
	}
	for i := range c.pieces {
		for j := range c.pieces[i].entries {
			w.Entry(&c.pieces[i].entries[j])
		}
		require.NoError(t, w.EndPiece(c.pieces[i].Piece))
	}
	var buf []byte
	for i := range c.records {
		r := &c.records[i]
		buf = op.Append(buf[:0], &r.op)
		require.NoError(t, w.Record(r.lsn, r.tMilli, buf))
	}
	info, err := w.Finish(c.lastT)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	require.Equal(t, size, info.SizeBytes)
	return info
}

// collector is a Sink that keeps copies. Entries are put into their order by
// the keys' own, because workers deliver stretches beside each other.
type collector struct {
	mu      sync.Mutex
	entries map[string]op.Op // by database and key
	pieces  []Piece
	records []record
	fail    func(what string) error
}

func (c *collector) failing(what string) error {
	if c.fail == nil {
		return nil
	}
	return c.fail(what)
}

func (c *collector) Entries(ops []op.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]op.Op{}
	}
	for i := range ops {
		o := owned(&ops[i])
		name := fmt.Sprintf("%d %s", o.DB, o.Key)
		if _, twice := c.entries[name]; twice {
			return fmt.Errorf("%s came twice", name)
		}
		c.entries[name] = o
	}
	return c.failing("entries")
}

func (c *collector) Pieces(p []Piece) error {
	c.pieces = append(c.pieces, p...)
	return c.failing("pieces")
}

func (c *collector) Record(lsn wal.LSN, tMilli int64, o *op.Op) error {
	c.records = append(c.records, record{lsn, tMilli, owned(o)})
	return c.failing("record")
}

func owned(o *op.Op) op.Op {
	p := *o
	p.Key, p.Value = []byte(string(o.Key)), []byte(string(o.Value))
	return p
}

// requireHolds checks that got is what c holds.
func requireHolds(t testing.TB, c *content, got *collector) {
	t.Helper()
	entries := 0
	var pieces []Piece
	for i := range c.pieces {
		pieces = append(pieces, c.pieces[i].Piece)
		for j := range c.pieces[i].entries {
			want := owned(&c.pieces[i].entries[j])
			require.Equal(t, want, got.entries[fmt.Sprintf("%d %s", want.DB, want.Key)], "%s", want.Key)
			entries++
		}
	}
	require.Len(t, got.entries, entries)
	require.Equal(t, pieces, got.pieces)
	require.Len(t, got.records, len(c.records))
	for i := range c.records {
		want := c.records[i]
		want.op = owned(&want.op)
		require.Equal(t, want, got.records[i])
	}
}

// loadFrom opens and loads f.
func loadFrom(f vfs.File, o LoadOptions) (*collector, Info, error) {
	var got collector
	r, err := Open(f, "snap")
	if err != nil {
		return &got, Info{}, err
	}
	return &got, r.Info(), r.Load(&got, o)
}

// bytesFile is a file in memory that remembers nothing but its content.
type bytesFile struct {
	b            []byte
	unsynced     int
	mostUnsynced int
}

func (f *bytesFile) ReadAt(p []byte, at int64) (int, error) {
	return bytes.NewReader(f.b).ReadAt(p, at)
}

func (f *bytesFile) WriteAt(p []byte, at int64) (int, error) {
	if at != int64(len(f.b)) {
		return 0, errors.New("a snapshot is written in one pass")
	}
	f.b = append(f.b, p...)
	f.unsynced += len(p)
	f.mostUnsynced = max(f.mostUnsynced, f.unsynced)
	return len(p), nil
}

func (f *bytesFile) Size() (int64, error) { return int64(len(f.b)), nil }
func (f *bytesFile) Truncate(int64) error { return errors.ErrUnsupported }
func (f *bytesFile) Close() error         { return nil }
func (f *bytesFile) Sync() error {
	f.unsynced = 0
	return nil
}

// bytesOf is the file that c makes.
func bytesOf(t testing.TB, c *content) []byte {
	t.Helper()
	var f bytesFile
	writeTo(t, &f, c)
	return f.b
}

// small is a snapshot with something of everything: databases, raw values,
// deadlines, an empty key, an empty piece, a repeated LSN, records of each kind,
// two of them behind the last piece's.
func small() *content {
	raw := put(0, "raw", "appended", 0)
	raw.Raw = true
	return &content{
		header: Header{
			ID: 3, LogID: 0x1122334455667788, Databases: 16, CreatedMilli: 1_700_000_000_000,
			HashSecrets: [4]uint64{1 << 63, 2, 0xA5A5A5A5A5A5A5A5, 4},
		},
		pieces: []piece{
			{Piece{End: 5 << 32, LSN: 40}, []op.Op{put(0, "a", "1", 0), put(15, "a", "other", 1_800_000_000_000)}},
			{Piece{End: 5<<32 + 77, LSN: 42}, []op.Op{raw, put(2, "", "", 1)}},
			{Piece{End: 16000 << 32, LSN: 42}, nil},
			{Piece{End: PlaceEnd, LSN: 47}, []op.Op{
				put(0, "long", strings.Repeat("x", 99), 0), put(0, "longer", strings.Repeat("y", 130), 0),
			}},
		},
		records: []record{
			{41, 1_700_000_000_001, op.Op{Code: op.Delete, Key: []byte("a")}},
			{42, 1_700_000_000_001, op.Op{Code: op.IdempotencyPut, Key: []byte("i"), Value: []byte("idem"), DeadlineMilli: 7}},
			{43, 1_700_000_000_900, op.Op{Code: op.SwapDB, DB: 0, DB2: 15}},
			{44, 1_700_000_000_900, op.Op{Code: op.FlushAll}},
			{45, 1_700_000_000_901, op.Op{Code: op.SetDeadline, Key: []byte("long"), DeadlineMilli: 1_900_000_000_000}},
			{46, 1_700_000_000_902, op.Op{Code: op.FlushDB, DB: 3}},
			{47, 1_700_000_000_903, op.Op{Code: op.Splice, Key: []byte("s"), Value: []byte("piece"), Offset: 1000}},
			{48, 1_700_000_000_903, put(0, "put", "again", 1_800_000_000_000)},
			{49, 1_700_000_001_000, op.Op{Code: op.Tick}},
		},
		lastT: 1_700_000_002_000,
	}
}
