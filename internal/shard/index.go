package shard

import (
	"sync/atomic"
	"unsafe"
)

// The index of a slot is a trie over the high half of the hash, the position.
// A leaf is a segment: 1 to 64 buckets that split its range of positions
// evenly and in order, so that growing it, splitting it and SCAN all keep one
// order. Nearly always the slot's word is a leaf. Keys that share a hash tag
// share a slot: then nodes of up to 512 words lead to the leaves. No operation
// touches more than a few nodes and one or two segments, so none takes long,
// however many keys there are.
//
// word says what there is: for a leaf its reference (bits 0..31), buckets
// (32..38) and depth, the position bits that led to it (40..45); for a node
// its reference, the logarithm of its size (32..35) and its depth. 0 is an
// empty slot.
type word uint64

const (
	nodeFlag word = 1 << 63

	maxBuckets   = 64
	maxNodeBits  = 9
	maxDepth     = 32
	maxLevels    = 4   // of nodes: one below another has 9 bits more
	mergeEntries = 256 // two neighbours with no more than this become one segment
)

func leafWord(r ref, buckets, depth int) word {
	return word(r) | word(buckets)<<32 | word(depth)<<40
}

func nodeWord(r ref, bits, depth int) word {
	return nodeFlag | word(r) | word(bits)<<32 | word(depth)<<40
}

func (w word) isNode() bool  { return w&nodeFlag != 0 }
func (w word) ref() ref      { return ref(w) }
func (w word) buckets() int  { return int(w>>32) & 0x7f }
func (w word) nodeBits() int { return int(w>>32) & 0xf }
func (w word) depth() int    { return int(w>>40) & 0x3f }

func position(hash uint64) uint32 { return uint32(hash >> 32) }

// home is the bucket of leaf w that hash points to.
func (w word) home(hash uint64) int {
	return int(uint64(position(hash)<<w.depth()) * uint64(w.buckets()) >> 32)
}

// child is the index in node w of the word that position leads to.
func (w word) child(position uint32) int {
	return int(position << w.depth() >> (32 - w.nodeBits()))
}

// capacity is how many entries a segment holds before it grows: seven eighths
// of its cells, but all of a single bucket's.
func capacity(buckets int) int {
	if buckets == 1 {
		return bucketCells
	}
	return buckets * bucketCells * 7 / 8
}

// bucketsFor is the size of a new segment for entries, at three quarters.
func bucketsFor(entries int) int {
	return min(max((entries+8)/9, 1), maxBuckets)
}

// leaf is the leaf that position leads to.
func (ks *keyspace) leaf(w word, position uint32) word {
	for w.isNode() {
		w = *ks.nodeAt(w, w.child(position))
	}
	return w
}

func (ks *keyspace) nodeAt(w word, index int) *word {
	return (*word)(unsafe.Add(ks.arena.at(w.ref()), index*8))
}

// descend finds the leaf for position and the last node above it.
func (ks *keyspace) descend(rec *slotRec, position uint32) (p trail) {
	p.at = &rec.word
	p.leaf = *p.at
	for at := p.at; p.leaf.isNode(); {
		p.node, p.at = p.leaf, at
		at = ks.nodeAt(p.node, p.node.child(position))
		p.leaf = *at
	}
	return p
}

// trail is a leaf with the last node above it (0 when the leaf is the slot's
// own), and where the node's word, or without a node the leaf's, is kept.
type trail struct {
	leaf, node word
	at         *word
}

// store changes a word that an unlocked prefetch may be reading.
func (w *word) store(v word) { atomic.StoreUint64((*uint64)(w), uint64(v)) }

// span is the run of node's words that a leaf of depth takes, for position.
func (w word) span(position uint32, depth int) (from, n int) {
	n = 1 << (w.nodeBits() - (depth - w.depth()))
	return w.child(position) &^ (n - 1), n
}

// hang puts leaf w, of position, in the place that t found.
func (ks *keyspace) hang(t *trail, position uint32, w word) {
	if t.node == 0 {
		t.at.store(w)
		return
	}
	from, n := t.node.span(position, w.depth())
	for i := from; i < from+n; i++ {
		ks.nodeAt(t.node, i).store(w)
	}
}

// room makes sure that the segment for hash takes one more entry, and returns
// the leaf; false when there is no memory. It changes nothing a client sees.
func (ks *keyspace) room(rec *slotRec, hash uint64) (word, bool) {
	if rec.word == 0 {
		w, ok := ks.newSegment(1, 0)
		if !ok {
			return 0, false
		}
		rec.word.store(w)
		return w, true
	}
	for {
		t := ks.descend(rec, position(hash))
		n, entries := t.leaf.buckets(), ks.entries(t.leaf)
		switch {
		case entries < capacity(n):
			return t.leaf, true
		case n < maxBuckets:
			if !ks.resize(&t, position(hash), min(n+max(n/4, 1), maxBuckets)) {
				return 0, false
			}
		case t.leaf.depth() < maxDepth:
			if !ks.split(&t, position(hash)) {
				return 0, false
			}
		default:
			// Hundreds of keys with one 32-bit position: no client that does
			// not know the secrets of the hash can bring that about.
			return t.leaf, entries < n*bucketCells
		}
	}
}

func (ks *keyspace) entries(leaf word) int { return int(*countIn(ks.arena.at(leaf.ref()))) }

func (ks *keyspace) newSegment(buckets, depth int) (word, bool) {
	r, ok := ks.arena.alloc(buckets * bucketUnits)
	if !ok {
		return 0, false
	}
	clear(unsafe.Slice((*byte)(ks.arena.at(r)), buckets*bucketBytes))
	ks.addIndex(int64(buckets * bucketBytes))
	return leafWord(r, buckets, depth), true
}

func (ks *keyspace) freeSegment(w word) {
	ks.addIndex(-int64(w.buckets() * bucketBytes))
	ks.arena.release(w.ref())
}

func (ks *keyspace) newNode(bits, depth int) (word, bool) {
	r, ok := ks.arena.alloc(1 << bits)
	if !ok {
		return 0, false
	}
	ks.addIndex(8 << bits)
	return nodeWord(r, bits, depth), true
}

func (ks *keyspace) freeNode(w word) {
	ks.addIndex(-8 << w.nodeBits())
	ks.arena.release(w.ref())
}

// pour adds the entries of segment from to the segments that to chooses.
func (ks *keyspace) pour(from word, to func(hash uint64) word) {
	segment := ks.arena.at(from.ref())
	for i := range from.buckets() {
		b := bucketAt(segment, i)
		ks.warm(b)
		for c := range bucketCells {
			if *tagAt(b, c) == 0 {
				continue
			}
			r := *refIn(b, c)
			hash := ks.hashOf(ks.arena.at(r))
			w := to(hash)
			put(ks.arena.at(w.ref()), w.buckets(), w.home(hash), hash, r)
		}
	}
}

// warm loads the beginnings of all entries of a bucket, so that the waits for
// memory overlap; a walk would else wait for one after the other.
func (ks *keyspace) warm(b unsafe.Pointer) {
	sum := uint32(0)
	for c := range bucketCells {
		if r := *refIn(b, c); r != 0 {
			sum += *(*uint32)(ks.arena.at(r))
		}
	}
	ks.warmed += sum
}

// resize gives the leaf of t another number of buckets.
func (ks *keyspace) resize(t *trail, position uint32, buckets int) bool {
	w, ok := ks.newSegment(buckets, t.leaf.depth())
	if !ok {
		return false
	}
	ks.pour(t.leaf, func(uint64) word { return w })
	ks.hang(t, position, w)
	ks.freeSegment(t.leaf)
	return true
}

// split makes two leaves of the leaf of t, under a node that has room for
// both: the one above, twice as large if need be, or a new one.
func (ks *keyspace) split(t *trail, position uint32) bool {
	depth := t.leaf.depth() + 1
	if !ks.deepen(t, position, depth) {
		return false
	}
	bit := uint32(1) << (32 - depth)
	var n [2]int
	segment := ks.arena.at(t.leaf.ref())
	for i := range t.leaf.buckets() {
		b := bucketAt(segment, i)
		for c := range bucketCells {
			if *tagAt(b, c) != 0 {
				n[half(ks.hashOf(ks.arena.at(*refIn(b, c))), bit)]++
			}
		}
	}
	low, ok := ks.newSegment(bucketsFor(n[0]+1), depth)
	if !ok {
		return false
	}
	high, ok := ks.newSegment(bucketsFor(n[1]+1), depth)
	if !ok {
		ks.freeSegment(low)
		return false
	}
	halves := [2]word{low, high}
	ks.pour(t.leaf, func(hash uint64) word { return halves[half(hash, bit)] })
	ks.hang(t, position&^bit, low)
	ks.hang(t, position|bit, high)
	ks.freeSegment(t.leaf)
	return true
}

func half(hash uint64, bit uint32) int {
	if position(hash)&bit != 0 {
		return 1
	}
	return 0
}

// deepen makes sure that t's node tells leaves of depth apart.
func (ks *keyspace) deepen(t *trail, position uint32, depth int) bool {
	if t.node != 0 && depth <= t.node.depth()+t.node.nodeBits() {
		return true
	}
	if t.node == 0 || t.node.nodeBits() == maxNodeBits {
		// A node of two words, both the leaf, in the leaf's place.
		w, ok := ks.newNode(1, depth-1)
		if !ok {
			return false
		}
		*ks.nodeAt(w, 0), *ks.nodeAt(w, 1) = t.leaf, t.leaf
		if t.node != 0 {
			t.at = ks.nodeAt(t.node, t.node.child(position))
		}
		t.at.store(w)
		t.node = w
		return true
	}
	w, ok := ks.newNode(t.node.nodeBits()+1, t.node.depth())
	if !ok {
		return false
	}
	for i := range 1 << t.node.nodeBits() {
		v := *ks.nodeAt(t.node, i)
		*ks.nodeAt(w, 2*i), *ks.nodeAt(w, 2*i+1) = v, v
	}
	t.at.store(w)
	ks.freeNode(t.node)
	t.node = w
	return true
}

// tidy gives back what a removal left unused: a segment a third full shrinks,
// two small neighbours become one, a node with one leaf becomes that leaf, an
// empty slot keeps nothing. Without memory for the smaller one, all stays.
func (ks *keyspace) tidy(rec *slotRec, position uint32) {
	if rec.keys == 0 {
		w := rec.word
		rec.word.store(0)
		ks.freeIndex(w)
		return
	}
	for {
		t := ks.descend(rec, position)
		if t.node != 0 && ks.merge(&t, position) {
			continue
		}
		n, entries := t.leaf.buckets(), ks.entries(t.leaf)
		if n > 1 && entries < n*bucketCells/3 {
			ks.resize(&t, position, bucketsFor(entries))
		}
		return
	}
}

// merge joins the leaf of t with the other half of the range that both once
// were, if that is a leaf too and they are small.
func (ks *keyspace) merge(t *trail, position uint32) bool {
	depth := t.leaf.depth()
	if depth == t.node.depth() { // a split that found no memory left it so
		t.at.store(t.leaf)
		ks.freeNode(t.node)
		return true
	}
	bit := uint32(1) << (32 - depth)
	other := *ks.nodeAt(t.node, t.node.child(position^bit))
	entries := ks.entries(t.leaf)
	if other.isNode() || other.depth() != depth || entries+ks.entries(other) > mergeEntries {
		return false
	}
	w, ok := ks.newSegment(bucketsFor(entries+ks.entries(other)), depth-1)
	if !ok {
		return false
	}
	ks.pour(t.leaf, func(uint64) word { return w })
	ks.pour(other, func(uint64) word { return w })
	if depth-1 == t.node.depth() {
		t.at.store(w)
		ks.freeNode(t.node)
	} else {
		ks.hang(t, position, w)
	}
	ks.freeSegment(t.leaf)
	ks.freeSegment(other)
	return true
}

// freeIndex frees everything below w, entries not included.
func (ks *keyspace) freeIndex(w word) {
	if w == 0 {
		return
	}
	if !w.isNode() {
		ks.freeSegment(w)
		return
	}
	for i := 0; i < 1<<w.nodeBits(); {
		v := *ks.nodeAt(w, i)
		width := 1
		if !v.isNode() {
			width = 1 << (w.nodeBits() - (v.depth() - w.depth()))
		}
		ks.freeIndex(v)
		i += width
	}
	ks.freeNode(w)
}

// slotEnd is the position behind the last.
const slotEnd = 1 << 32

// bounds are the first position of leaf w, which position leads to, and the
// first behind it.
func (w word) bounds(position uint32) (start, end uint64) {
	span := uint64(slotEnd) >> w.depth()
	start = uint64(position) &^ (span - 1)
	return start, start + span
}

// next is the first position behind the bucket of leaf w that position leads
// to: where a walk in hash order goes on. However the leaf grows or splits
// meanwhile, what lies before next has been visited and the rest has not.
func (w word) next(position uint32) uint64 {
	depth, n := w.depth(), uint64(w.buckets())
	local := uint64(w.home(uint64(position)<<32)+1) << 32 // end of the bucket, n times its position in the leaf
	local = (local + n - 1) / n
	start := uint64(position) &^ (slotEnd>>depth - 1)
	return start + (local+1<<depth-1)>>depth
}
