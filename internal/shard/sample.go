package shard

import "unsafe"

// sampleTries bounds the random looks for a filled cell before a sample is
// taken from what lies next to the last look.
const sampleTries = 64

// sampled is a key that sampling found.
type sampled struct {
	rec  *slotRec
	slot uint16
	c    cell
}

// sample picks an entry of ks at random, every one with nearly the same
// chance: the slot by its number of keys, a position in its hash order, a cell
// of the segment there. With volatile it picks one of those with a deadline.
// It can fail only for these, when they are very few in a large slot.
func (ks *keyspace) sample(random *uint64, volatile bool) (x sampled, ok bool) {
	if !ks.pickSlot(random, volatile, &x) {
		return x, false
	}
	leaf := word(0)
	for range sampleTries {
		leaf = ks.leaf(x.rec.word, uint32(scramble(random)))
		n := scramble(random) % uint64(leaf.buckets()*bucketCells)
		if ks.look(leaf, int(n/bucketCells), int(n%bucketCells), volatile, &x.c) {
			return x, true
		}
	}
	// The slot holds little of what is wanted: look through one segment.
	for i := range leaf.buckets() {
		for c := range bucketCells {
			if ks.look(leaf, i, c, volatile, &x.c) {
				return x, true
			}
		}
	}
	return x, ks.search(&x, random, volatile)
}

// searchBuckets bounds search.
const searchBuckets = 4096

// search walks on in hash order from a random position until it finds an
// entry, round the slot's end.
func (ks *keyspace) search(x *sampled, random *uint64, volatile bool) bool {
	position := uint64(uint32(scramble(random)))
	for range searchBuckets {
		leaf := ks.leaf(x.rec.word, uint32(position))
		for c := range bucketCells {
			if ks.look(leaf, leaf.home(position<<32), c, volatile, &x.c) {
				return true
			}
		}
		position = leaf.next(uint32(position)) % slotEnd
	}
	return false
}

// look takes the entry in one cell, if there is one and it is wanted.
func (ks *keyspace) look(leaf word, bucket, index int, volatile bool, c *cell) bool {
	segment := ks.arena.at(leaf.ref())
	b := bucketAt(segment, bucket)
	if *tagAt(b, index) == 0 {
		return false
	}
	r := *refIn(b, index)
	e := ks.arena.at(r)
	if volatile && !isVolatile(e) {
		return false
	}
	*c = cell{segment, leaf.buckets(), leaf.home(ks.hashOf(e)), bucket, index, r, e}
	return true
}

func isVolatile(e unsafe.Pointer) bool { return flagsOf(e)&(flagShort|flagLong) != 0 }

// pickSlot picks a slot in proportion to its keys.
func (ks *keyspace) pickSlot(random *uint64, volatile bool, x *sampled) bool {
	total := ks.keys.Load()
	if volatile {
		total = ks.expires.Load()
	}
	if total == 0 {
		return false
	}
	n := uint32(scramble(random) % uint64(total))
	for g := range ks.groups {
		in := ks.groups[g].keys
		if volatile {
			in = ks.groups[g].expires
		}
		if n >= in {
			n -= in
			continue
		}
		for i := g * groupSlots; ; i++ {
			rec := &ks.recs[i]
			in := rec.keys
			if volatile {
				in = rec.expires
			}
			if n < in {
				x.rec, x.slot = rec, uint16(ks.first+i)
				return true
			}
			n -= in
		}
	}
	return false
}
