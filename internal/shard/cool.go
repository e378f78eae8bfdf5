package shard

import (
	"sync"
	"unsafe"
)

// coolBatch is how many slabs give their pages back together. The system tells
// every processor to forget an address range, page by page up to 33 pages and
// all at once from there on: 64 KiB alone take 0.1 to 0.5 ms, and many slabs
// together hardly more.
const coolBatch = 64

// memoryRange is a piece of memory, as the system takes a list of them.
type memoryRange struct {
	base      unsafe.Pointer
	sizeBytes uintptr
}

// Cool gives pages that nobody needs back to the system, for about a
// millisecond, and says whether there are more: those of empty slabs, but for a
// few that each arena keeps warm unless all is set, and what flushes and large
// values left. No lock is held while the system works, and no transaction has
// to do it: it belongs on a goroutine of its own. One at a time.
func (s *Store) Cool(all bool) (more bool) {
	c := &s.cooler
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if s.pool.step() {
		return true
	}
	s.pool.coolable.Store(false)
	for range len(s.shards) * s.databases {
		if c.db++; c.db >= s.databases {
			c.db, c.shard = 0, (c.shard+1)%len(s.shards)
		}
		sh := &s.shards[c.shard]
		if ks := sh.dbs[c.db].ks.Load(); ks != nil && ks.cool(c, all) {
			s.pool.coolable.Store(true) // there may be more
			return true
		}
	}
	return false
}

// cool gives back the pages of some empty slabs, and says whether there were any.
func (ks *keyspace) cool(c *cooler, all bool) bool {
	a := &ks.arena
	ks.mu.Lock()
	n := 0
	for limit := a.warmLimit(all); n < coolBatch && a.nWarm > limit && !a.gone; n++ {
		c.ids[n] = a.takeWarm()
		c.ranges[n] = memoryRange{a.at(ref(c.ids[n] << slabShift)), slabBytes}
	}
	a.cooling += n
	ks.mu.Unlock()
	if n == 0 {
		return false
	}
	a.pool.release(c.ranges[:n])
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if a.cooling -= n; a.gone {
		a.giveChunks() // the flush left that to us
		return true
	}
	a.hold(-int64(n) * slabBytes)
	for _, id := range c.ids[:n] {
		a.link(&a.cold, id)
	}
	return true
}

// Coolable says whether Cool has something to do.
func (s *Store) Coolable() bool { return s.pool.coolable.Load() || s.pool.mapped.Load() > 0 }

// cooler is where the last Cool ended.
type cooler struct {
	mu        sync.Mutex
	closed    bool
	shard, db int
	ids       [coolBatch]uint32
	ranges    [coolBatch]memoryRange
}

// close makes Cool do nothing from now on.
func (c *cooler) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
}
