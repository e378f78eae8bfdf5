package shard

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// A bucket is one cache line that refers to up to 12 entries:
//
//	0   12 tags of one byte, 0 for an empty cell
//	12  how many entries passed this bucket because it was full and lie further on
//	13  unused
//	14  2 bytes, in a segment's first bucket: how many entries the segment holds
//	16  12 references
//
// An entry whose home bucket is full goes to the next bucket with room, round
// the segment's end. A lookup goes on from bucket to bucket while the count of
// those who passed is not zero.
const (
	bucketBytes = 64
	bucketUnits = bucketBytes / unitBytes
	bucketCells = 12

	passedAt   = 12
	countAt    = 14
	refsAt     = 16
	passedFull = 255 // sticks: from here on the bucket is always passed

	lowBytes  = 0x0101010101010101
	lowBits7  = 0x7F7F7F7F7F7F7F7F
	highBit8  = 0x80
	lastCells = 0x80808080 // matches in the second word, which holds four tags
)

// tagOf is the byte of the hash that a cell keeps. It is independent of the
// high half, which chooses the bucket.
func tagOf(hash uint64) byte {
	return max(byte(hash), 1)
}

// matches is a mask of the cells of bucket b whose tag is tag, a bit in every
// byte: cells 0..7 in the first word, 8..11 in the second. It is exact: a
// byte plus 0x7F carries into its own high bit only.
func matches(b unsafe.Pointer, tag byte) (first, second uint64) {
	pattern := lowBytes * uint64(tag)
	x := binary.LittleEndian.Uint64((*[8]byte)(b)[:]) ^ pattern
	y := uint64(binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(b, 8))[:])) ^ pattern&0xFFFFFFFF
	first = ^((x&lowBits7 + lowBits7) | x | lowBits7)
	second = ^((y&lowBits7 + lowBits7) | y | lowBits7) & lastCells
	return first, second
}

// firstCell is the first cell of a mask, or bucketCells.
func firstCell(first, second uint64) int {
	if first != 0 {
		return bits.TrailingZeros64(first) / 8
	}
	if second != 0 {
		return 8 + bits.TrailingZeros64(second)/8
	}
	return bucketCells
}

// emptyCell is the first empty cell of b, or bucketCells.
func emptyCell(b unsafe.Pointer) int { return firstCell(matches(b, 0)) }

func bucketAt(segment unsafe.Pointer, index int) unsafe.Pointer {
	return unsafe.Add(segment, index*bucketBytes)
}

func tagAt(b unsafe.Pointer, cell int) *byte { return (*byte)(unsafe.Add(b, cell)) }

func passed(b unsafe.Pointer) *byte { return (*byte)(unsafe.Add(b, passedAt)) }

func refIn(b unsafe.Pointer, cell int) *ref { return (*ref)(unsafe.Add(b, refsAt+4*cell)) }

func countIn(segment unsafe.Pointer) *uint16 { return (*uint16)(unsafe.Add(segment, countAt)) }

// cell is where an entry was found.
type cell struct {
	segment unsafe.Pointer
	buckets int
	home    int // bucket that its hash points to
	bucket  int // bucket that it lies in
	index   int
	r       ref
	e       unsafe.Pointer
}

func (c *cell) ref() *ref { return refIn(bucketAt(c.segment, c.bucket), c.index) }

// find looks for k in the segment that w leads to. behind is the place behind
// the key in the entry that it found, nil when there is none.
func (ks *keyspace) find(w word, k *Key, c *cell) (behind unsafe.Pointer) {
	segment, n := ks.arena.at(w.ref()), w.buckets()
	home := w.home(k.Hash)
	tag := tagOf(k.Hash)
	for i, steps := home, 0; steps < n; steps++ {
		b := bucketAt(segment, i)
		first, second := matches(b, tag)
		for first|second != 0 {
			index := firstCell(first, second)
			if first != 0 {
				first &= first - 1
			} else {
				second &= second - 1
			}
			r := *refIn(b, index)
			e := ks.arena.at(r)
			if behind = ks.behindKey(e, k); behind != nil {
				// One by one: a literal is made elsewhere and copied, and waits
				// for its own stores on the way.
				c.segment, c.buckets, c.home = segment, n, home
				c.bucket, c.index, c.r, c.e = i, index, r, e
				return behind
			}
		}
		if *passed(b) == 0 {
			return nil
		}
		if i++; i == n {
			i = 0
		}
	}
	return nil
}

// put adds an entry with hash to a segment that has room.
func put(segment unsafe.Pointer, n, home int, hash uint64, r ref) {
	for i := home; ; {
		b := bucketAt(segment, i)
		if cell := emptyCell(b); cell < bucketCells {
			*tagAt(b, cell) = tagOf(hash)
			*refIn(b, cell) = r
			*countIn(segment)++
			return
		}
		if p := passed(b); *p < passedFull {
			*p++
		}
		if i++; i == n {
			i = 0
		}
	}
}

// drop empties the cell c.
func drop(c *cell) {
	b := bucketAt(c.segment, c.bucket)
	*tagAt(b, c.index) = 0
	*refIn(b, c.index) = 0
	for i := c.home; i != c.bucket; {
		if p := passed(bucketAt(c.segment, i)); *p < passedFull {
			*p--
		}
		if i++; i == c.buckets {
			i = 0
		}
	}
	*countIn(c.segment)--
}
