package shard

import (
	"sync"
	"sync/atomic"
)

// Compaction gives sparse memory back. When values change size or most keys
// go, the slabs of a block size stay half empty, and no allocation of another
// size can use what is free in them. An entry may move, since only its cell in
// the index refers to it, and so may segments and nodes, which one word refers
// to. One database of one shard at a time goes through four stages, each in
// small steps under the shard's lock:
//
//	counting   how many slabs of each block size there are, and how full
//	marking    the emptiest, as many as the others can take the blocks of,
//	           are leaving: nothing is allocated in them any more
//	unlisting  the same for chunks of big blocks: their free blocks leave the
//	           lists that allocations look in
//	moving     a walk through the index in slot and hash order moves what
//	           lies in leaving slabs; a slab whose last block goes is free
//	returning  the few that did not become free are as before
//
// The walk reads references only: whether one leads to a leaving slab is in
// the table of slabs. So entries that stay are not touched, no key is hashed,
// and where a reference is kept is known without a search. Against a way from
// the slab to the index (a hash, a checksum for the slot and two cache misses
// for each block) it is cheaper as soon as one entry in ten moves; before that
// nothing begins.
//
// Nothing is lent while a step runs: what a Tx lends ends with its hold of the
// lock, and a block that is pinned beyond it does not move.

// CompactOptions say what is worth moving.
type CompactOptions struct {
	// MinWastePercent is how much of a database's memory in one shard has to be
	// gained by a pass over it.
	MinWastePercent int

	Purge bool // take all there is to gain
}

// Compaction counts what was done; safe from any goroutine.
type Compaction struct {
	Moved, Stayed         int64 // blocks that moved, blocks that should have but could not
	KeysMoved, KeysPassed int64 // keys that were moved, keys that a walk found in their place
	Passes                int64 // over a database of a shard
}

type compactCounters struct{ moved, stayed, keysMoved, keysPassed, passes atomic.Int64 }

// Compaction is what CompactStep did so far.
func (s *Store) Compaction() Compaction {
	n := &s.compaction.done
	return Compaction{
		Moved: n.moved.Load(), Stayed: n.stayed.Load(),
		KeysMoved: n.keysMoved.Load(), KeysPassed: n.keysPassed.Load(), Passes: n.passes.Load(),
	}
}

// Costs of a step's parts, in units of about ten nanoseconds.
const (
	slabsPerCost  = 2     // that a sweep looks at
	bucketCost    = 3     // to look through one whose entries stay
	touchedCost   = 20    // when its entries have to be looked at, too
	moveCost      = 12    // for an entry, and
	bytesPerCost  = 64    // of what is copied
	releaseCost   = 30000 // for the pages of half a megabyte
	unlistCost    = 8     // for a block of a leaving chunk
	turnCost      = 200   // for the beginning of a database
	skipSlotsCost = 1
)

type compactStage uint8

const (
	counting compactStage = iota
	marking
	unlisting
	moving
	returning
)

// compaction is where the last CompactStep ended.
type compaction struct {
	mu        sync.Mutex
	shard, db int       // whose turn it is
	ks        *keyspace // that is being compacted; nil before its turn began
	stage     compactStage
	slab      uint32 // next one of a sweep
	slot      int    // next one of the walk, counted from the shard's first
	position  uint64 // in the slot, 0..1<<32
	found     bool   // this round has moved something
	census    *census
	tally     compactTally
	done      compactCounters
}

// compactTally is what a step did.
type compactTally struct{ moved, stayed, keysMoved, keysPassed int64 }

// CompactStep does about cost units of ten nanoseconds of compaction, from
// where the last one ended. wrapped says that it came round all databases, and
// found whether the round had anything to move. It locks by itself, a shard at
// a time. When another goroutine is at it, it does nothing.
func (s *Store) CompactStep(cost int, o CompactOptions) (wrapped, found bool) {
	c := &s.compaction
	if !c.mu.TryLock() {
		return false, false
	}
	defer c.mu.Unlock()
	for cost > 0 {
		sh := &s.shards[c.shard]
		over := true
		if c.ks != nil || sh.dbs[c.db].ks.Load() != nil {
			sh.mu.Lock()
			var spent int
			spent, over = c.work(sh, cost, &o)
			sh.mu.Unlock()
			cost -= spent
		}
		cost--
		if !over {
			continue
		}
		c.ks = nil
		if c.db++; c.db == s.databases {
			c.db = 0
			c.shard = (c.shard + 1) % len(s.shards)
			if c.shard == 0 {
				found, c.found = c.found, false
				c.publish()
				return true, found
			}
		}
	}
	c.publish()
	return false, false
}

// Compacting says whether a pass has begun and not ended. It should be: what
// is free in leaving slabs cannot be used meanwhile.
func (s *Store) Compacting() bool {
	s.compaction.mu.Lock()
	defer s.compaction.mu.Unlock()
	return s.compaction.ks != nil
}

func (c *compaction) publish() {
	c.done.moved.Add(c.tally.moved)
	c.done.stayed.Add(c.tally.stayed)
	c.done.keysMoved.Add(c.tally.keysMoved)
	c.done.keysPassed.Add(c.tally.keysPassed)
	c.tally = compactTally{}
}

// work goes on with one database of sh, which is locked, and says whether its
// turn is over.
func (c *compaction) work(sh *shard, budget int, o *CompactOptions) (cost int, over bool) {
	if c.ks == nil {
		cost = c.begin(sh.dbs[c.db].ks.Load())
	}
	if c.ks == nil || !sh.holds(c.ks) { // it was flushed
		return cost, true
	}
	for cost < budget && !over {
		var spent int
		var done bool
		switch c.stage {
		case counting:
			if spent, done = c.sweep(budget-cost, c.count); done {
				over = !c.choose(o)
				c.stage = marking
			}
		case marking:
			if spent, done = c.sweep(budget-cost, c.mark); done {
				c.stage = unlisting
			}
		case unlisting:
			if spent, done = c.ks.big.unlist(budget - cost); done {
				c.stage = moving
			}
		case moving:
			if spent, done = c.walk(budget - cost); done {
				c.ks.big.giveUp()
				c.stage = returning
			}
		case returning:
			if spent, over = c.sweep(budget-cost, c.giveBack); over {
				c.done.passes.Add(1)
			}
		}
		cost += spent
	}
	return cost, over
}

// begin starts the turn of ks, which may be nil.
func (c *compaction) begin(ks *keyspace) (cost int) {
	c.ks, c.stage, c.slab, c.slot, c.position = ks, counting, 0, 0, 0
	if c.census == nil {
		c.census = new(census)
	}
	*c.census = census{}
	return turnCost
}

// holds says whether ks is still a database of the shard, under whatever
// number.
func (sh *shard) holds(ks *keyspace) bool {
	for db := range sh.dbs {
		if sh.dbs[db].ks.Load() == ks {
			return true
		}
	}
	return false
}

// Waste is how much more memory than what is live may be resident, and what is
// live, both without what flushes left to the pool: what compaction works on.
func (s *Store) Waste() (wasteBytes, liveBytes int64) {
	for i := range s.shards {
		sh := &s.shards[i]
		wasteBytes += sh.counters.mappedBytes.Load()
		liveBytes += sh.counters.entryBytes.Load() + sh.counters.indexBytes.Load()
		for db := range sh.dbs {
			if sh.dbs[db].ks.Load() != nil {
				liveBytes -= int64(sh.slots * slotRecBytes) // on the Go heap
			}
		}
	}
	return max(wasteBytes-liveBytes, 0), max(liveBytes, 0)
}
