package shard

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

// When the system has no memory a write says so, appends nothing and changes
// nothing, at whichever allocation it fails; and goes through once there is
// memory again.
func TestNoMemory(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	refuse := false
	s.pool.mapper = func(size int64) unsafe.Pointer {
		if refuse {
			return nil
		}
		return mapMemory(size)
	}
	tx := s.NewTx()
	big := make([]byte, 3<<20)
	longKey := strings.Repeat("k", 2<<20)
	for i := range 3000 {
		set(t, tx, start, fmt.Sprintf("{t}%d", i), "some value", 0)
	}
	set(t, tx, start, "{t}big", string(big), 0)
	refuse = true
	attempts := map[string]func() error{
		"Put new": func() (err error) {
			with(tx, start, 0, "{t}new", func(k *Key) { err = tx.Put(k, Value{Bytes: big}) })
			return err
		},
		"Put existing": func() (err error) {
			with(tx, start, 0, "{t}1", func(k *Key) { err = tx.Put(k, Value{Bytes: big}) })
			return err
		},
		"PutIdem": func() (err error) {
			with(tx, start, 0, "{t}1", func(k *Key) { err = tx.PutIdem(k, big, start+1) })
			return err
		},
		"big key": func() (err error) {
			with(tx, start, 0, longKey, func(k *Key) { err = tx.Put(k, Value{}) })
			return err
		},
		"Splice": func() (err error) {
			with(tx, start, 0, "{t}1", func(k *Key) { _, err = tx.Splice(k, 4<<20, []byte("x")) })
			return err
		},
		"Splice of a big one": func() (err error) {
			with(tx, start, 0, "{t}big", func(k *Key) { _, err = tx.Splice(k, 7<<20, []byte("x")) })
			return err
		},
		"Splice of none": func() (err error) {
			with(tx, start, 0, "{t}none", func(k *Key) { _, err = tx.Splice(k, 7<<20, []byte("x")) })
			return err
		},
	}
	// Use up what is mapped already.
	filler := bytes.Repeat([]byte("f"), 60_000)
	for i := 0; ; i++ {
		var err error
		with(tx, start, 0, fmt.Sprint("filler", i), func(k *Key) { err = tx.Put(k, Value{Bytes: filler}) })
		if err != nil {
			require.ErrorIs(t, err, ErrNoMemory)
			break
		}
	}
	before, records := dump(tx, start, 0), len(l.records)
	for name, attempt := range attempts {
		require.ErrorIs(t, attempt(), ErrNoMemory, name)
		require.NoError(t, s.Check(), name)
	}
	// Small entries until the arena is full too: then the index cannot grow,
	// or the entry has no room.
	small := 0
	for ; ; small++ {
		var err error
		with(tx, start, 0, fmt.Sprint("{t}small", small), func(k *Key) { err = tx.Put(k, Value{Bytes: []byte("some value")}) })
		if err != nil {
			require.ErrorIs(t, err, ErrNoMemory)
			break
		}
	}
	require.NoError(t, s.Check())
	require.Len(t, l.records, records+small)
	after := dump(tx, start, 0)
	require.Len(t, after, len(before)+small)
	for key, v := range before {
		require.Equal(t, v, after[key], "%.20q", key)
	}
	refuse = false
	for name, attempt := range attempts {
		require.NoError(t, attempt(), name)
	}
}

// A replay that finds no memory stops and says so.
func TestApplyNoMemory(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	s.pool.mapper = func(int64) unsafe.Pointer { return nil }
	err := s.Apply(1, &op.Op{Code: op.Put, Key: []byte("k"), Value: []byte("v")})
	require.ErrorIs(t, err, ErrNoMemory)
}

// Memory of deleted keys goes back to the system, of flushed ones too, a
// piece at a time.
func TestMemoryGoesBack(t *testing.T) {
	fill := func(tx *Tx) {
		for i := range 10_000 {
			set(t, tx, start, fmt.Sprint("key", i), strings.Repeat("v", i%400), 0)
		}
		for i := range 100 {
			set(t, tx, start, fmt.Sprint("big", i), strings.Repeat("v", 100_000), 0)
		}
		set(t, tx, start, "huge", strings.Repeat("v", 40<<20), 0)
	}
	s, l := newTestStore(t, 2, 2)
	l.keep = false
	tx := s.NewTx()
	fill(tx)
	full := s.Memory()
	require.Greater(t, full.MappedBytes, full.UsedBytes*9/10)
	require.Greater(t, full.UsedBytes, int64(50<<20))
	for key := range dump(tx, start, 0) {
		with(tx, start, 0, key, func(k *Key) { tx.Delete(k) })
	}
	steps := 0
	for s.Cool(false) {
		steps++
	}
	require.GreaterOrEqual(t, steps, 3, "40 MB in pieces of 16")
	empty := s.Memory()
	require.Zero(t, empty.EntryBytes)
	require.Less(t, empty.MappedBytes, int64(2*(warmSlabs+2)*slabBytes+2*bigChunkMax))
	require.GreaterOrEqual(t, empty.PeakBytes, full.UsedBytes)

	fill(tx)
	withAll(tx, start, 0, tx.FlushDB)
	require.Zero(t, s.Memory().UsedBytes)
	tx.Begin(start, 0)
	for steps = 0; s.Memory().MappedBytes > 0; steps++ {
		require.True(t, s.Coolable())
		s.Cool(false)
		require.Less(t, steps, 1000)
	}
	tx.End()
	require.Greater(t, steps, 3)

	// The pool's chunks serve the next keys.
	fill(tx)
	require.NoError(t, s.Check())
}

// What a Tx lent stays readable until End, even when it flushes everything.
func TestLentUntilEnd(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	tx := s.NewTx()
	for _, size := range []int{10, 5000, 100_000} {
		want := strings.Repeat("x", size)
		set(t, tx, start, "k", want, 0)
		k := MakeKey([]byte("k"))
		withAll(tx, start, 0, func() {
			v, ok := tx.Get(&k)
			require.True(t, ok)
			tx.FlushAll()
			require.NoError(t, tx.Put(&k, Value{Bytes: bytes.Repeat([]byte("y"), size)}))
			require.True(t, want == string(v.Bytes))
			require.NoError(t, tx.Put(&k, Value{Bytes: v.Bytes}))
		})
		got, _, _ := get(tx, start, "k")
		require.True(t, want == got)
	}
}

// Blocks of the big arena never overlap, whatever order they come and go in,
// and all memory is found again.
func TestBigArena(t *testing.T) {
	ks := newTestKeyspace(t)
	a := &ks.big
	rnd := newRand(4)
	type block struct {
		h    handle
		n    int
		mark byte
	}
	var blocks []block
	edges := func(b block) (first, last *byte) {
		p := a.payload(b.h)
		return (*byte)(p), (*byte)(unsafe.Add(p, b.n-1))
	}
	free := func(i int) {
		b := blocks[i]
		first, last := edges(b)
		require.Equal(t, b.mark, *first)
		require.Equal(t, b.mark, *last)
		a.release(b.h)
		blocks[i] = blocks[len(blocks)-1]
		blocks = blocks[:len(blocks)-1]
	}
	for i := range 20_000 {
		if len(blocks) > 200+i%100 || len(blocks) > 0 && rnd.IntN(3) == 0 {
			free(rnd.IntN(len(blocks)))
			continue
		}
		n := 1 + rnd.IntN(1<<(8+rnd.IntN(13)))
		if i%5000 == 17 {
			n = bigSoloBytes + rnd.IntN(1<<20)
		}
		h, ok := a.alloc(n)
		require.True(t, ok)
		require.GreaterOrEqual(t, a.capacity(h), n)
		b := block{h, n, byte(i)}
		first, last := edges(b)
		*first, *last = b.mark, b.mark
		blocks = append(blocks, b)
	}
	for len(blocks) > 0 {
		free(0)
	}
	require.Zero(t, a.live)
	require.LessOrEqual(t, a.empty, 1, "empty chunks are unmapped")
	require.Zero(t, a.solos)
}

// Appending to a big value a little at a time moves it rarely: its block has
// room in advance.
func TestAppendHasSlack(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	set(t, tx, start, "k", strings.Repeat("x", 10_000), 0)
	moved := 0
	var last unsafe.Pointer
	for length := 10_000; length < 1_000_000; length += 100 {
		with(tx, start, 0, "k", func(k *Key) {
			n, err := tx.Splice(k, length, bytes.Repeat([]byte("y"), 100))
			require.NoError(t, err)
			require.Equal(t, length+100, n)
			v, _ := tx.Peek(k)
			if p := unsafe.Pointer(unsafe.SliceData(v.Bytes)); p != last {
				moved, last = moved+1, p
			}
		})
	}
	require.Less(t, moved, 30)
	v, _, _ := get(tx, start, "k")
	require.Equal(t, strings.Repeat("x", 10_000)+strings.Repeat("y", 990_000), v)
}

// Overwriting large values uses the same pages again and again: what is counted
// as free with pages does not grow, so nothing of it goes back to the system
// only to be brought in again.
func TestOverwritesOfLargeValuesKeepTheirPages(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	for _, valueBytes := range []int{256 << 10, 4 << 20} {
		tx.Begin(start, 0)
		tx.LockAll()
		tx.FlushAll()
		tx.End()
		const keys = 8
		value := strings.Repeat("v", valueBytes)
		for i := range keys {
			set(t, tx, start, fmt.Sprint(i), value, 0)
		}
		set(t, tx, start, "0", value, 0)
		big := &s.shards[0].dbs[0].ks.Load().big
		rnd := newRand(7)
		for range 300 {
			set(t, tx, start, fmt.Sprint(rnd.IntN(keys)), value, 0)
			require.GreaterOrEqual(t, big.dirty, int64(valueBytes))
			require.LessOrEqual(t, big.dirty, int64((keys+2)*(valueBytes+bigGrain)))
		}
		require.NoError(t, s.Check())
	}
}
