package snapshot

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := small()
	var f bytesFile
	info := writeTo(t, &f, c)
	require.Equal(t, Info{
		Header: c.header, FirstLSN: 40, LastLSN: 49, LastT: 1_700_000_002_000,
		Pieces: 4, Keys: 6, Records: 9, Blocks: 2, SizeBytes: info.SizeBytes,
	}, info)
	for workers := range 4 {
		got, again, err := loadFrom(&f, LoadOptions{Workers: workers})
		require.NoError(t, err)
		require.Equal(t, info, again)
		requireHolds(t, c, got)
	}
}

// The store that never held anything has a snapshot too.
func TestRoundTripOfNothing(t *testing.T) {
	t.Parallel()
	c := &content{pieces: []piece{{Piece{End: PlaceEnd}, nil}}}
	var f bytesFile
	info := writeTo(t, &f, c)
	require.Equal(t, Info{Pieces: 1, Blocks: 1, SizeBytes: info.SizeBytes}, info)
	got, _, err := loadFrom(&f, LoadOptions{})
	require.NoError(t, err)
	requireHolds(t, c, got)
}

// Lengths on both sides of where their encoding gets a byte longer, with and
// without the fields that take room beside key and value.
func TestEntryLengths(t *testing.T) {
	t.Parallel()
	for _, edge := range []int{0, 1 << 7, 1 << 14, 1 << 21} {
		p := piece{Piece: Piece{End: PlaceEnd}}
		for size := max(edge-40, 0); size < edge+4; size++ {
			if edge == 1<<21 && size%25 != 0 {
				continue
			}
			value := strings.Repeat("v", size)
			p.entries = append(p.entries, put(0, fmt.Sprint("a", size), value, 0), put(1<<20, fmt.Sprint("b", size), value, -1))
		}
		c := &content{pieces: []piece{p}}
		f := bytesFile{b: nil}
		writeTo(t, &f, c)
		got, _, err := loadFrom(&f, LoadOptions{})
		require.NoError(t, err)
		requireHolds(t, c, got)
	}
}

// large is a snapshot of many blocks of each kind, one of them huge.
func large() *content { return sized(10_000, 60, 60_000, 500) }

// sized has about 3000 entries of valueBytes, one of hugeBytes and 74 records.
func sized(blockBytes, valueBytes, hugeBytes, recordBytes int) *content {
	c := &content{header: Header{ID: 1, LogID: 9, Databases: 1}, blockBytes: blockBytes}
	const pieces = 150
	for i := range pieces {
		p := piece{Piece: Piece{End: uint64(i+1) << 32, LSN: 100 + wal.LSN(i/2)}}
		for j := range 20 {
			p.entries = append(p.entries, put(0, fmt.Sprintf("key:%04d:%02d", i, j), strings.Repeat("v", valueBytes), 0))
		}
		if i == 77 {
			p.entries = append(p.entries, put(0, "huge", strings.Repeat("H", hugeBytes), 0))
		}
		c.pieces = append(c.pieces, p)
	}
	c.pieces[pieces-1].End = PlaceEnd
	for lsn := wal.LSN(101); lsn <= c.pieces[pieces-1].LSN; lsn++ {
		c.records = append(c.records, record{lsn, int64(lsn) * 10, put(0, "w", strings.Repeat("r", recordBytes), 0)})
	}
	return c
}

// The sizes that a server has: blocks of about a mebibyte, syncs on the way.
func TestUsualSizes(t *testing.T) {
	t.Parallel()
	c := sized(0, 3000, 6<<20, 50_000)
	var f bytesFile
	info := writeTo(t, &f, c)
	require.Equal(t, 13, info.Blocks)
	require.Less(t, f.mostUnsynced, syncBytes+8<<20, "the file is synced on the way")
	got, _, err := loadFrom(&f, LoadOptions{Workers: 2})
	require.NoError(t, err)
	requireHolds(t, c, got)
}

func TestManyBlocksAndWorkers(t *testing.T) {
	t.Parallel()
	c := large()
	var f bytesFile
	info := writeTo(t, &f, c)
	require.Greater(t, info.Blocks, 20)
	for _, workers := range []int{1, 2, 3, 8, 1000} {
		var last, calls int64
		got, _, err := loadFrom(&f, LoadOptions{Workers: workers, Progress: func(done, total int64) {
			require.Greater(t, done, last)
			require.Equal(t, info.SizeBytes, total)
			last, calls = done, calls+1
		}})
		require.NoError(t, err)
		requireHolds(t, c, got)
		require.Equal(t, info.SizeBytes, last, "all of the file is accounted for")
		require.EqualValues(t, info.Blocks, calls)
	}
}

// Each worker's stretch is contiguous, and together they are all blocks once.
func TestSplit(t *testing.T) {
	t.Parallel()
	f := bytesFile{b: bytesOf(t, large())}
	r, err := Open(&f, "snap")
	require.NoError(t, err)
	l := &load{r: r}
	for n := 1; n < 2*r.pieces; n++ {
		var all []block
		stretches := l.split(n)
		require.LessOrEqual(t, len(stretches), n)
		for _, s := range stretches {
			require.NotEmpty(t, s)
			all = append(all, s...)
		}
		require.Equal(t, r.blocks[:r.pieces], all)
	}
	require.Len(t, l.split(2), 2)
}

func TestSinkErrorsEndTheLoad(t *testing.T) {
	t.Parallel()
	f := bytesFile{b: bytesOf(t, large())}
	broken := errors.New("broken")
	for _, workers := range []int{1, 3} {
		for _, where := range []string{"entries", "pieces", "record"} {
			got := collector{fail: func(what string) error {
				if what == where {
					return broken
				}
				return nil
			}}
			r, err := Open(&f, "snap")
			require.NoError(t, err)
			require.Equal(t, broken, r.Load(&got, LoadOptions{Workers: workers}), where)
			if where == "entries" {
				require.Nil(t, got.pieces)
			} else {
				require.NotNil(t, got.pieces)
			}
			require.LessOrEqual(t, len(got.records), 1)
		}
	}
}

// When one worker has given up, the others deliver no further block.
func TestWorkersGiveUpTogether(t *testing.T) {
	t.Parallel()
	f := bytesFile{b: bytesOf(t, large())}
	r, err := Open(&f, "snap")
	require.NoError(t, err)
	var got collector
	w := worker{load: &load{r: r, sink: &got}}
	w.run(r.blocks[:2])
	require.NoError(t, w.err)
	met := len(got.entries)
	require.NotZero(t, met)
	w.giveUp()
	w.run(r.blocks[2:r.pieces])
	require.ErrorIs(t, w.err, errOtherFailed)
	require.Len(t, got.entries, met)
}

func TestStopped(t *testing.T) {
	t.Parallel()
	f := bytesFile{b: bytesOf(t, large())}
	r, err := Open(&f, "snap")
	require.NoError(t, err)
	for _, workers := range []int{1, 3} {
		for after := range r.Info().Blocks + 1 {
			asked := 0
			err := r.Load(nullSink{}, LoadOptions{Workers: workers, Stopped: func() bool {
				asked++
				return asked > after
			}})
			if after < r.Info().Blocks {
				require.ErrorIs(t, err, ErrStopped)
			} else {
				require.NoError(t, err)
			}
		}
	}
}

type nullSink struct{}

func (nullSink) Entries([]op.Op) error               { return nil }
func (nullSink) Pieces([]Piece) error                { return nil }
func (nullSink) Record(wal.LSN, int64, *op.Op) error { return nil }

// What a load allocates does not grow with the file: blocks of usual size
// share one buffer, and a huge one is the only one of its size.
func TestLoadMemory(t *testing.T) {
	f := bytesFile{b: bytesOf(t, sized(0, 3000, 6<<20, 50_000))}
	r, err := Open(&f, "snap")
	require.NoError(t, err)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, r.Load(nullSink{}, LoadOptions{}))
	runtime.ReadMemStats(&after)
	const huge, usual = 8 << 20, 2 * blockBytes
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(huge+4*usual))
}

func TestEntryAllocatesNothing(t *testing.T) {
	w := NewWriter(&bytesFile{b: make([]byte, 0, 64<<20)}, Header{})
	o := put(3, "key:000001234", strings.Repeat("v", 107), 1_800_000_000_000)
	end := uint64(0)
	fill := func() {
		for range 400 {
			w.Entry(&o)
		}
		end++
		require.NoError(t, w.EndPiece(Piece{End: end}))
	}
	for range 100 {
		fill()
	}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for range 400 {
			w.Entry(&o)
		}
		end++
		_ = w.EndPiece(Piece{End: end}) // a failed one would end the writer, which fill sees
	}))
	fill()
}

// Memory for the next piece is there before its entries come.
func TestEntriesHaveRoom(t *testing.T) {
	t.Parallel()
	w := NewWriter(&bytesFile{}, Header{})
	for i := range 100 {
		before := cap(w.buf)
		for range 60 {
			o := put(0, "k", strings.Repeat("v", 1000), 0)
			w.Entry(&o)
		}
		require.Equal(t, before, cap(w.buf), "no growth under the lock")
		require.NoError(t, w.EndPiece(Piece{End: uint64(i) + 1}))
	}
	o := put(0, "k", strings.Repeat("v", 20<<20), 0)
	w.Entry(&o)
	require.NoError(t, w.EndPiece(Piece{End: 200}))
	require.LessOrEqual(t, cap(w.buf), keepBytes, "a huge value's buffer is given back")
}
