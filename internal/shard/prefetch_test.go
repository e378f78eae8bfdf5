package shard

import (
	"fmt"
	"testing"
	"unsafe"

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

// place is where k's slot record and its entry are.
func place(t *testing.T, tx *Tx, k *Key) (*slotRec, cell) {
	tx.Begin(start, 0)
	tx.LockKeys([]Key{*k})
	found := tx.locate(k)
	rec, c := tx.rec, tx.at
	tx.End() // before a test can fail: the store's check needs the lock
	require.True(t, found)
	return rec, c
}

// Each stage finds what the lookup will need, also below several levels of
// nodes.
func TestPrefetchStages(t *testing.T) {
	s, l := newTestStore(t, 2, 1)
	l.keep = false
	tx := s.NewTx()
	var keys []Key
	for i := range 20_000 {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
		keys = append(keys, MakeKey(fmt.Appendf(nil, "{tag}%d", i)))
	}
	tx.Prefetch(0, keys)
	there, first := 0, 0
	for i := range keys {
		k := keys[i : i+1]
		var at lines
		var homes [prefetchKeys]home
		require.Equal(t, 1, s.slotRecords(0, k, &at))
		record := at[0]
		require.Equal(t, 1, s.homeBuckets(0, k, &at, &homes))
		bucket := at[0]
		found := entries(&at, homes[:1])

		rec, c := place(t, tx, &k[0])
		require.Equal(t, unsafe.Pointer(rec), record)
		require.Equal(t, bucketAt(c.segment, c.home), bucket)
		if c.bucket == c.home {
			there++
			require.Equal(t, 1, found)
			if c.index == firstCell(matches(bucket, tagOf(k[0].Hash))) {
				first++
				require.Equal(t, c.e, at[0])
			}
		}
	}
	require.Greater(t, first, there*3/4, "a bucket's tags rarely say which entry it is")
	require.Greater(t, there, len(keys)/2)
}

// A batch is a list of its own: what keys lack does not move the others.
func TestPrefetchLeavesOutWhatIsNotThere(t *testing.T) {
	s, _ := newTestStore(t, 4, 1)
	tx := s.NewTx()
	var keys []Key
	for i := range prefetchKeys {
		name := fmt.Sprintf("k%d", i)
		if i%3 == 0 {
			set(t, tx, start, name, "v", 0)
		}
		keys = append(keys, MakeKey([]byte(name)))
	}
	var at lines
	var homes [prefetchKeys]home
	n := s.homeBuckets(0, keys, &at, &homes)
	n = entries(&at, homes[:n])
	for i := 0; i < len(keys); i += 3 {
		if _, c := place(t, tx, &keys[i]); c.bucket == c.home {
			require.Contains(t, at[:n], c.e)
		}
	}
	for _, p := range at[:n] {
		require.NotNil(t, p)
	}
}
