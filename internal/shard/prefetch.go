package shard

import (
	"sync/atomic"
	"unsafe"
)

// prefetchKeys is how many keys Prefetch loads side by side.
const prefetchKeys = 32

// Prefetch brings what the lookup of keys will need into the processor's
// caches: all index buckets first, then all entries, so that the waits for
// memory overlap instead of adding up. It takes no lock and changes nothing.
//
// What it reads may be changing, or be something else by now. That is harmless:
// it believes nothing, touches only addresses that it has checked to lie in
// memory which stays mapped until Close, and follows no more nodes than an
// index has levels.
func (tx *Tx) Prefetch(db int, keys []Key) {
	for len(keys) > 0 {
		n := min(len(keys), prefetchKeys)
		tx.prefetch(db, keys[:n])
		keys = keys[n:]
	}
}

// bucketHint is where a key's home bucket is.
type bucketHint struct {
	b     unsafe.Pointer // nil when there is nothing to fetch
	bases []unsafe.Pointer
}

func (tx *Tx) prefetch(db int, keys []Key) {
	var hints [prefetchKeys]bucketHint
	sum := uint64(0)
	for i := range keys {
		hints[i] = tx.store.hint(db, &keys[i])
		if b := hints[i].b; b != nil {
			sum += *(*uint64)(b)
		}
	}
	for i := range keys {
		h := &hints[i]
		if h.b == nil {
			continue
		}
		first, second := matches(h.b, tagOf(keys[i].Hash))
		index := firstCell(first, second)
		if index == bucketCells {
			continue
		}
		if e := chunkAddress(h.bases, *refIn(h.b, index)); e != nil {
			sum += *(*uint64)(e)
		}
	}
	tx.sink += sum
}

// hint follows the index to k's home bucket.
func (s *Store) hint(db int, k *Key) bucketHint {
	ks := s.shardOf(k.Slot).dbs[db].ks.Load()
	if ks == nil {
		return bucketHint{}
	}
	shared := ks.arena.shared.Load()
	if shared == nil {
		return bucketHint{}
	}
	w := word(atomic.LoadUint64((*uint64)(&ks.rec(k.Slot).word)))
	for level := 0; w.isNode(); level++ {
		if level == maxLevels {
			return bucketHint{}
		}
		p := chunkAddress(*shared, w.ref()+ref(w.child(position(k.Hash))))
		if p == nil {
			return bucketHint{}
		}
		w = word(atomic.LoadUint64((*uint64)(p)))
	}
	if w == 0 {
		return bucketHint{}
	}
	// A bucket is aligned to its size, so that all of it lies in the chunk.
	b := (w.ref() + ref(w.home(k.Hash)*bucketUnits)) &^ (bucketUnits - 1)
	return bucketHint{chunkAddress(*shared, b), *shared}
}

// chunkAddress is the address of r if it lies in a chunk of bases.
func chunkAddress(bases []unsafe.Pointer, r ref) unsafe.Pointer {
	number := int(r >> chunkShift)
	offset := int64(r&(chunkUnits-1)) * unitBytes
	if number >= len(bases) || number == 0 && offset >= firstChunkBytes {
		return nil
	}
	return unsafe.Add(bases[number], offset)
}
