package snapshot_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// content is what a snapshot holds.
type content struct {
	header  snapshot.Header
	pieces  []piece
	records []record
	lastT   int64
}

type piece struct {
	snapshot.Piece
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

// write writes c to a new file of fsys, as the engine does.
func write(t testing.TB, f vfs.File, c *content) snapshot.Info {
	t.Helper()
	w := snapshot.NewWriter(f, c.header)
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
	pieces  []snapshot.Piece
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

func (c *collector) Pieces(p []snapshot.Piece) error {
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
	var pieces []snapshot.Piece
	for i := range c.pieces {
		pieces = append(pieces, c.pieces[i].Piece)
		for j := range c.pieces[i].entries {
			want := owned(&c.pieces[i].entries[j])
			require.Equal(t, want, got.entries[fmt.Sprintf("%d %s", want.DB, want.Key)])
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

// load opens and loads f.
func load(f vfs.File, o snapshot.LoadOptions) (*collector, snapshot.Info, error) {
	var got collector
	r, err := snapshot.Open(f, "snap")
	if err != nil {
		return &got, snapshot.Info{}, err
	}
	return &got, r.Info(), r.Load(&got, o)
}

func newFile(t testing.TB) vfs.File {
	t.Helper()
	f, err := vfs.NewMem().Create("snap")
	require.NoError(t, err)
	return f
}

// small is a snapshot with something of everything: databases, raw values,
// deadlines, an empty key, an empty piece, a repeated LSN, records of each kind.
func small() *content {
	raw := put(0, "raw", "appended", 0)
	raw.Raw = true
	return &content{
		header: snapshot.Header{
			ID: 3, LogID: 0x1122334455667788, Databases: 16, CreatedMilli: 1_700_000_000_000,
			HashSecrets: [4]uint64{1 << 63, 2, 0xA5A5A5A5A5A5A5A5, 4},
		},
		pieces: []piece{
			{snapshot.Piece{End: 5 << 32, LSN: 40}, []op.Op{put(0, "a", "1", 0), put(15, "a", "other", 1_800_000_000_000)}},
			{snapshot.Piece{End: 5<<32 + 77, LSN: 42}, []op.Op{raw, put(2, "", "", 1)}},
			{snapshot.Piece{End: 16000 << 32, LSN: 42}, nil},
			{snapshot.Piece{End: snapshot.PlaceEnd, LSN: 45}, []op.Op{
				put(0, "long", strings.Repeat("x", 99), 0), put(0, "longer", strings.Repeat("y", 130), 0),
			}},
		},
		records: []record{
			{41, 1_700_000_000_001, op.Op{Code: op.Delete, Key: []byte("a")}},
			{42, 1_700_000_000_001, op.Op{Code: op.IdempotencyPut, Key: []byte("i"), Value: []byte("idem"), DeadlineMilli: 7}},
			{43, 1_700_000_000_900, op.Op{Code: op.SwapDB, DB: 0, DB2: 15}},
			{44, 1_700_000_000_900, op.Op{Code: op.FlushAll}},
			{45, 1_700_000_001_000, op.Op{Code: op.SetDeadline, Key: []byte("long"), DeadlineMilli: 1_900_000_000_000}},
		},
		lastT: 1_700_000_002_000,
	}
}
