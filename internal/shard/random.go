package shard

// Bounds of Random when it meets expired keys only: what it samples, and what
// it then walks over.
const (
	randomTries = 128
	randomWalk  = 100_000
)

// Random returns a live key picked with rnd, borrowed until End. LockAll first.
// Expired keys that it meets are reclaimed. When all but a handful in a
// hundred thousand are expired it may find none; the expiry walk ends that.
func (tx *Tx) Random(rnd uint64) ([]byte, bool) {
	for range randomTries {
		ks := tx.pickShard(&rnd)
		if ks == nil {
			break
		}
		x, ok := ks.sample(&rnd, false)
		if !ok {
			break
		}
		tx.see(x.rec.lsn)
		e := ks.parse(x.c.e)
		if deadline := e.deadline(); deadline == 0 || deadline > tx.now {
			return e.key, true
		}
		position := position(ks.hashOf(x.c.e))
		tx.at = x.c
		tx.reclaim(ks, x.rec, x.slot, e.deadline())
		ks.tidy(x.rec, position)
	}
	return tx.walkForLive(rnd)
}

// pickShard picks a shard of the selected database in proportion to its keys;
// nil when there are none.
func (tx *Tx) pickShard(rnd *uint64) *keyspace {
	s := tx.store
	total := uint64(0)
	for i := range s.shards {
		d := &s.shards[i].dbs[tx.db]
		tx.see(d.lsn)
		if ks := d.ks.Load(); ks != nil {
			total += uint64(ks.keys.Load())
		}
	}
	if total == 0 {
		return nil
	}
	n := scramble(rnd) % total
	for i := range s.shards {
		ks := s.shards[i].dbs[tx.db].ks.Load()
		if ks == nil {
			continue
		}
		if in := uint64(ks.keys.Load()); n >= in {
			n -= in
			continue
		}
		return ks
	}
	return nil
}

// walkForLive looks for a live key from a random slot on. That there is none
// depends on every slot (I5).
func (tx *Tx) walkForLive(rnd uint64) (key []byte, ok bool) {
	s := tx.store
	slots := len(s.shards) << s.shift
	first := int(rnd % uint64(slots))
	w := scan{tx: tx, count: randomWalk, buckets: randomWalk}
	w.emit = func(k []byte, _ Value) {
		key, ok = k, true
		w.count = 0
	}
	for _, from := range []int{first, 0} {
		for at := from; at < slots && !w.done(); {
			at, _ = w.shard(s.shardOf(uint16(at)), at, 0)
		}
	}
	return key, ok
}
