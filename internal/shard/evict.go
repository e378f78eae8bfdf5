package shard

import "github.com/hapaxkv/hapax/internal/op"

// EvictionPolicy is maxmemory-policy.
type EvictionPolicy uint8

const (
	NoEviction EvictionPolicy = iota
	AllKeysLRU
	VolatileLRU
	AllKeysLFU
	VolatileLFU
	AllKeysRandom
	VolatileRandom
	VolatileTTL
)

func isLFU(p EvictionPolicy) bool { return p == AllKeysLFU || p == VolatileLFU }

func (p EvictionPolicy) volatile() bool {
	switch p {
	case VolatileLRU, VolatileLFU, VolatileRandom, VolatileTTL:
		return true
	}
	return false
}

// SetEvictionPolicy also chooses whether access clocks count LRU or LFU.
// Clocks that the other kind left are read as they are, as in Redis.
func (s *Store) SetEvictionPolicy(p EvictionPolicy) { s.policy.Store(uint32(p)) }

const (
	evictSamples = 10 // candidates that one eviction compares
	evictTries   = 16 // shards that it tries while others empty them
)

// Evict removes one sampled key by the policy (op Delete) and returns the
// bytes freed, false when there is none to evict. Call between Begin and End
// without locks held. rnd drives sampling.
func (tx *Tx) Evict(rnd uint64) (int64, bool) {
	policy := EvictionPolicy(tx.store.policy.Load())
	if policy == NoEviction {
		return 0, false
	}
	db := tx.db
	defer func() { tx.db = db }()
	for range evictTries {
		sh, db := tx.pickVictims(&rnd, policy.volatile())
		if sh == nil {
			return 0, false
		}
		tx.db = db
		tx.lockOne(sh)
		before := sh.counters.entryBytes.Load()
		ok := tx.evictFrom(sh, policy, &rnd)
		freed := before - sh.counters.entryBytes.Load()
		tx.unlockOne()
		if ok {
			return freed, true
		}
	}
	return 0, false
}

// pickVictims picks a shard and a database in proportion to the keys that may
// go; nil when there are none.
func (tx *Tx) pickVictims(rnd *uint64, volatile bool) (*shard, int) {
	s := tx.store
	total := uint64(0)
	for i := range s.shards {
		for db := range s.shards[i].dbs {
			total += s.shards[i].candidates(db, volatile)
		}
	}
	if total == 0 {
		return nil, 0
	}
	n := scramble(rnd) % total
	for i := range s.shards {
		for db := range s.shards[i].dbs {
			in := s.shards[i].candidates(db, volatile)
			if n < in {
				return &s.shards[i], db
			}
			n -= in
		}
	}
	return nil, 0 // they went meanwhile
}

func (sh *shard) candidates(db int, volatile bool) uint64 {
	ks := sh.dbs[db].ks.Load()
	if ks == nil {
		return 0
	}
	if volatile {
		return uint64(ks.expires.Load())
	}
	return uint64(ks.keys.Load())
}

// evictFrom removes the worst of a sample from the locked shard. An expired
// key that turns up goes instead, without a record of its own.
func (tx *Tx) evictFrom(sh *shard, policy EvictionPolicy, rnd *uint64) bool {
	ks := sh.dbs[tx.db].ks.Load()
	if ks == nil {
		return false
	}
	samples := evictSamples
	if policy == AllKeysRandom || policy == VolatileRandom {
		samples = 1
	}
	var worst sampled
	worstScore := int64(-1)
	for range samples {
		x, ok := ks.sample(rnd, policy.volatile())
		if !ok {
			break
		}
		deadline := ks.deadlineOf(x.c.e)
		if deadline != 0 && deadline <= tx.now {
			position := position(ks.hashOf(x.c.e))
			tx.at = x.c
			tx.reclaim(ks, x.rec, x.slot, deadline)
			ks.tidy(x.rec, position)
			return true
		}
		if score := tx.score(policy, x.c, deadline); score > worstScore {
			worst, worstScore = x, score
		}
	}
	if worstScore < 0 {
		return false
	}
	key, _ := ks.keyOf(worst.c.e)
	position := position(ks.hashOf(worst.c.e))
	tx.op = op.Op{Code: op.Delete, Key: key}
	lsn := tx.append()
	tx.Writes++
	tx.discard(ks, ks.remove(worst.slot, &worst.c))
	ks.stamp(worst.rec, lsn)
	ks.tidy(worst.rec, position)
	return true
}

// score is how much a key deserves to go, at least 0.
func (tx *Tx) score(policy EvictionPolicy, c cell, deadline int64) int64 {
	switch policy {
	case AllKeysLRU, VolatileLRU:
		return tx.idleSec(clockOf(c.e))
	case AllKeysLFU, VolatileLFU:
		return 255 - int64(tx.frequency(clockOf(c.e)))
	case VolatileTTL:
		return 1<<62 - min(deadline-tx.now, 1<<62)
	}
	return 0
}
