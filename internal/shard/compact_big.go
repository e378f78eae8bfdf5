package shard

import "unsafe"

const (
	maxMoveBytes    = 128 << 10 // blocks that are larger stay: copying one would take too long
	maxChunksLeave  = 16        // at a time
	bigWorthBytes   = 1 << 20   // dirty bytes below which chunks stay
	bigRestShare    = 32        // chunks leave until less than this part of what is live is dirty
	bigPoorShare    = 16        // chunks with less than this part of their live bytes dirty stay
	maxRelistBlocks = 512       // blocks of a chunk whose free ones are listed again in one go
)

// choose makes those chunks leave that have the most free bytes with pages for
// what they hold, and says whether any are leaving. Large free runs give their
// pages back when they come about; what is left is between small values.
func (a *bigArena) choose(purge bool) bool {
	a.settled = min(a.settled, a.dirty)
	worth := a.dirty-a.settled > a.live/bigSlackShare+bigWorthBytes
	if purge {
		worth = a.dirty > a.live/bigRestShare+bigWorthBytes || a.empty > 0
	}
	if worth {
		a.dropEmpties()
	}
	for rest := a.dirty; worth && a.nLeave < maxChunksLeave && rest > a.live/bigRestShare; {
		c := a.sparsest()
		if c == nil {
			break
		}
		rest -= c.dirty
		a.leave(c)
	}
	return a.nLeave > 0
}

// dropEmpties lets go of chunks that hold nothing: one stays when values go, for
// those that may come.
func (a *bigArena) dropEmpties() {
	for number := range a.chunks {
		if c := &a.chunks[number]; c.base != nil && !c.solo && c.blocks == 0 {
			h := handle(number)<<handleShift | bigFirst
			a.dropEmpty(h, a.pages(h).size())
		}
	}
}

func (a *bigArena) leave(c *bigChunk) {
	c.leaving, c.unlisted = true, bigFirst
	a.nLeave++
}

// unlist takes free blocks of leaving chunks out of their lists, as far as the
// budget goes, and says whether all are. What is allocated in such a chunk
// until then moves with the rest.
func (a *bigArena) unlist(budget int) (cost int, done bool) {
	if a.nLeave == 0 {
		return 0, true
	}
	for number := range a.chunks {
		c := &a.chunks[number]
		if !c.leaving {
			continue
		}
		for ; c.unlisted < c.sizeBytes-bigFirst; cost += unlistCost {
			if cost >= budget {
				return cost, false
			}
			h := handle(number)<<handleShift | handle(c.unlisted)
			if w := a.word(h, 0); *w&bigFree != 0 {
				a.remove(h)
				*w |= bigUnlisted
			}
			c.unlisted += a.size(h)
		}
	}
	return cost, true
}

// keepUnlisted moves the place where unlist goes on to the beginning of the
// free block h, when that has swallowed the one that began there.
func (c *bigChunk) keepUnlisted(h handle, size int64) {
	offset := int64(h & (1<<handleShift - 1))
	if c.unlisted > offset && c.unlisted < offset+size {
		c.unlisted = offset
	}
}

// sparsest is the chunk with the most dirty bytes for what it holds.
func (a *bigArena) sparsest() (best *bigChunk) {
	for i := range a.chunks {
		c := &a.chunks[i]
		if c.base == nil || c.solo || c.leaving || c.blocks == 0 || c.dirty < c.live/bigPoorShare {
			continue
		}
		if best == nil || float64(c.dirty)*float64(best.live) > float64(best.dirty)*float64(c.live) {
			best = c
		}
	}
	return best
}

// giveUp makes leaving chunks that did not become free ones like others. Those
// with many blocks, which were pinned, go on leaving.
func (a *bigArena) giveUp() {
	if a.nLeave == 0 {
		return
	}
	for number := range a.chunks {
		if c := &a.chunks[number]; c.leaving && c.blocks <= maxRelistBlocks {
			c.leaving = false
			a.nLeave--
			a.relist(number)
		}
	}
	a.settled = a.dirty
}

// relist puts the free blocks of a chunk back into their lists.
func (a *bigArena) relist(number int) {
	h := handle(number)<<handleShift | bigFirst
	for end := h + handle(a.chunks[number].sizeBytes-bigGrain); h < end; h += handle(a.size(h)) {
		if *a.word(h, 0)&bigUnlisted != 0 {
			a.list(h, a.size(h))
		}
	}
}

// moveBig moves the big blocks of entry e out of leaving chunks.
func (c *compaction) moveBig(e unsafe.Pointer) (cost int) {
	flags := flagsOf(e)
	if flags&(flagBigKey|flagBigValue) == 0 {
		return 0
	}
	p := unsafe.Add(e, entryHead)
	n, width := uvarintAt(p)
	p = unsafe.Add(p, width)
	if flags&flagBigKey != 0 {
		cost += c.moveBigBlock(unsafe.Add(p, 8), n, 0)
		n = 8 + handleBytes
	}
	if flags&flagBigValue != 0 {
		p = unsafe.Add(p, n+deadlineBytes(flags))
		n, width = uvarintAt(p)
		slack := 0
		if flags&flagRaw != 0 {
			slack = n / spliceSlack // for the next APPEND
		}
		cost += c.moveBigBlock(unsafe.Add(p, width), n, slack)
	}
	return cost
}

// moveBigBlock moves the block with n bytes whose handle is at p, if its chunk
// is leaving, to one with room for up to slack more, if it had that.
func (c *compaction) moveBigBlock(p unsafe.Pointer, n, slack int) (cost int) {
	a := &c.ks.big
	from := handleAt(p)
	if !a.chunks[from>>handleShift].leaving {
		return 0
	}
	if n > maxMoveBytes || a.pinned(from) {
		c.tally.stayed++
		return 0
	}
	to, ok := a.alloc(min(n+slack, a.capacity(from)))
	if !ok {
		c.tally.stayed++
		return 0
	}
	copy(unsafe.Slice((*byte)(a.payload(to)), n), unsafe.Slice((*byte)(a.payload(from)), n))
	putUint64(p, uint64(to))
	c.ks.addEntry(a.size(to) - a.size(from))
	held := a.held
	a.release(from)
	c.tally.moved++
	return moveCost + n/bytesPerCost + int((held-a.held)/(8*slabBytes))*releaseCost
}
