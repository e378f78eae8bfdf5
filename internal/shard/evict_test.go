package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

func evict(tx *Tx, now int64, rnd uint64) (int64, bool) {
	tx.Begin(now, 0)
	defer tx.End()
	return tx.Evict(rnd)
}

// Each policy takes mostly the keys it should: of 1000 keys half are worse by
// its measure, and 300 evictions take few of the others.
func TestEvictionPolicies(t *testing.T) {
	const keys, evictions = 1000, 300
	for _, c := range []struct {
		name     string
		policy   EvictionPolicy
		mistakes int // of 300 evictions
		// good and bad are what keys get: a deadline, and what happens to them.
		good, bad func(t *testing.T, tx *Tx, key string)
	}{
		{"allkeys-lru", AllKeysLRU, 10,
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", 0); get(tx, start+900_000, key) },
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", 0) }},
		{"volatile-lru", VolatileLRU, 10,
			func(t *testing.T, tx *Tx, key string) {
				set(t, tx, start, key, "v", start+1e9)
				get(tx, start+900_000, key)
			},
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", start+1e9) }},
		{"allkeys-lfu", AllKeysLFU, 10,
			func(t *testing.T, tx *Tx, key string) {
				set(t, tx, start, key, "v", 0)
				for range 50 {
					get(tx, start, key)
				}
			},
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", 0) }},
		{"volatile-lfu", VolatileLFU, 10,
			func(t *testing.T, tx *Tx, key string) {
				set(t, tx, start, key, "v", start+1e9)
				for range 50 {
					get(tx, start, key)
				}
			},
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", start+1e9) }},
		{"volatile-ttl", VolatileTTL, 10,
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", start+2e9) },
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", start+1e9) }},
		{"volatile-random", VolatileRandom, 0,
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", 0) },
			func(t *testing.T, tx *Tx, key string) { set(t, tx, start, key, "v", start+1e9) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := newTestStore(t, 4, 2)
			s.SetEvictionPolicy(c.policy)
			tx := s.NewTx()
			for i := range keys {
				if i%2 == 0 {
					c.good(t, tx, fmt.Sprint("good", i))
				} else {
					c.bad(t, tx, fmt.Sprint("bad", i))
				}
			}
			now := start + 1_000_000
			if isLFU(c.policy) {
				now = start + 1000 // before the counters decay
			}
			rnd := newRand(1)
			before, records := s.UsedBytes(), len(l.records)
			freed := int64(0)
			for range evictions {
				n, ok := evict(tx, now, rnd.Uint64())
				require.True(t, ok)
				require.Positive(t, n)
				freed += n
			}
			require.LessOrEqual(t, s.UsedBytes(), before-freed)
			for _, code := range l.codes(t)[records:] {
				require.Equal(t, op.Delete, code)
			}
			left := dump(tx, now, 0)
			require.Len(t, left, keys-evictions)
			good := 0
			for key := range left {
				if key[:4] == "good" {
					good++
				}
			}
			require.LessOrEqual(t, keys/2-good, c.mistakes)
		})
	}
}

// Eviction goes on until nothing is left that the policy may take, and the
// replayed log agrees.
func TestEvictToTheEnd(t *testing.T) {
	for _, policy := range []EvictionPolicy{NoEviction, AllKeysLRU, AllKeysLFU, AllKeysRandom, VolatileLRU, VolatileLFU, VolatileRandom, VolatileTTL} {
		s, l := newTestStore(t, 4, 3)
		s.SetEvictionPolicy(policy)
		tx := s.NewTx()
		const perDB = 200
		for i := range 3 * perDB {
			deadline := int64(0)
			if i%5 == 0 {
				deadline = start + 1e6
			}
			with(tx, start, i%3, fmt.Sprint("{same}", i), func(k *Key) {
				require.NoError(t, tx.Put(k, Value{Bytes: make([]byte, i*10), DeadlineMilli: deadline}))
			})
		}
		evicted := 0
		for rnd := newRand(2); ; evicted++ {
			if _, ok := evict(tx, start, rnd.Uint64()); !ok {
				break
			}
		}
		switch {
		case policy == NoEviction:
			require.Zero(t, evicted)
		case policy.volatile():
			require.Equal(t, 3*perDB/5, evicted)
		default:
			require.Equal(t, 3*perDB, evicted)
			require.Zero(t, s.Memory().EntryBytes)
		}
		again := replay(t, l, 4, 3)
		again.SetLog(newMemLog())
		for db := range 3 {
			requireSame(t, dump(tx, start, db), dump(again.NewTx(), start, db), "replayed")
		}
	}
}

// An expired key goes before any live one, without a Delete.
func TestEvictTakesExpiredFirst(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	s.SetEvictionPolicy(AllKeysLRU)
	tx := s.NewTx()
	set(t, tx, start, "{t}expired", "v", start+1)
	set(t, tx, start, "{t}live", "v", 0)
	_, ok := evict(tx, start+10, 1)
	require.True(t, ok)
	require.Equal(t, []op.Code{op.Put, op.Put, op.Tick}, l.codes(t))
	require.Contains(t, dump(tx, start+10, 0), "{t}live")
}

// OBJECT IDLETIME and FREQ: clocks move with access, not with Peek or NoTouch,
// and a key that recovery brought counts from the start of service.
func TestAccess(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	tx := s.NewTx()
	access := func(tx *Tx, now int64) (a Access) {
		with(tx, now, 0, "k", func(k *Key) {
			var ok bool
			a, ok = tx.Access(k)
			require.True(t, ok)
		})
		return a
	}
	set(t, tx, start, "k", "v", 0)
	require.Equal(t, int64(0), access(tx, start).IdleSec)
	require.Equal(t, int64(60), access(tx, start+60_000).IdleSec)
	with(tx, start+60_000, 0, "k", func(k *Key) { tx.Peek(k) })
	with(tx, start+60_000, 0, "k", func(k *Key) { tx.NoTouch(); tx.Get(k) })
	require.Equal(t, int64(61), access(tx, start+61_000).IdleSec)
	with(tx, start+61_000, 0, "k", func(k *Key) { tx.Touch(k) })
	require.Equal(t, int64(2), access(tx, start+63_000).IdleSec)
	require.False(t, access(tx, start).LFU)
	require.Equal(t, int64(8+bucketBytes), access(tx, start).SizeBytes)

	again := replay(t, l, 1, 1)
	again.SetLog(newMemLog())
	tx = again.NewTx()
	require.Equal(t, int64(0), access(tx, start+1_000_000).IdleSec)
	require.Equal(t, int64(5), access(tx, start+1_005_000).IdleSec)

	s.SetEvictionPolicy(AllKeysLFU)
	tx = s.NewTx()
	set(t, tx, start, "k", "v", 0)
	set(t, tx, start, "fresh", "v", 0)
	with(tx, start, 0, "fresh", func(k *Key) {
		a, _ := tx.Access(k)
		require.True(t, a.LFU)
		require.Equal(t, uint8(lfuFirst), a.Freq)
	})
	for range 1000 {
		get(tx, start, "k")
	}
	hot := access(tx, start).Freq
	require.Greater(t, hot, uint8(lfuFirst))
	set(t, tx, start, "k", "other", 0)
	require.Equal(t, hot, access(tx, start).Freq, "an overwrite keeps the frequency")
	require.Equal(t, hot-3, access(tx, start+3*60_000).Freq, "it falls by one a minute")
}

// Random takes every key with about the same chance, however they are spread
// over slots.
func TestRandomIsFair(t *testing.T) {
	s, l := newTestStore(t, 4, 1)
	l.keep = false
	tx := s.NewTx()
	const keys, draws = 900, 90_000
	for i := range keys {
		key := fmt.Sprint("k", i)
		if i%3 == 0 {
			key = fmt.Sprint("{tag}", i) // a third of all in one slot
		}
		set(t, tx, start, key, "v", 0)
	}
	rnd := newRand(8)
	seen := map[string]int{}
	withAll(tx, start, 0, func() {
		for range draws {
			key, ok := tx.Random(rnd.Uint64())
			require.True(t, ok)
			seen[string(key)]++
		}
	})
	require.Len(t, seen, keys)
	for key, n := range seen {
		// 100 expected, standard deviation 10
		require.Greater(t, n, 40, key)
		require.Less(t, n, 180, key)
	}
}

// Random finds the few live among expired, and ends when there are none.
func TestRandomAmongExpired(t *testing.T) {
	s, l := newTestStore(t, 4, 1)
	l.keep = false
	tx := s.NewTx()
	for i := range 3000 {
		set(t, tx, start, fmt.Sprint("k", i), "v", start+1)
	}
	set(t, tx, start, "live", "v", 0)
	withAll(tx, start+1, 0, func() {
		key, ok := tx.Random(4)
		require.True(t, ok)
		require.Equal(t, "live", string(key))
	})
	with(tx, start+1, 0, "live", func(k *Key) { tx.Delete(k) })
	withAll(tx, start+1, 0, func() {
		_, ok := tx.Random(5)
		require.False(t, ok)
	})
	require.Equal(t, l.Last(), tx.Observed())
}
