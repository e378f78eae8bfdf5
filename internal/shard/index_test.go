package shard

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// All keys of one hash tag land in one slot: its index splits again and again,
// over two levels of nodes, and folds up when the keys go.
func TestOneSlotOfManyKeys(t *testing.T) {
	n := 1_000_000
	if testing.Short() || raceEnabled {
		n = 150_000
	}
	s, l := newTestStore(t, 4, 1)
	l.keep = false
	tx := s.NewTx()
	var buf []byte
	key := func(i int) Key {
		buf = fmt.Appendf(buf[:0], "{tag}%d", i)
		return MakeKey(buf)
	}
	run := func(i int, f func(k *Key) bool) {
		k := key(i)
		tx.Begin(start, 0)
		tx.LockKeys([]Key{k})
		if !f(&k) {
			t.Fatal("key ", i)
		}
		tx.End()
	}
	for i := range n {
		run(i, func(k *Key) bool { return tx.Put(k, Value{Bytes: k.Bytes}) == nil })
	}
	require.NoError(t, s.Check())
	require.Equal(t, int64(n), s.DBStats(0).Keys)
	require.Less(t, s.Memory().IndexBytes, int64(n*9+16384*slotRecBytes), "the index takes too much")
	for i := range n {
		run(i, func(k *Key) bool {
			v, ok := tx.Get(k)
			return ok && string(v.Bytes) == string(k.Bytes)
		})
	}
	seen := 0
	for cursor := uint64(0); ; {
		tx.Begin(start, 0)
		cursor = tx.Scan(cursor, 1000, func([]byte, Value) { seen++ })
		tx.End()
		if cursor == 0 {
			break
		}
	}
	require.Equal(t, n, seen)
	for i := range n {
		run(i, func(k *Key) bool { return tx.Delete(k) })
		if i == n-500 {
			// What is left must not keep what a million keys needed.
			require.NoError(t, s.Check())
			require.Less(t, s.Memory().IndexBytes, int64(500*40+16384/4*slotRecBytes))
		}
	}
	require.Equal(t, int64(16384/4*slotRecBytes), s.Memory().UsedBytes)
}

// A segment shrinks with its keys, and an empty slot keeps nothing.
func TestSegmentShrinks(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	tx := s.NewTx()
	const n = 600 // one segment
	for i := range n {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
	}
	directory := int64(16384 * slotRecBytes)
	require.Greater(t, s.Memory().IndexBytes, directory+50*bucketBytes)
	for i := range n {
		with(tx, start, 0, fmt.Sprintf("{tag}%d", i), func(k *Key) { require.True(t, tx.Delete(k)) })
		if n-i-1 == 12 {
			require.LessOrEqual(t, s.Memory().IndexBytes, directory+4*bucketBytes)
		}
	}
	require.Equal(t, directory, s.Memory().UsedBytes)
}

// Keys whose hashes agree in every bit that places them pile up in one bucket
// and those behind it, and are all found. Nobody who does not know the secrets
// can bring this about.
func TestEqualPositions(t *testing.T) {
	ks := newTestKeyspace(t)
	w, ok := ks.newSegment(40, 0)
	require.True(t, ok)
	segment := ks.arena.at(w.ref())
	const hash = 0xFFFFFFFF_00000007 // the last bucket: the others lie round the end
	keys := make([]Key, capacity(40))
	for i := range keys {
		keys[i] = Key{Bytes: fmt.Appendf(nil, "%d", i), Hash: hash}
		r, _, ok := ks.newEntry(&draft{key: &keys[i]})
		require.True(t, ok)
		put(segment, 40, w.home(hash), hash, r)
	}
	require.Equal(t, 39, w.home(hash))
	require.Equal(t, uint8(passedFull), *passed(bucketAt(segment, 39)), "the count sticks when it is full")
	for i := range keys {
		var c cell
		require.NotNil(t, ks.find(w, &keys[i], &c), "key %d", i)
		drop(&c)
		require.Nil(t, ks.find(w, &keys[i], &c), "key %d", i)
		ks.freeEntry(c.r)
	}
	require.Zero(t, ks.entries(w))
	ks.freeSegment(w)
}

// bucket of position p in a leaf and next agree: next is the first position
// that is not in p's bucket.
func TestNextPosition(t *testing.T) {
	rnd := newRand(5)
	for range 20_000 {
		depth := rnd.IntN(maxDepth + 1)
		w := leafWord(1, 1+rnd.IntN(maxBuckets), depth)
		p := rnd.Uint32()
		next := w.next(p)
		require.Greater(t, next, uint64(p))
		last := uint32(next - 1)
		home := func(p uint32) int { return w.home(uint64(p) << 32) }
		sameLeaf := func(a, b uint32) bool { return uint64(a)>>(32-depth) == uint64(b)>>(32-depth) }
		require.True(t, sameLeaf(p, last))
		require.Equal(t, home(p), home(last))
		if next != slotEnd && sameLeaf(p, uint32(next)) {
			require.Less(t, home(p), home(uint32(next)), "%x at depth %d of %d buckets", p, depth, w.buckets())
		}
	}
}

func newTestKeyspace(t *testing.T) *keyspace {
	s, _ := newTestStore(t, 1, 1)
	return s.keyspace(&s.shards[0], 0)
}

func TestMatches(t *testing.T) {
	rnd := newRand(9)
	var b [bucketBytes]byte
	for range 20_000 {
		for i := range bucketCells {
			b[i] = byte(rnd.IntN(4)) * byte(1+rnd.IntN(90))
		}
		b[12], b[13] = 0, 0 // what follows the tags is no tag
		tag := b[rnd.IntN(bucketCells)]
		first, second := matches(unsafe.Pointer(&b), tag)
		for i := range bucketCells {
			mask, at := first, i
			if i >= 8 {
				mask, at = second, i-8
			}
			require.Equal(t, b[i] == tag, mask>>(8*at)&0xff != 0, "cell %d of % x, tag %x", i, b[:12], tag)
		}
	}
}
