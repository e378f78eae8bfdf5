package shard

import (
	"math/bits"
	"unsafe"
)

// handle is the place of a big block: chunk number and offset; 0 is none.
type handle uint64

const (
	handleShift = 40 // offset below, chunk number above

	bigGrain      = 64
	bigHeader     = 8
	bigFirst      = bigGrain - bigHeader // offset of a chunk's first header: what it holds is aligned
	bigMin        = 512
	bigMinLog     = 9
	bigChunkFirst = 1 << 20
	bigChunkMax   = 64 << 20
	bigSoloBytes  = 32 << 20 // larger blocks have a mapping of their own
	bigSoloMax    = 1 << 15  // and no more of them than this: a process may have 65,530 mappings

	bigLevels   = 27 - bigMinLog // of block sizes, by powers of two
	bigSteps    = 32             // of each level
	bigStepsLog = 5

	bigFree     = 1 // flags in the low bits of a header
	bigPrevFree = 2
	bigUnlisted = 4 // free, but in no list: its chunk is being emptied
	bigOrphan   = 8 // its entry is gone, but it is still lent

	bigSizeMask = 1<<handleShift - bigGrain // of a header
	bigPinShift = 48                        // how often it is lent, above
	bigPinMax   = 1<<16 - 1

	bigSlackBytes = 4 << 20 // free memory that keeps its pages, or
	bigSlackShare = 8       // this part of what is in use

	fitLooks        = 4        // blocks of a list of which some are too small
	bigRecycleBytes = 16 << 20 // most that stays for values like the one just freed

	// A free run from here on may give its pages back at once: above 33 pages the
	// system forgets addresses all together, which is quicker than one by one.
	bigReleaseBytes = 160 << 10
)

// bigArena allocates blocks above what arena does, rounded up to 64 bytes. It
// is a two-level segregated fit: free blocks are kept in lists by size, 32
// sizes to a power of two, a block is split to what is needed and merges with
// free neighbours when it is freed, all in constant time.
//
// A block begins with a header of 8 bytes: its size, flags and pins. A free
// block goes on with the handles of its list neighbours and the span of its bytes
// that may hold pages; its last 8 bytes repeat its size. The shard's lock
// guards all.
type bigArena struct {
	chunks []bigChunk
	unused []uint32 // numbers of chunks that were unmapped
	solos  int
	levels uint32 // bit set of levels with a free block
	steps  [bigLevels]uint32
	heads  [bigLevels][bigSteps]handle
	live   int64 // bytes of blocks in use, solos not counted
	dirty  int64 // bytes of free blocks that may hold pages
	empty  int   // chunks that are one free block
	nLeave int   // chunks that are leaving
	next   int64 // size of the next chunk
	pool   *pool
	c      *counters
	held   int64 // its part of c.mappedBytes: live, dirty and solos

	settled int64 // dirty bytes that compaction could not get hold of

	orphans     int   // blocks whose entries are gone while they are lent
	orphanBytes int64 // of these
	gone        bool  // abandoned: what is left are chunks with lent blocks
}

type bigChunk struct {
	base      unsafe.Pointer
	sizeBytes int64
	solo      bool
	leaving   bool  // compaction empties it: what is free in it is not handed out
	unlisted  int64 // offset up to where its free blocks have left their lists
	blocks    int   // in use, as live and dirty of this chunk alone
	live      int64 // bytes
	dirty     int64
	pins      int // of its blocks together
}

func (a *bigArena) at(h handle) unsafe.Pointer {
	return unsafe.Add(a.chunks[h>>handleShift].base, uintptr(h&(1<<handleShift-1)))
}

func (a *bigArena) word(h handle, index int) *uint64 {
	return (*uint64)(unsafe.Add(a.at(h), index*8))
}

func (a *bigArena) size(h handle) int64 { return int64(*a.word(h, 0) & bigSizeMask) }

// payload is the memory of block h.
func (a *bigArena) payload(h handle) unsafe.Pointer { return unsafe.Add(a.at(h), bigHeader) }

// capacity is how much payload h has.
func (a *bigArena) capacity(h handle) int { return int(a.size(h)) - bigHeader }

// blockBytes is the size of a block for n bytes.
func (a *bigArena) blockBytes(n int) int64 {
	return max((int64(n)+bigHeader+bigGrain-1)&^(bigGrain-1), bigMin)
}

// alloc returns a block of at least n bytes; false when there is no memory.
func (a *bigArena) alloc(n int) (handle, bool) {
	size := a.blockBytes(n)
	if size > bigSoloBytes {
		return a.allocSolo(size)
	}
	h := a.fit(size)
	if h == 0 {
		if !a.grow(size) {
			return 0, false
		}
		h = a.fit(size)
	}
	a.take(h, size)
	return h, true
}

// fit finds a free block of at least size: one that was freed lately and is as
// large, or the first of a list all of whose blocks are large enough. Values
// that are overwritten by others of their size find the place of the one before
// in no other way.
func (a *bigArena) fit(size int64) handle {
	level, step := bigClass(size)
	for h, looks := a.heads[level][step], 0; h != 0 && looks < fitLooks; looks++ {
		if a.size(h) >= size {
			return h
		}
		h = handle(*a.word(h, 1))
	}
	size += 1<<(bits.Len64(uint64(size))-1-bigStepsLog) - 1
	level, step = bigClass(size)
	if level < bigLevels {
		if m := a.steps[level] & (^uint32(0) << step); m != 0 {
			return a.heads[level][bits.TrailingZeros32(m)]
		}
		if m := a.levels & (^uint32(0) << (level + 1)); m != 0 {
			level = bits.TrailingZeros32(m)
			return a.heads[level][bits.TrailingZeros32(a.steps[level])]
		}
	}
	return 0
}

// bigClass is the list that a free block of size belongs to.
func bigClass(size int64) (level, step int) {
	log := bits.Len64(uint64(size)) - 1
	return log - bigMinLog, int(size>>(log-bigStepsLog)) & (bigSteps - 1)
}

// take makes the free block h one in use, cut to size.
func (a *bigArena) take(h handle, size int64) {
	whole := a.size(h)
	pages := a.pages(h)
	dirty := pages.size()
	a.remove(h)
	if a.isWholeChunk(h, whole) {
		a.empty--
	}
	restDirty := int64(0)
	if rest := whole - size; rest >= bigMin {
		pages = pages.behind(size)
		restDirty = pages.size()
		*a.word(h, 0) = uint64(size)
		a.insert(h+handle(size), rest, pages)
	} else {
		size = whole
		*a.word(h, 0) = uint64(size)
		*a.word(h+handle(size), 0) &^= bigPrevFree
	}
	a.count(h, 1, size, restDirty-dirty)
}

// count notes how much more is in use, and free with pages, in h's chunk.
func (a *bigArena) count(h handle, blocks int, live, dirty int64) {
	c := &a.chunks[h>>handleShift]
	c.blocks += blocks
	c.live += live
	c.dirty += dirty
	a.live += live
	a.dirty += dirty
	if live+dirty != 0 {
		a.hold(live + dirty)
	}
}

// release frees block h and gives pages back when many are free. While it is
// lent it stays as it is.
func (a *bigArena) release(h handle) {
	if a.pinned(h) {
		a.orphan(h)
		return
	}
	number := h >> handleShift
	if a.chunks[number].solo {
		a.releaseSolo(uint32(number))
		return
	}
	size := a.size(h)
	a.count(h, -1, -size, size)
	pages, dirty, freed := span{0, size}, size, size
	if next := h + handle(size); *a.word(next, 0)&bigFree != 0 {
		p := a.pages(next)
		dirty += p.size()
		pages = pages.with(p, size)
		size += a.size(next)
		a.remove(next)
	}
	if *a.word(h, 0)&bigPrevFree != 0 {
		prevSize := int64(*(*uint64)(unsafe.Add(a.at(h), -8)))
		h -= handle(prevSize)
		p := a.pages(h)
		dirty += p.size()
		pages = p.with(pages, prevSize)
		size += prevSize
		a.remove(h)
	}
	a.count(h, 0, 0, pages.size()-dirty) // what lies between two free runs with pages
	dirty = pages.size()
	if a.mayGoBack(number, dirty, freed) {
		a.count(h, 0, 0, -dirty)
		pages, dirty = span{}, 0
		releaseMemory(unsafe.Add(a.at(h), 5*8), size-6*8)
	}
	a.insert(h, size, pages)
	if c := &a.chunks[number]; c.leaving {
		c.keepUnlisted(h, size)
	}
	if a.isWholeChunk(h, size) {
		if a.empty++; a.empty > 1 || a.chunks[number].leaving {
			a.dropEmpty(h, dirty)
		}
	}
}

// mayGoBack says whether a free block in chunk number with dirty bytes gives its
// pages back. A leaving chunk does it in larger pieces, and whatever is free
// elsewhere: each time the system looks through all of the block. Of what was
// just freed as much stays as the next two such values take: where values are
// overwritten they come at once, and bringing pages in again costs as much as
// copying the value.
func (a *bigArena) mayGoBack(number handle, dirty, freed int64) bool {
	if a.chunks[number].leaving {
		return dirty >= 8*slabBytes
	}
	return dirty >= bigReleaseBytes && a.dirty > max(bigSlackBytes, a.live/bigSlackShare, min(2*freed, bigRecycleBytes))
}

// span is the part of a free block that may hold pages, as offsets from its
// beginning. Which part matters: what is allocated is cut from a block's
// beginning, and where values are overwritten that is the part with pages. With
// their number alone, too many were thought to be left, so that a SET of 256 KB
// had pages given back and brought in again: a fifth of its CPU.
type span struct{ from, to int64 }

func (s span) size() int64 { return s.to - s.from }

// behind is the span of what is left when the first n bytes are cut off.
func (s span) behind(n int64) span { return span{max(s.from-n, 0), max(s.to-n, 0)} }

// with is the span of two blocks that become one, t that of the second, which
// begins at n.
func (s span) with(t span, n int64) span {
	switch {
	case t.size() == 0:
		return s
	case s.size() == 0:
		return span{t.from + n, t.to + n}
	}
	return span{s.from, t.to + n}
}

func (a *bigArena) pages(h handle) span {
	return span{int64(*a.word(h, 3)), int64(*a.word(h, 4))}
}

// insert marks a free block at both ends and puts it into its list.
func (a *bigArena) insert(h handle, size int64, pages span) {
	*a.word(h, 0) = uint64(size) | bigFree | bigUnlisted
	*a.word(h, 3), *a.word(h, 4) = uint64(pages.from), uint64(pages.to)
	end := h + handle(size)
	*(*uint64)(unsafe.Add(a.at(end), -8)) = uint64(size)
	*a.word(end, 0) |= bigPrevFree
	if !a.chunks[h>>handleShift].leaving {
		a.list(h, size)
	}
}

// list puts an unlisted free block into its list.
func (a *bigArena) list(h handle, size int64) {
	level, step := bigClass(size)
	head := &a.heads[level][step]
	*a.word(h, 0) &^= bigUnlisted
	*a.word(h, 1) = uint64(*head)
	*a.word(h, 2) = 0
	if *head != 0 {
		*a.word(*head, 2) = uint64(h)
	}
	*head = h
	a.levels |= 1 << level
	a.steps[level] |= 1 << step
}

// remove takes a free block out of its list, if it is in one.
func (a *bigArena) remove(h handle) {
	if *a.word(h, 0)&bigUnlisted != 0 {
		return
	}
	next, prev := handle(*a.word(h, 1)), handle(*a.word(h, 2))
	if next != 0 {
		*a.word(next, 2) = uint64(prev)
	}
	if prev != 0 {
		*a.word(prev, 1) = uint64(next)
		return
	}
	level, step := bigClass(a.size(h))
	a.heads[level][step] = next
	if next == 0 {
		a.steps[level] &^= 1 << step
		if a.steps[level] == 0 {
			a.levels &^= 1 << level
		}
	}
}

func (a *bigArena) isWholeChunk(h handle, size int64) bool {
	return size == a.chunks[h>>handleShift].sizeBytes-bigGrain
}

// grow adds a chunk that holds a block of blockBytes: one free block between
// the unused head of the chunk and a header in use that ends it. Chunks double
// up to 64 MiB, so that small databases map little; twice the block is enough
// for fit, which asks for up to 1/32 more.
func (a *bigArena) grow(blockBytes int64) bool {
	size := max(a.next, bigChunkFirst)
	for size < 2*blockBytes {
		size *= 2
	}
	a.pool.drain(size)
	base := a.pool.mapper(size)
	if base == nil {
		return false
	}
	a.next = min(size*2, bigChunkMax)
	h := a.addChunk(bigChunk{base: base, sizeBytes: size})
	whole := size - bigGrain
	*a.word(h+handle(whole), 0) = 0
	a.insert(h, whole, span{})
	a.empty++
	return true
}

func (a *bigArena) addChunk(c bigChunk) handle {
	number := uint32(len(a.chunks))
	if n := len(a.unused); n > 0 {
		number = a.unused[n-1]
		a.unused = a.unused[:n-1]
		a.chunks[number] = c
	} else {
		a.chunks = append(a.chunks, c)
	}
	return handle(number)<<handleShift | bigFirst
}

func (a *bigArena) dropChunk(number uint32) bigChunk {
	c := a.chunks[number]
	a.chunks[number] = bigChunk{}
	a.unused = append(a.unused, number)
	return c
}

// dropEmpty lets go of the chunk that is the one free block h. The pool unmaps
// it: 64 MiB at once would take milliseconds.
func (a *bigArena) dropEmpty(h handle, dirty int64) {
	a.remove(h)
	a.count(h, 0, 0, -dirty)
	a.empty--
	c := a.dropChunk(uint32(h >> handleShift))
	if c.leaving {
		a.nLeave--
	}
	a.pool.doom(c.base, c.sizeBytes)
}

// isSolo says whether block h has a mapping of its own. What nobody wrote in
// one is zero.
func (a *bigArena) isSolo(h handle) bool { return a.chunks[h>>handleShift].solo }

// allocSolo maps a block by itself.
func (a *bigArena) allocSolo(size int64) (handle, bool) {
	if a.solos == bigSoloMax {
		return 0, false
	}
	size = (size + bigGrain + slabBytes - 1) &^ (slabBytes - 1)
	a.pool.drain(size)
	base := a.pool.mapper(size)
	if base == nil {
		return 0, false
	}
	a.solos++
	a.hold(size)
	h := a.addChunk(bigChunk{base: base, sizeBytes: size, solo: true})
	*a.word(h, 0) = uint64(size - bigGrain)
	return h, true
}

// releaseSolo leaves the unmapping to the pool: half a gigabyte takes 30 ms.
func (a *bigArena) releaseSolo(number uint32) {
	a.solos--
	c := a.dropChunk(number)
	a.hold(-c.sizeBytes)
	a.pool.doom(c.base, c.sizeBytes)
}

func (a *bigArena) hold(bytes int64) {
	a.held += bytes
	a.c.mappedBytes.Add(bytes)
}
