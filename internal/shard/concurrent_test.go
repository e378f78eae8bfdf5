package shard

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

// Transactions on several goroutines are atomic: money moves between accounts
// of different shards, and at every moment, in every scan under all locks, and
// after every prefix of whole log units, the sum is the same.
func TestConcurrentTransfers(t *testing.T) {
	for _, shards := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			const accounts, workers, balance = 40, 4, 1000
			transfers := 1500
			if testing.Short() {
				transfers = 300
			}
			s, l := newTestStore(t, shards, 2)
			name := func(i int) []byte { return fmt.Appendf(nil, "account%d", i) }
			amount := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
			first := s.NewTx()
			for i := range accounts {
				set(t, first, start, string(name(i)), string(amount(balance)), 0)
			}
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					tx := s.NewTx()
					rnd := newRand(uint64(w))
					for i := range transfers {
						now := start + int64(i)
						a, b := rnd.IntN(accounts), rnd.IntN(accounts)
						if a == b {
							continue
						}
						keys := []Key{MakeKey(name(a)), MakeKey(name(b))}
						tx.Prefetch(0, keys)
						tx.Begin(now, 0)
						tx.LockKeys(keys)
						from, _ := tx.Get(&keys[0])
						to, _ := tx.Get(&keys[1])
						x, y := binary.LittleEndian.Uint64(from.Bytes), binary.LittleEndian.Uint64(to.Bytes)
						if n := rnd.Uint64N(100); n <= x {
							tx.Atomic()
							_ = tx.Put(&keys[0], Value{Bytes: amount(x - n)})
							_ = tx.Put(&keys[1], Value{Bytes: amount(y + n)})
						}
						tx.End()
						// Others come and go meanwhile, in big values and small.
						with(tx, now, 0, fmt.Sprint("other", rnd.IntN(500)), func(k *Key) {
							if rnd.IntN(3) == 0 {
								tx.Delete(k)
							} else {
								_ = tx.Put(k, Value{Bytes: make([]byte, rnd.IntN(6000)), DeadlineMilli: now + 20})
							}
						})
					}
				})
			}
			wg.Go(func() {
				tx := s.NewTx()
				rnd := newRand(99)
				s.SetEvictionPolicy(VolatileTTL)
				for i := range transfers / 5 {
					now := start + int64(i*5)
					sum, n := uint64(0), 0
					withAll(tx, now, 0, func() {
						tx.Scan(0, 1<<30, func(key []byte, v Value) {
							if string(key[:5]) == "accou" {
								sum += binary.LittleEndian.Uint64(v.Bytes)
								n++
							}
						})
					})
					if n != accounts || sum != accounts*balance {
						t.Errorf("%d accounts hold %d", n, sum)
					}
					tx.Begin(now, 0)
					tx.ExpireStep(200)
					tx.Evict(rnd.Uint64())
					tx.End()
					s.compaction.shove(s, rnd.Uint32)
					s.CompactStep(rnd.IntN(3000), CompactOptions{})
					s.Cool(i%4 == 0)
					s.Memory()
					s.DBStats(0)
					if i%50 == 0 {
						withAll(tx, now, 1, tx.FlushDB)
						withAll(tx, now, 1, func() {
							k := MakeKey([]byte("x"))
							_ = tx.Put(&k, Value{Bytes: []byte("x")})
						})
					}
				}
			})
			wg.Wait()
			require.NoError(t, s.Check())

			balances := map[string]uint64{}
			for i, rec := range l.records {
				if i > 0 && l.units[i] != l.units[i-1] && i >= accounts {
					sum := uint64(0)
					for _, n := range balances {
						sum += n
					}
					require.Equal(t, uint64(accounts*balance), sum, "after record %d", i)
				}
				var o op.Op
				require.NoError(t, op.Decode(rec, &o))
				if o.Code == op.Put && len(o.Key) > 5 && string(o.Key[:5]) == "accou" {
					balances[string(o.Key)] = binary.LittleEndian.Uint64(o.Value)
				}
			}
			again := replay(t, l, 2, 2)
			again.SetLog(newMemLog())
			now := start + int64(transfers)
			requireSame(t, dump(first, now, 0), dump(again.NewTx(), now, 0), "replayed")
		})
	}
}
