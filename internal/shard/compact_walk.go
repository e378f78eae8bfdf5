package shard

import "unsafe"

// walk moves what is leaving, bucket by bucket, and says whether it came to
// the end or nothing is leaving any more.
func (c *compaction) walk(budget int) (cost int, done bool) {
	ks := c.ks
	for cost < budget {
		if c.slot >= len(ks.recs) || ks.arena.nLeave == 0 && ks.big.nLeave == 0 {
			return cost, true
		}
		if c.slot%groupSlots == 0 && c.position == 0 && ks.groups[c.slot/groupSlots].keys == 0 {
			c.slot += groupSlots
			cost += skipSlotsCost
			continue
		}
		rec := &ks.recs[c.slot]
		if rec.word == 0 {
			c.slot, c.position = c.slot+1, 0
			cost += skipSlotsCost
			continue
		}
		cost += c.moveBucket(rec)
		if c.position == slotEnd {
			c.slot, c.position = c.slot+1, 0
		}
	}
	return cost, false
}

// moveBucket moves what is leaving in the bucket at c.position, and before a
// segment's first bucket the segment and the nodes above it.
func (c *compaction) moveBucket(rec *slotRec) (cost int) {
	ks, at := c.ks, uint32(c.position)
	leaf := ks.leaf(rec.word, at)
	if start, _ := leaf.bounds(at); start == c.position {
		leaf, cost = c.moveIndex(rec, at)
	}
	b := bucketAt(ks.arena.at(leaf.ref()), leaf.home(c.position<<32))
	cost += bucketCost
	c.position = leaf.next(at)

	var moves [bucketCells]bool
	n := c.choices(b, &moves)
	if n == 0 {
		return cost
	}
	cost += touchedCost
	ks.warm(b)
	for i := range bucketCells {
		if r := refIn(b, i); moves[i] {
			cost += c.moveEntry(r)
		}
	}
	return cost
}

// choices are the cells of b whose entries may have to move, and how many: all
// of them where big values do, which only their entries tell.
func (c *compaction) choices(b unsafe.Pointer, moves *[bucketCells]bool) (n int) {
	ks := c.ks
	all := ks.big.nLeave > 0
	for i := range bucketCells {
		r := *refIn(b, i)
		if r == 0 {
			continue
		}
		if all || ks.arena.isLeaving(r) {
			moves[i] = true
			n++
		} else {
			c.tally.keysPassed++
		}
	}
	return n
}

func (a *arena) isLeaving(r ref) bool { return a.slab(uint32(r)>>slabShift).prev == leaving }

// moveEntry moves the entry that r refers to, and its big blocks.
func (c *compaction) moveEntry(r *ref) (cost int) {
	ks, before := c.ks, c.tally.moved
	if ks.arena.isLeaving(*r) {
		to, bytes := c.moveBlock(*r)
		*r = to
		cost = moveCost + bytes/bytesPerCost
	}
	if ks.big.nLeave > 0 {
		cost += c.moveBig(ks.arena.at(*r))
	}
	if c.tally.moved > before {
		c.tally.keysMoved++
	} else {
		c.tally.keysPassed++
	}
	return cost
}

// moveBlock copies a block of the arena and frees it; without memory it stays.
func (c *compaction) moveBlock(from ref) (to ref, bytes int) {
	a := &c.ks.arena
	units := a.units(from)
	to, ok := a.alloc(units)
	if !ok {
		c.tally.stayed++
		return from, 0
	}
	bytes = units * unitBytes
	copy(unsafe.Slice((*byte)(a.at(to)), bytes), unsafe.Slice((*byte)(a.at(from)), bytes))
	a.release(from)
	c.tally.moved++
	return to, bytes
}

// moveIndex moves the nodes on the way to position and the segment there, as
// far as they are leaving, and returns the segment's word. An unlocked
// prefetch finds the old or the new: both are whole when a word refers to
// them, and what it reads of freed ones it does not believe.
func (c *compaction) moveIndex(rec *slotRec, position uint32) (leaf word, cost int) {
	ks := c.ks
	t := trail{at: &rec.word}
	for at := t.at; ; {
		w := *at
		moved := false
		if ks.arena.isLeaving(w.ref()) {
			to, bytes := c.moveBlock(w.ref())
			w = w.at(to)
			cost += moveCost + bytes/bytesPerCost
			moved = bytes > 0
		}
		if !w.isNode() {
			if moved {
				ks.hang(&t, position, w)
			}
			return w, cost
		}
		if moved {
			at.store(w)
		}
		t.node, t.at = w, at
		at = ks.nodeAt(w, w.child(position))
	}
}

// at is w with its segment or node in another place.
func (w word) at(r ref) word { return w&^(1<<32-1) | word(r) }
