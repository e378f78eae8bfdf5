package shard

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// walkAll takes a whole walk at once.
func walkAll(t testing.TB, s *Store, limitBytes int) *taken {
	k := &taken{secrets: secrets}
	w := s.NewWalk()
	for k.next(t, w, limitBytes) {
	}
	return k
}

// Stretches that meet exactly at an entry's position, wherever the leaves and
// buckets of a slot end, hold every entry once.
func TestGatherTiles(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	rnd := newRand(11)
	for _, n := range []int{1, 13, 500, 3000} {
		for i := range n {
			set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
		}
		ks := s.shards[0].dbs[0].ks.Load()
		k := MakeKey([]byte("{tag}"))
		var at []uint64
		for _, r := range ks.entriesOf(ks.rec(k.Slot).word) {
			at = append(at, ks.hashOf(ks.arena.at(r))>>32)
		}
		slices.Sort(at)
		for range 50 {
			w := s.NewWalk()
			w.open(&s.shards[0])
			var met []uint64
			for from := uint64(0); from < slotEnd; {
				to := uint64(slotEnd)
				if i := rnd.IntN(len(at) + 1); i < len(at) && at[i] > from {
					to = at[i]
				}
				w.found = w.found[:0]
				w.gatherRange(0, int(k.Slot), from, to)
				for _, f := range w.found {
					p := ks.hashOf(f.e) >> 32
					require.True(t, from <= p && p < to, "%x in the stretch from %x to %x", p, from, to)
					met = append(met, p)
				}
				from = to
			}
			slices.Sort(met)
			require.Equal(t, at, met)
		}
	}
}

// A piece holds about as much as was asked for, however a slot is filled; an
// entry that is larger by itself has a piece for itself.
func TestPiecesAreBounded(t *testing.T) {
	const limit = 64 << 10
	tagged := func(i int) string { return fmt.Sprintf("{tag}%d", i) }
	uneven := func(i int) string {
		return fmt.Sprintf("{%d}%d", i/13%20*2+b2i(i%13 < 4), i)
	}
	for _, c := range []struct {
		name string
		keys int
		key  func(i int) string
		size func(i int) int
	}{
		{"small entries of many slots", 30_000, func(i int) string { return fmt.Sprint(i) }, func(int) int { return 20 }},
		{"small entries of one slot", 30_000, tagged, func(int) int { return 20 }},
		{"slots of 400 and of 900", 26_000, uneven, func(int) int { return 20 }},
		{"blocks of 4 KiB in one slot", 3000, tagged, func(int) int { return 4000 }},
		{"a few huge ones in one slot", 3000, tagged, func(i int) int { return 20 + b2i(i%500 == 7)*500_000 }},
		{"huge ones in few slots", 40, func(i int) string { return fmt.Sprintf("{%d}", i) }, func(int) int { return 300_000 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := newTestStore(t, 4, 16)
			l.keep = false
			tx := s.NewTx()
			for i := range c.keys {
				set(t, tx, start, c.key(i), string(make([]byte, c.size(i))), 0)
			}
			pieces, seen := 0, 0
			for w := s.NewWalk(); ; pieces++ {
				entries, bytes, largest := 0, 0, 0
				if _, more := w.Next(limit, func(db int, key []byte, v Value) {
					size := len(key) + len(v.Bytes) + entryExtra
					entries, bytes, largest = entries+1, bytes+size, max(largest, size)
				}); !more {
					break
				}
				seen += entries
				require.LessOrEqual(t, entries, wholeEntries)
				if largest > 2*limit {
					require.Equal(t, 1, entries, "a huge value shares its piece")
				} else {
					require.LessOrEqual(t, bytes, 2*limit)
				}
			}
			require.Equal(t, c.keys, seen)
			total := 0
			for i := range c.keys {
				total += len(c.key(i)) + c.size(i) + entryExtra
			}
			require.LessOrEqual(t, pieces, 4+c.keys/(pieceEntries/4)+4*total/limit, "pieces are small")
		})
	}
}

// A store of few keys is a piece for each shard, of many databases too.
func TestFewPiecesForFewKeys(t *testing.T) {
	s, _ := newTestStore(t, 4, 16)
	require.Len(t, walkAll(t, s, 64<<10).pieces, 4)
	tx := s.NewTx()
	for i := range 100 {
		with(tx, start, i%16, fmt.Sprint(i), func(k *Key) { require.NoError(t, tx.Put(k, Value{})) })
	}
	k := walkAll(t, s, 64<<10)
	require.Len(t, k.pieces, 4)
	require.Len(t, k.entries, 100)
}

// A record that is the last one in a piece is in it and is not applied again;
// the next one is not in it and is. Delete shows both: it cannot be applied
// twice, and its key would be there if it were not applied.
func TestLastRecordOfAPiece(t *testing.T) {
	for _, within := range []bool{true, false} {
		t.Run(fmt.Sprint("within ", within), func(t *testing.T) {
			s, l := newTestStore(t, 2, 1)
			tx := s.NewTx()
			early, late := "", "" // keys of the first shard and the second
			for i := 0; early == "" || late == ""; i++ {
				if k := fmt.Sprint(i); s.shardOf(MakeKey([]byte(k)).Slot) == &s.shards[0] {
					early = k
				} else {
					late = k
				}
			}
			set(t, tx, start, early, "v", 0)
			set(t, tx, start, late, "v", 0)
			k := &taken{secrets: secrets}
			w := s.NewWalk()
			if within {
				with(tx, start, 0, early, func(k *Key) { require.True(t, tx.Delete(k)) })
			}
			require.True(t, k.next(t, w, 1000))
			if !within {
				with(tx, start, 0, early, func(k *Key) { require.True(t, tx.Delete(k)) })
			}
			with(tx, start, 0, late, func(k *Key) { require.True(t, tx.Delete(k)) })
			require.True(t, k.next(t, w, 1000)) // its last record is about a key in it
			require.Equal(t, l.Last(), k.last())
			require.Equal(t, 1-b2i(within), len(k.entries))
			again := k.load(t, l, 1, 1)
			defer again.Close()
			require.Empty(t, contents(again, 0, start))
		})
	}
}

// A flush while the walk is in the middle of a slot removes what lies before
// the boundary, not the key that lies at it, and nothing behind.
func TestFlushInTheMiddleOfASlot(t *testing.T) {
	for _, all := range []bool{false, true} {
		t.Run(fmt.Sprint("all ", all), func(t *testing.T) {
			const n = 50
			s, l := newTestStore(t, 1, 2)
			tx := s.NewTx()
			put := func(db int) {
				for i := range n {
					with(tx, start, db, fmt.Sprintf("{tag}%d", i), func(k *Key) { require.NoError(t, tx.Put(k, Value{})) })
				}
			}
			put(0)
			put(1)
			k := &taken{secrets: secrets}
			w := s.NewWalk()
			require.True(t, k.next(t, w, 400))
			boundaries := 0
			for i := range n {
				boundaries += b2i(PlaceOf(fmt.Appendf(nil, "{tag}%d", i), &secrets) == w.at)
			}
			require.Equal(t, 1, boundaries, "the next piece begins with a key")
			before := len(k.entries)
			flush := tx.FlushDB
			if all {
				flush = tx.FlushAll
			}
			withAll(tx, start, 1, flush)
			put(1)
			for k.next(t, w, 400) {
			}
			require.Greater(t, before, 0)
			otherSecrets(1, func() {
				again := k.load(t, l, 1, 2)
				defer again.Close()
				require.Len(t, contents(again, 0, start), n*b2i(!all))
				require.Len(t, contents(again, 1, start), n)
			})
		})
	}
}

// What cannot be in a snapshot is refused, by a kind of error that tells
// damage from a configuration that is too small.
func TestLoaderRefuses(t *testing.T) {
	entry := func(key string) op.Op { return op.Op{Code: op.Put, Key: []byte(key)} }
	load := func(f func(l *Loader) error) error {
		s, _ := newTestStore(t, 4, 2)
		return f(s.NewLoader(secrets))
	}
	var damage *LoadError
	var misfit *ApplyError
	for name, entries := range map[string][]op.Op{
		"twice":  {entry("a"), entry("b"), entry("a")},
		"opcode": {{Code: op.Delete, Key: []byte("a")}},
		"type":   {{Code: op.Put, Type: 3, Key: []byte("a")}},
	} {
		err := load(func(l *Loader) error { return l.Insert(entries) })
		require.ErrorAs(t, err, &damage, name)
	}
	err := load(func(l *Loader) error { return l.Insert([]op.Op{{Code: op.Put, DB: 2}}) })
	require.ErrorAs(t, err, &misfit)

	for name, p := range map[string][]Piece{
		"none":         {},
		"short":        {{PlaceEnd - 1, 3}},
		"beyond":       {{PlaceEnd + 1, 3}},
		"not forward":  {{8, 3}, {8, 3}, {PlaceEnd, 3}},
		"LSN backward": {{8, 3}, {PlaceEnd, 2}},
	} {
		require.ErrorAs(t, load(func(l *Loader) error { return l.Pieces(p) }), &damage, name)
	}
	require.ErrorAs(t, load(func(l *Loader) error {
		o := entry("a")
		return l.Apply(1, &o)
	}), &damage)

	ok := []Piece{{8, 3}, {PlaceEnd, 5}}
	for name, o := range map[string]op.Op{
		"no such key":  {Code: op.Delete, Key: []byte("a")},
		"database":     {Code: op.Put, DB: 2, Key: []byte("a")},
		"flushed":      {Code: op.FlushDB, DB: 2},
		"swapped":      {Code: op.SwapDB, DB2: 2},
		"unknown code": {Code: 99},
	} {
		err := load(func(l *Loader) error {
			require.NoError(t, l.Pieces(ok))
			return l.Apply(6, &o)
		})
		require.ErrorAs(t, err, &misfit, name)
		require.Equal(t, wal.LSN(6), misfit.LSN)
	}
}

// After a Reset nothing waits for records of the load before.
func TestResetForgets(t *testing.T) {
	s, _ := newTestStore(t, 2, 1)
	require.NoError(t, s.Apply(7, &op.Op{Code: op.Put, Key: []byte("a")}))
	require.NoError(t, s.Apply(8, &op.Op{Code: op.FlushAll}))
	s.Reset()
	tx := s.NewTx()
	s.SetLog(newMemLog())
	_, _, ok := get(tx, start, "a")
	require.False(t, ok)
	require.Zero(t, tx.Observed())
}

// When the system gives no memory the load says so and the store stays whole.
func TestLoaderWithoutMemory(t *testing.T) {
	entries := make([]op.Op, 20_000)
	for i := range entries {
		entries[i] = op.Op{Code: op.Put, Key: fmt.Append(nil, i), Value: make([]byte, 1000)}
	}
	s, _ := newTestStore(t, 1, 1)
	left := 1 // the first chunk
	s.pool.mapper = func(sizeBytes int64) unsafe.Pointer {
		if left--; left < 0 {
			return nil
		}
		return mapMemory(sizeBytes)
	}
	require.ErrorIs(t, s.NewLoader(secrets).Insert(entries), ErrNoMemory)
	require.NoError(t, s.Check())
}
