package shard

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Sizes of the chunks that arenas carve slabs from. An arena's first chunk is
// small, since there is an arena for every shard of every database in use.
const (
	chunkBytes      = 16 << 20
	firstChunkBytes = 1 << 20
	releaseBytes    = 16 << 20 // most that one pool.step gives back: about a millisecond
)

// pool holds memory that keyspaces no longer need. A flush hands over whole
// arenas in one go; step gives their pages back to the system a piece at a
// time, without any shard's lock. Chunks stay mapped for the next arena, so an
// unlocked prefetch never meets an unmapped address.
type pool struct {
	mu       sync.Mutex
	chunks   [2]struct{ dirty, clean []unsafe.Pointer } // first chunks, others
	doomed   []extent                                   // to unmap: mappings of big values
	mapped   atomic.Int64                               // bytes of dirty chunks and doomed extents
	release  func(ranges []memoryRange)                 // releaseRanges, or what a test puts there
	mapper   func(sizeBytes int64) unsafe.Pointer       // mapMemory, or what a test puts there
	coolable atomic.Bool                                // an arena has more warm slabs than it may keep
	eager    atomic.Bool                                // recovery is filling the arenas: bring pages in many at a time
}

type extent struct {
	base      unsafe.Pointer
	sizeBytes int64
}

func chunkKind(sizeBytes int64) int {
	if sizeBytes == firstChunkBytes {
		return 0
	}
	return 1
}

func kindBytes(kind int) int64 {
	if kind == 0 {
		return firstChunkBytes
	}
	return chunkBytes
}

// take finds a chunk: one whose pages are still there, else a released one,
// else a new mapping. Its content is arbitrary.
func (p *pool) take(sizeBytes int64) unsafe.Pointer {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.chunks[chunkKind(sizeBytes)]
	if n := len(c.dirty); n > 0 {
		b := c.dirty[n-1]
		c.dirty = c.dirty[:n-1]
		p.mapped.Add(-sizeBytes)
		return b
	}
	if n := len(c.clean); n > 0 {
		b := c.clean[n-1]
		c.clean = c.clean[:n-1]
		return b
	}
	return p.mapper(sizeBytes)
}

// give takes a chunk back, its pages still resident.
func (p *pool) give(base unsafe.Pointer, sizeBytes int64) {
	p.mu.Lock()
	c := &p.chunks[chunkKind(sizeBytes)]
	c.dirty = append(c.dirty, base)
	p.mapped.Add(sizeBytes)
	p.mu.Unlock()
}

// doom takes a mapping that nobody will use again.
func (p *pool) doom(base unsafe.Pointer, sizeBytes int64) {
	p.mu.Lock()
	p.doomed = append(p.doomed, extent{base, sizeBytes})
	p.mapped.Add(sizeBytes)
	p.mu.Unlock()
}

// step gives one piece of what is no longer needed back to the system and
// says whether there was any.
func (p *pool) step() bool {
	p.mu.Lock()
	if n := len(p.doomed); n > 0 {
		x := &p.doomed[n-1]
		size := min(x.sizeBytes, releaseBytes)
		x.sizeBytes -= size
		base := unsafe.Add(x.base, x.sizeBytes)
		if x.sizeBytes == 0 {
			p.doomed = p.doomed[:n-1]
		}
		p.mapped.Add(-size)
		p.mu.Unlock()
		unmapMemory(base, size)
		return true
	}
	for kind := range p.chunks {
		c := &p.chunks[kind]
		n := len(c.dirty)
		if n == 0 {
			continue
		}
		base := c.dirty[n-1]
		c.dirty = c.dirty[:n-1]
		p.mapped.Add(-kindBytes(kind))
		p.mu.Unlock()
		releaseMemory(base, kindBytes(kind))
		p.mu.Lock()
		c.clean = append(c.clean, base)
		p.mu.Unlock()
		return true
	}
	p.mu.Unlock()
	return false
}

// drain unmaps about sizeBytes of doomed mappings: whoever maps as much again
// pays for it, so that memory in use does not depend on how often step runs.
func (p *pool) drain(sizeBytes int64) {
	for done := int64(0); done < sizeBytes; done += releaseBytes {
		p.mu.Lock()
		n := len(p.doomed)
		p.mu.Unlock()
		if n == 0 || !p.step() {
			return
		}
	}
}

// close unmaps everything.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.doomed {
		unmapMemory(x.base, x.sizeBytes)
	}
	for kind := range p.chunks {
		for _, list := range [][]unsafe.Pointer{p.chunks[kind].dirty, p.chunks[kind].clean} {
			for _, base := range list {
				unmapMemory(base, kindBytes(kind))
			}
		}
		p.chunks[kind].dirty, p.chunks[kind].clean = nil, nil
	}
	p.doomed = nil
	p.mapped.Store(0)
}
