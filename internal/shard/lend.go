package shard

// A value in a big block can be lent beyond its Tx: the reply that consists of
// it is written to the socket from where it lies, without a copy. While it is
// lent,
//
//   - it is neither changed (Splice copies it), nor moved (compaction passes
//     it over), nor freed: deleted, replaced, expired or evicted it leaves the
//     index and becomes an orphan, which the last Return frees (I4);
//   - its chunk outlives a flush of the database. The rest of the database
//     does not.
//
// The count is in the block's header, under the shard's lock like everything
// there. So lending and returning each take a lock, which nobody notices
// beside the thousands of bytes that are not copied.

// Lender takes back what it lent, by the token it gave. Safe from any
// goroutine that holds no Tx's lock, before and after Store.Close.
type Lender interface{ Return(token uint64) }

// Lend keeps the bytes of k's value as they are until the lender has them
// back, whatever becomes of the key. A nil lender, when the value is small or
// lent very often: then it has to be copied before End. The caller has just
// read k in this Tx.
func (tx *Tx) Lend(k *Key) (lender Lender, token uint64) {
	if !tx.locate(k) {
		return nil, 0
	}
	ks := tx.ks
	_, value := ks.bigHandles(tx.at.e)
	if value == 0 || !ks.big.pin(value) {
		return nil, 0
	}
	return ks, uint64(value)
}

// Return implements Lender.
func (ks *keyspace) Return(token uint64) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	ks.big.unpin(handle(token))
}

// Lent is what replies hold on to.
type Lent struct {
	Loans       int64 // values lent, those lent twice counted twice
	OrphanBytes int64 // memory of values that are gone but for their replies
}

// Lent is safe from any goroutine.
func (s *Store) Lent() (l Lent) {
	for i := range s.shards {
		c := &s.shards[i].counters
		l.Loans += c.loans.Load()
		l.OrphanBytes += c.orphanBytes.Load()
	}
	return l
}

// pins is how often block h is lent.
func (a *bigArena) pins(h handle) int { return int(*a.word(h, 0) >> bigPinShift) }

// pinned says whether block h is lent beyond the lock, so that it may not move.
func (a *bigArena) pinned(h handle) bool { return a.pins(h) > 0 }

// pin lends block h once more; false when no more can be counted.
func (a *bigArena) pin(h handle) bool {
	if a.pins(h) == bigPinMax {
		return false
	}
	*a.word(h, 0) += 1 << bigPinShift
	a.chunks[h>>handleShift].pins++
	a.c.loans.Add(1)
	return true
}

// unpin takes block h back, and frees it if that was all that kept it.
func (a *bigArena) unpin(h handle) {
	if !a.pinned(h) {
		panic("shard: a value came back that was not lent")
	}
	c := &a.chunks[h>>handleShift]
	*a.word(h, 0) -= 1 << bigPinShift
	c.pins--
	a.c.loans.Add(-1)
	if a.gone {
		if c.pins == 0 {
			a.dropGone(c)
		}
		return
	}
	if w := a.word(h, 0); *w&bigOrphan != 0 && !a.pinned(h) {
		*w &^= bigOrphan
		a.addOrphans(-1, -a.size(h))
		a.release(h)
	}
}

// orphan notes that the entry of block h, which is lent, is gone.
func (a *bigArena) orphan(h handle) {
	*a.word(h, 0) |= bigOrphan
	a.addOrphans(1, a.size(h))
}

func (a *bigArena) addOrphans(blocks int, bytes int64) {
	a.orphans += blocks
	a.orphanBytes += bytes
	a.c.orphanBytes.Add(bytes)
}

// abandon hands all mappings to the pool to be unmapped, but for those of which
// something is lent.
func (a *bigArena) abandon() {
	a.gone = true
	a.hold(-a.held)
	a.addOrphans(-a.orphans, -a.orphanBytes)
	for number := range a.chunks {
		c := &a.chunks[number]
		switch {
		case c.base == nil:
		case c.pins > 0:
			a.holdGone(c.heldBytes())
		default:
			a.pool.doom(c.base, c.sizeBytes)
			*c = bigChunk{}
		}
	}
}

// dropGone lets go of a chunk of an abandoned arena, which nothing of is lent
// any more.
func (a *bigArena) dropGone(c *bigChunk) {
	a.holdGone(-c.heldBytes())
	a.pool.doom(c.base, c.sizeBytes)
	*c = bigChunk{}
}

// holdGone counts memory of an arena that no database has any more.
func (a *bigArena) holdGone(bytes int64) {
	a.hold(bytes)
	a.c.goneBytes.Add(bytes)
	a.c.orphanBytes.Add(bytes)
}

// heldBytes is what a chunk has of the system's memory.
func (c *bigChunk) heldBytes() int64 {
	if c.solo {
		return c.sizeBytes
	}
	return c.live + c.dirty
}
