package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Prefetch reads without a lock what others may be changing: whatever it finds
// where an index should be, it must come back.
func TestPrefetchBelievesNothing(t *testing.T) {
	s, _ := newTestStore(t, 1, 2)
	tx := s.NewTx()
	keys := []Key{MakeKey([]byte("k"))}
	tx.Prefetch(0, keys) // nothing there
	tx.Prefetch(1, nil)
	set(t, tx, start, "k", "v", 0)
	ks := s.shards[0].dbs[0].ks.Load()
	rec := ks.rec(keys[0].Slot)
	was := rec.word

	// A node that leads to itself.
	r, ok := ks.arena.alloc(1)
	require.True(t, ok)
	loop := nodeWord(r, 1, maxDepth)
	*ks.nodeAt(loop, 0) = loop
	rec.word = loop
	tx.Prefetch(0, keys)
	ks.arena.release(r)

	// Anything at all: references beyond the chunk, buckets across its end,
	// impossible sizes and depths.
	rnd := newRand(6)
	for range 100_000 {
		rec.word = word(rnd.Uint64()) &^ word(rnd.Uint64()<<(rnd.IntN(33)))
		tx.Prefetch(0, keys)
	}
	for units := range uint32(16) {
		rec.word = leafWord(ref(firstChunkBytes/unitBytes-units), 1, 0)
		tx.Prefetch(0, keys)
	}
	rec.word = was
}

// Keys below several levels of nodes are found with a prefetch before them as
// without.
func TestPrefetchOfMany(t *testing.T) {
	s, l := newTestStore(t, 2, 1)
	l.keep = false
	tx := s.NewTx()
	var keys []Key
	for i := range 20_000 {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
		keys = append(keys, MakeKey(fmt.Appendf(nil, "{tag}%d", i)))
	}
	tx.sink = 0
	tx.Prefetch(0, keys)
	require.NotZero(t, tx.sink, "nothing was loaded")
	for i := range keys {
		b := s.hint(0, &keys[i]).b
		tx.Begin(start, 0)
		tx.LockKeys(keys[i : i+1])
		require.True(t, tx.locate(&keys[i]))
		require.Equal(t, bucketAt(tx.at.segment, tx.at.home), b)
		tx.End()
	}
}
