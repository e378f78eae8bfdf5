package shard

// A cursor is a slot (bits 32..45) and a position in the slot's hash order:
// the walk goes on with the first key at or behind it. Growing, splitting and
// moving change neither a key's slot nor its position, so a key that is there
// all the time is met exactly once.

// scanBucketsPerKey bounds the buckets that a call of Scan visits for every
// key it was asked for, when it finds fewer.
const scanBucketsPerKey = 10

// Scan visits about count entries from cursor (0 starts, returned 0 ends) and
// calls emit for each live one. Every key present throughout a whole scan is
// emitted at least once. It locks by itself, a shard at a time, and no Lock
// call may come before; except LockAll, which makes a whole scan in one Tx see
// one instant, every key once. Keys and values are borrowed for the call of
// emit only. Any cursor is harmless.
func (tx *Tx) Scan(cursor uint64, count int, emit func(key []byte, v Value)) uint64 {
	s := tx.store
	slots := len(s.shards) << s.shift
	w := scan{tx: tx, emit: emit, count: max(count, 1)}
	w.buckets = scanBucketsPerKey * min(w.count, 1<<40)
	slot, position := cursor>>32, uint32(cursor)
	if slot >= uint64(slots) {
		return 0
	}
	for at := int(slot); at < slots; {
		sh := s.shardOf(uint16(at))
		if tx.all {
			at, position = w.shard(sh, at, position)
		} else {
			tx.lockOne(sh)
			at, position = w.shard(sh, at, position)
			tx.unlockOne()
		}
		if w.done() && at < slots {
			return uint64(at)<<32 | uint64(position)
		}
	}
	return 0
}

// scan is one call of Scan.
type scan struct {
	tx             *Tx
	emit           func(key []byte, v Value)
	count, buckets int // still to visit
}

func (w *scan) done() bool { return w.count <= 0 || w.buckets <= 0 }

// shard walks on in one shard, which is locked, until it ends or enough was
// visited, and returns where.
func (w *scan) shard(sh *shard, slot int, position uint32) (int, uint32) {
	d := &sh.dbs[w.tx.db]
	w.tx.see(d.lsn)
	end := sh.first + sh.slots
	ks := d.ks.Load()
	if ks == nil {
		return end, 0
	}
	for slot < end && !w.done() {
		rec := &ks.recs[slot-ks.first]
		// That nothing is here has been observed as well (I5).
		w.tx.see(rec.lsn)
		if rec.word == 0 {
			slot, position = slot+1, 0
			continue
		}
		next := w.bucket(ks, rec, uint16(slot), position)
		if w.tx.see(rec.lsn); next == slotEnd {
			slot, position = slot+1, 0
		} else {
			position = uint32(next)
		}
	}
	return slot, position
}

// bucket visits the keys from position on whose home is the bucket that
// position leads to; they lie there and in the buckets that follow.
func (w *scan) bucket(ks *keyspace, rec *slotRec, slot uint16, position uint32) uint64 {
	leaf := ks.leaf(rec.word, position)
	segment, n := ks.arena.at(leaf.ref()), leaf.buckets()
	home := leaf.home(uint64(position) << 32)
	removed := false
	for i, steps := home, 0; steps < n; steps++ {
		w.buckets--
		b := bucketAt(segment, i)
		ks.warm(b)
		for c := range bucketCells {
			if *tagAt(b, c) == 0 {
				continue
			}
			r := *refIn(b, c)
			e := ks.arena.at(r)
			hash := ks.hashOf(e)
			if hash>>32 < uint64(position) || leaf.home(hash) != home {
				continue
			}
			w.count--
			if w.visit(ks, rec, slot, cell{segment, n, home, i, c, r, e}) {
				removed = true
			}
		}
		if *passed(b) == 0 {
			break
		}
		if i++; i == n {
			i = 0
		}
	}
	next := leaf.next(position)
	if removed {
		ks.tidy(rec, position)
	}
	return next
}

// visit emits a live entry or reclaims an expired one.
func (w *scan) visit(ks *keyspace, rec *slotRec, slot uint16, c cell) (removed bool) {
	x := ks.parse(c.e)
	v := x.asValue()
	if v.DeadlineMilli != 0 && v.DeadlineMilli <= w.tx.now {
		w.tx.at = c
		w.tx.reclaim(ks, rec, slot, v.DeadlineMilli)
		return true
	}
	w.emit(x.key, v)
	return false
}
