package shard

import (
	"sync"

	"github.com/hapaxkv/hapax/internal/op"
)

// reclaim removes the expired entry at tx.at, of a key with hash in slot,
// whose deadline is given. The caller calls tidy when it is done with the
// segment.
//
// No Delete is logged: that T passed the deadline says it all. But whoever
// sees that the key is gone must not see it again after a crash and a start
// with a clock behind (I10). So the log has to carry a T at or past the
// deadline: a Tick is appended unless it already does, and the slot's readers
// wait for it like for a write (I5). One Tick serves all that expired by then.
func (tx *Tx) reclaim(ks *keyspace, rec *slotRec, slot uint16, deadline int64) {
	if deadline > tx.log.LastT() {
		tx.op = op.Op{Code: op.Tick}
		tx.append()
	}
	lsn := tx.log.Last() // at or past the record that carried T
	tx.see(lsn)
	ks.stamp(rec, lsn)
	tx.discard(ks, ks.remove(slot, &tx.at))
	tx.Expired++
}

// expiryWalk is where the last ExpireStep ended.
type expiryWalk struct {
	mu       sync.Mutex
	db       int
	slot     int
	position uint64 // in the slot, 0..1<<32
}

// emptySlotsPerBucket is how many slots without deadlines cost a step as much
// as a bucket.
const emptySlotsPerBucket = 16

// ExpireStep reclaims expired entries in at most buckets buckets from where
// the last step ended, locking a shard at a time, and returns how many it
// reclaimed and whether it came round. Call between Begin and End. When another
// goroutine is at it, it does nothing.
func (tx *Tx) ExpireStep(buckets int) (reclaimed int, wrapped bool) {
	s := tx.store
	w := &s.expiry
	if !w.mu.TryLock() {
		return 0, false
	}
	defer w.mu.Unlock()
	before := tx.Expired
	for cost := buckets * emptySlotsPerBucket; cost > 0 && !wrapped; {
		sh := s.shardOf(uint16(w.slot))
		if ks := sh.dbs[w.db].ks.Load(); ks != nil && ks.expires.Load() > 0 {
			tx.lockOne(sh)
			cost -= tx.expireShard(sh, w, cost)
			tx.unlockOne()
		} else {
			w.slot, w.position = sh.first+sh.slots, 0
			cost--
		}
		if w.slot == len(s.shards)<<s.shift {
			w.slot = 0
			if w.db++; w.db >= s.databases {
				w.db, wrapped = 0, true
			}
		}
	}
	return int(tx.Expired - before), wrapped
}

// expireShard walks on in one shard, which is locked, and returns what it
// cost. When it comes to the end, w.slot is the next shard's first.
func (tx *Tx) expireShard(sh *shard, w *expiryWalk, budget int) (cost int) {
	ks := sh.dbs[w.db].ks.Load() // another than before the lock, perhaps
	end := sh.first + sh.slots
	var ttl ttlSample
	for w.slot < end && cost < budget {
		if ks == nil {
			w.slot, w.position = end, 0
			break
		}
		i := w.slot - ks.first
		if i%groupSlots == 0 && w.position == 0 && ks.groups[i/groupSlots].expires == 0 {
			w.slot += min(groupSlots, end-w.slot)
			cost++
			continue
		}
		rec := &ks.recs[i]
		if rec.expires == 0 {
			w.slot, w.position = w.slot+1, 0
			cost++
			continue
		}
		cost += emptySlotsPerBucket
		if w.position = tx.expireBucket(ks, rec, uint16(w.slot), uint32(w.position), &ttl); w.position == slotEnd {
			w.slot, w.position = w.slot+1, 0
		}
	}
	if ks != nil {
		ttl.note(ks)
	}
	return cost
}

// expireBucket reclaims what expired in the bucket that position of a slot
// leads to, and returns the position of the next.
func (tx *Tx) expireBucket(ks *keyspace, rec *slotRec, slot uint16, position uint32, ttl *ttlSample) uint64 {
	leaf := ks.leaf(rec.word, position)
	segment, n := ks.arena.at(leaf.ref()), leaf.buckets()
	index := leaf.home(uint64(position) << 32)
	b := bucketAt(segment, index)
	ks.warm(b)
	removed := false
	for i := range bucketCells {
		if *tagAt(b, i) == 0 {
			continue
		}
		r := *refIn(b, i)
		e := ks.arena.at(r)
		deadline := ks.deadlineOf(e)
		if deadline == 0 {
			continue
		}
		if deadline > tx.now {
			ttl.add(deadline - tx.now)
			continue
		}
		tx.at = cell{segment, n, leaf.home(ks.hashOf(e)), index, i, r, e}
		tx.reclaim(ks, rec, slot, deadline)
		removed = true
	}
	next := leaf.next(position)
	if removed {
		ks.tidy(rec, position)
	}
	return next
}

// ttlSample collects the times to live that a walk meets.
type ttlSample struct{ sumMilli, n int64 }

func (t *ttlSample) add(ttlMilli int64) {
	// An absurd deadline must not overflow the sum.
	t.sumMilli += min(ttlMilli, 1<<44)
	t.n++
}

// note lets a sample move the average by a fiftieth, as Redis does.
func (t *ttlSample) note(ks *keyspace) {
	if t.n == 0 {
		return
	}
	sample := t.sumMilli / t.n
	if avg := ks.avgTTLMilli.Load(); avg != 0 {
		sample = avg - avg/50 + sample/50
	}
	ks.avgTTLMilli.Store(sample)
}
