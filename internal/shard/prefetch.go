package shard

import (
	"sync/atomic"
	"unsafe"
)

// prefetchKeys is how many keys Prefetch fetches side by side: more lines than
// a processor waits for at a time would only queue.
const prefetchKeys = 32

// entryLines is how many lines of an entry are fetched: usual ones, of up to
// 128 bytes, lie in two or three. Fetching the third in vain costs nothing that
// could be measured.
const entryLines = 3

// Prefetch brings what the lookup of keys will need into the processor's
// caches: all slots' records first, then all index buckets, then all entries,
// so that the waits for memory overlap instead of adding up. It takes no lock
// and changes nothing.
//
// What it reads may be changing, or be something else by now. That is harmless:
// it believes nothing, reads only addresses that it has checked to lie in
// memory which stays mapped until Close, and follows no more nodes than an
// index has levels. What it merely asks the processor to fetch may be anywhere.
func (tx *Tx) Prefetch(db int, keys []Key) {
	for len(keys) > 0 {
		n := min(len(keys), prefetchKeys)
		tx.store.prefetch(db, keys[:n])
		keys = keys[n:]
	}
}

// home is what the way from a key to its entry needs beside its home bucket.
type home struct {
	bases *[]unsafe.Pointer
	tag   byte
}

// lines are addresses to fetch, a line for each of up to prefetchKeys keys.
type lines [prefetchKeys]unsafe.Pointer

func (s *Store) prefetch(db int, keys []Key) {
	var at lines
	var homes [prefetchKeys]home
	fetch(at[:s.slotRecords(db, keys, &at)], 1)
	n := s.homeBuckets(db, keys, &at, &homes)
	fetch(at[:n], 1)
	fetch(at[:entries(&at, homes[:n])], entryLines)
}

// slotRecords leaves the addresses of the keys' slots' records in at and says
// how many.
func (s *Store) slotRecords(db int, keys []Key, at *lines) (n int) {
	for i := range keys {
		k := &keys[i]
		if ks := s.shardOf(k.Slot).dbs[db].ks.Load(); ks != nil {
			at[n%prefetchKeys] = unsafe.Pointer(ks.rec(k.Slot))
			n++
		}
	}
	return n
}

// homeBuckets follows the index to the home buckets of keys and leaves their
// addresses in at; those that have none are left out.
func (s *Store) homeBuckets(db int, keys []Key, at *lines, homes *[prefetchKeys]home) (n int) {
	for i := range keys {
		k := &keys[i]
		b, bases := s.homeBucket(db, k)
		if b != nil {
			at[n%prefetchKeys] = b
			homes[n%prefetchKeys] = home{bases, tagOf(k.Hash)}
			n++
		}
	}
	return n
}

// homeBucket follows the index to k's home bucket, nil when there is none.
func (s *Store) homeBucket(db int, k *Key) (b unsafe.Pointer, bases *[]unsafe.Pointer) {
	ks := s.shardOf(k.Slot).dbs[db].ks.Load()
	if ks == nil {
		return nil, nil
	}
	bases = ks.arena.shared.Load()
	if bases == nil {
		return nil, nil
	}
	w := word(atomic.LoadUint64((*uint64)(&ks.rec(k.Slot).word)))
	for level := 0; w.isNode(); level++ {
		if level == maxLevels {
			return nil, nil
		}
		p := chunkAddress(*bases, w.ref()+ref(w.child(position(k.Hash))))
		if p == nil {
			return nil, nil
		}
		w = word(atomic.LoadUint64((*uint64)(p)))
	}
	if w == 0 {
		return nil, nil
	}
	// A bucket is aligned to its size, so that all of it lies in the chunk.
	r := (w.ref() + ref(w.home(k.Hash)*bucketUnits)) &^ (bucketUnits - 1)
	return chunkAddress(*bases, r), bases
}

// entries replaces the buckets in at by the entries that homes' tags lead to,
// as far as there are any, and says how many.
func entries(at *lines, homes []home) (n int) {
	for i := range homes {
		h := &homes[i]
		b := at[i%prefetchKeys]
		cell := firstCell(matches(b, h.tag))
		if cell == bucketCells {
			continue
		}
		if e := chunkAddress(*h.bases, *refIn(b, cell)); e != nil {
			at[n%prefetchKeys] = e
			n++
		}
	}
	return n
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
