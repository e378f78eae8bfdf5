package shard

import (
	"sync/atomic"
	"unsafe"
)

// ref is the place of a block in an arena, in units of 8 bytes; 0 is none.
type ref uint32

const (
	unitBytes  = 8
	slabBytes  = 64 << 10
	slabUnits  = slabBytes / unitBytes
	slabShift  = 13 // ref to slab number
	chunkShift = 21 // ref to chunk number
	chunkSlabs = chunkBytes / slabBytes
	chunkUnits = chunkBytes / unitBytes
	maxChunks  = 1 << (32 - chunkShift)

	maxBlockBytes = 4096
	maxBlockUnits = maxBlockBytes / unitBytes
	warmSlabs     = 16 // free slabs of an arena whose pages are kept, at most, and
	warmShare     = 64 // one for so many slabs in use
	eagerSlabs    = 16 // new slabs whose pages recovery brings in together
	manySlabs     = 8  // of a size that has so many, the pages of a new slab are brought in together

	leaving = ^uint32(0) // prev of a slab that compaction empties: it is in no list
)

// slab is 64 KiB of blocks of one size. Free blocks form a list through their
// first two bytes; blocks never used lie behind bump, untouched, so that the
// first slabs of a size cost no resident memory before they are used. Once a
// size has many, the next gets its pages in one go: met one by one they took a
// sixth of an insert's processor time (where this was measured, a page fault
// costs more than ten times its share of 64 KiB).
type slab struct {
	next, prev uint32 // in the list of its size's slabs with room, or of free slabs; number+1, or leaving
	units      uint16 // size of a block; 0 when the slab is free
	live       uint16
	free       uint16 // unit offset of the first free block, +1
	bump       uint16 // unit offset of the first block never used
}

func (s *slab) full() bool { return s.free == 0 && int(s.bump)+int(s.units) > slabUnits }

// arena allocates blocks of 8 bytes to 4 KiB outside the Go heap. Blocks whose
// size is a multiple of 64 bytes are aligned to 64. The shard's lock guards it.
type arena struct {
	bases   []unsafe.Pointer // by chunk
	slabs   []*[chunkSlabs]slab
	partial [maxBlockUnits + 1]uint32 // by block size: first slab with room, +1
	count   [maxBlockUnits + 1]uint32 // by block size: slabs
	warm    uint32                    // free slabs with their pages, +1
	cold    uint32                    // free slabs whose pages were given back, +1
	nWarm   int
	nLeave  int    // slabs that are leaving
	cooling int    // empty slabs in no list, whose pages Cool is giving back
	gone    bool   // abandoned
	fresh   uint32 // first slab never used
	end     uint32 // end of the last chunk's slabs
	pool    *pool
	c       *counters
	held    int64 // its part of c.mappedBytes

	shared atomic.Pointer[[]unsafe.Pointer] // bases, for prefetch without the lock
}

// at is the address of r.
func (a *arena) at(r ref) unsafe.Pointer {
	return unsafe.Add(a.bases[r>>chunkShift], uintptr(r&(chunkUnits-1))*unitBytes)
}

func (a *arena) slab(id uint32) *slab {
	return &a.slabs[id/chunkSlabs][id%chunkSlabs]
}

// alloc returns a block with arbitrary content; false when there is no memory.
func (a *arena) alloc(units int) (ref, bool) {
	id := a.partial[units]
	if id == 0 {
		if id = a.newSlab(units); id == 0 {
			return 0, false
		}
	}
	id--
	s := a.slab(id)
	var offset uint32
	if s.free != 0 {
		offset = uint32(s.free) - 1
		s.free = *(*uint16)(a.at(ref(id<<slabShift | offset)))
	} else {
		offset = uint32(s.bump)
		s.bump += s.units
	}
	s.live++
	if s.full() {
		a.unlink(&a.partial[units], id)
	}
	return ref(id<<slabShift | offset), true
}

// units is the size of the block at r.
func (a *arena) units(r ref) int { return int(a.slab(uint32(r) >> slabShift).units) }

// release frees a block. The slab it came from is used next, so that a value
// that replaces another of its size lands in memory that is still cached.
func (a *arena) release(r ref) {
	id := uint32(r) >> slabShift
	s := a.slab(id)
	wasFull := s.full()
	*(*uint16)(a.at(r)) = s.free
	s.free = uint16(uint32(r)&(slabUnits-1)) + 1
	s.live--
	if s.prev == leaving {
		if s.live == 0 {
			a.nLeave--
			a.freeSlab(id)
		}
		return
	}
	if wasFull {
		a.link(&a.partial[s.units], id)
	}
	if s.live == 0 {
		a.unlink(&a.partial[s.units], id)
		a.freeSlab(id)
	}
}

func (a *arena) link(head *uint32, id uint32) {
	s := a.slab(id)
	s.prev, s.next = 0, *head
	if *head != 0 {
		a.slab(*head - 1).prev = id + 1
	}
	*head = id + 1
}

func (a *arena) unlink(head *uint32, id uint32) {
	s := a.slab(id)
	if s.next != 0 {
		a.slab(s.next - 1).prev = s.prev
	}
	if s.prev != 0 {
		a.slab(s.prev - 1).next = s.next
	} else {
		*head = s.next
	}
	s.next, s.prev = 0, 0
}

// newSlab makes a slab for blocks of units and returns its number+1, 0 when
// there is no memory.
func (a *arena) newSlab(units int) uint32 {
	var id uint32
	pages := false // are there
	switch {
	case a.warm != 0:
		id = a.takeWarm()
		pages = true
	case a.cold != 0:
		id = a.cold - 1
		a.unlink(&a.cold, id)
		a.hold(slabBytes)
	default:
		if a.fresh == a.end && !a.grow() {
			return 0
		}
		id = a.fresh
		a.fresh++
		a.hold(slabBytes)
		if id >= chunkSlabs && a.pool.eager.Load() {
			if id%eagerSlabs == 0 {
				populateMemory(a.at(ref(id<<slabShift)), eagerSlabs*slabBytes)
			}
			pages = true
		}
	}
	if a.count[units]++; !pages && a.count[units] > manySlabs {
		populateMemory(a.at(ref(id<<slabShift)), slabBytes)
	}
	s := a.slab(id)
	*s = slab{units: uint16(units)}
	if id == 0 {
		s.bump = s.units // ref 0 means none
	}
	a.link(&a.partial[units], id)
	return id + 1
}

// freeSlab keeps an empty slab warm; when there are more of these than the
// arena may keep, Cool gives the pages of some back.
func (a *arena) freeSlab(id uint32) {
	a.count[a.slab(id).units]--
	a.slab(id).units = 0
	a.nWarm++
	a.link(&a.warm, id)
	if a.nWarm > a.warmLimit(false) && !a.pool.coolable.Load() {
		a.pool.coolable.Store(true)
	}
}

// warmLimit is how many empty slabs may keep their pages.
func (a *arena) warmLimit(none bool) int {
	if none {
		return 0
	}
	return min(warmSlabs, 1+(int(a.held/slabBytes)-a.nWarm)/warmShare)
}

// takeWarm takes an empty slab out of the list of warm ones.
func (a *arena) takeWarm() uint32 {
	id := a.warm - 1
	a.unlink(&a.warm, id)
	a.nWarm--
	return id
}

// grow adds a chunk; nothing that is there moves.
func (a *arena) grow() bool {
	n := len(a.bases)
	if n == maxChunks {
		return false
	}
	size := int64(chunkBytes)
	if n == 0 {
		size = firstChunkBytes
	}
	base := a.pool.take(size)
	if base == nil {
		return false
	}
	a.bases = append(a.bases, base)
	a.slabs = append(a.slabs, new([chunkSlabs]slab))
	a.fresh = uint32(n * chunkSlabs)
	a.end = a.fresh + uint32(size/slabBytes)
	published := a.bases
	a.shared.Store(&published)
	return true
}

func (a *arena) hold(bytes int64) {
	a.held += bytes
	a.c.mappedBytes.Add(bytes)
}

// abandon hands all chunks to the pool at once; or leaves that to Cool, which is
// giving pages of some back.
func (a *arena) abandon() {
	a.gone = true
	a.c.mappedBytes.Add(-a.held)
	if a.cooling == 0 {
		a.giveChunks()
	}
}

func (a *arena) giveChunks() {
	for i, base := range a.bases {
		size := int64(chunkBytes)
		if i == 0 {
			size = firstChunkBytes
		}
		a.pool.give(base, size)
	}
}
