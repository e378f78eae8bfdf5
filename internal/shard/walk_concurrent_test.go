package shard

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/wal"
)

// Walks beside writers on other goroutines, who also flush, swap and expire:
// what each of them took is the store as of its last piece, which is what the
// records up to there make of nothing.
func TestWalkBesideWriters(t *testing.T) {
	for _, shards := range []int{1, 4, 16} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			const databases, workers, walks = 2, 3, 4
			s, l := newTestStore(t, shards, databases)
			var done atomic.Bool
			var wg sync.WaitGroup
			defer func() { done.Store(true); wg.Wait() }()
			for n := range workers {
				wg.Go(func() {
					writeUntil(t, &done, s, newRand(uint64(n)))
				})
			}
			var all []*taken
			waitFor := func(records wal.LSN) {
				for l.Last() < records {
					runtime.Gosched()
				}
			}
			for range walks {
				waitFor(l.Last() + 1000)
				k := &taken{secrets: secrets}
				for w := s.NewWalk(); k.next(t, w, 1000); {
					waitFor(l.Last() + 1) // a walk alone shows nothing
				}
				all = append(all, k)
			}
			for after := l.Last(); l.Last() == after; {
				runtime.Gosched()
			}
			done.Store(true)
			wg.Wait()
			require.NoError(t, s.Check())
			for _, k := range all {
				require.NotEqual(t, l.units[k.last()-1], l.units[k.last()], "the snapshot ends within an atomic run")
				upTo := &memLog{records: l.records[:k.last()]}
				want := replay(t, upTo, 2, databases)
				got := k.load(t, l, 2, databases)
				defer got.Close()
				for db := range databases {
					// Walk and replay differ in what had expired and was reclaimed.
					now := start + writerSpanMilli
					requireSame(t, contents(want, db, now), contents(got, db, now), fmt.Sprint("database ", db))
				}
			}
		})
	}
}

// writerSpanMilli is more than the T of writeUntil ever moves on.
const writerSpanMilli = 1 << 40

// writeUntil does what clients do until done: among few keys, so that they
// meet, many of them in one slot.
func writeUntil(t *testing.T, done *atomic.Bool, s *Store, rnd interface{ IntN(int) int }) {
	tx := s.NewTx()
	for now := start; !done.Load(); now++ {
		db := rnd.IntN(2)
		switch n := rnd.IntN(400); n {
		case 0:
			withAll(tx, now, db, tx.FlushDB)
			continue
		case 1:
			withAll(tx, now, db, func() { tx.Swap(0, 1) })
			continue
		case 2:
			withAll(tx, now, db, tx.FlushAll)
			continue
		case 13, 14, 15, 16, 17, 18, 19, 20:
			s.compaction.shove(s, func() uint32 { return uint32(rnd.IntN(1 << 30)) })
			s.CompactStep(rnd.IntN(2000), CompactOptions{})
			s.Cool(n == 13)
			continue
		case 3, 4, 5, 6:
			tx.Begin(now, db)
			tx.ExpireStep(100)
			tx.End()
			continue
		case 7, 8, 9, 10, 11, 12:
			keys := make([]Key, 8)
			for i := range keys {
				keys[i] = MakeKey(fmt.Append(nil, "k", rnd.IntN(150)))
			}
			tx.Begin(now, db)
			tx.LockKeys(keys)
			tx.Atomic()
			for i := range keys {
				if err := tx.Put(&keys[i], Value{Bytes: []byte("together")}); err != nil {
					t.Error(err)
				}
				runtime.Gosched()
			}
			tx.End()
			continue
		}
		key := fmt.Sprint("k", rnd.IntN(150))
		if rnd.IntN(2) == 0 {
			key = fmt.Sprint("{tag}", rnd.IntN(150))
		}
		with(tx, now, db, key, func(k *Key) {
			var err error
			switch rnd.IntN(8) {
			case 0, 1:
				tx.Delete(k)
			case 2, 3:
				_, err = tx.Splice(k, rnd.IntN(9), []byte(fmt.Sprint(now)))
			case 4:
				tx.SetDeadline(k, start+2*writerSpanMilli)
			case 5:
				err = tx.Put(k, Value{Bytes: []byte("short-lived"), DeadlineMilli: now + int64(rnd.IntN(50))})
			default:
				err = tx.Put(k, Value{Bytes: make([]byte, rnd.IntN(200))})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}
