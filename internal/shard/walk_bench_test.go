package shard

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

// BenchmarkWalk visits a whole store per operation and reports the longest
// holding of a lock, in processor time.
func BenchmarkWalk(b *testing.B) {
	walk := func(b *testing.B, s *Store, n int) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		worst, spent, pieces := int64(0), int64(0), 0
		buf := make([]byte, 0, 1<<20)
		for range b.N {
			w := s.NewWalk()
			locked := int64(0)
			w.OnLock = func() { locked = threadNano() }
			for {
				buf = buf[:0]
				_, more := w.Next(64<<10, func(db int, key []byte, v Value) {
					buf = op.Append(buf, &op.Op{Code: op.Put, DB: db, DeadlineMilli: v.DeadlineMilli, Key: key, Value: v.Bytes})
				})
				if !more {
					break
				}
				held := threadNano() - locked
				worst, spent, pieces = max(worst, held), spent+held, pieces+1
			}
		}
		b.ReportMetric(float64(spent)/float64(b.N*n), "cpu-ns/key")
		b.ReportMetric(float64(worst)/1e3, "worst-us")
		b.ReportMetric(float64(pieces)/float64(b.N), "pieces")
	}
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("-short")
			}
			walk(b, benchStore(b, n, 107, start+1e9), n)
		})
	}
	b.Run("1000000 in one slot", func(b *testing.B) {
		dropBenchStores()
		s := NewStore(Options{Shards: 1, Databases: 16, Log: &nullLog{buf: []byte{}}})
		defer s.Close()
		tx := s.NewTx()
		for i := range 1_000_000 {
			set(b, tx, start, fmt.Sprintf("{tag}%d", i), string(make([]byte, 107)), 0)
		}
		b.ResetTimer()
		walk(b, s, 1_000_000)
	})
}

// encodedBlocks is a walk's yield, in blocks as a snapshot's reader has them.
func encodedBlocks(s *Store, blockBytes int) (blocks [][]byte) {
	var block, one []byte
	w := s.NewWalk()
	for {
		_, more := w.Next(64<<10, func(db int, key []byte, v Value) {
			one = op.Append(one[:0], &op.Op{Code: op.Put, DB: db, DeadlineMilli: v.DeadlineMilli, Key: key, Value: v.Bytes})
			block = append(binary.AppendUvarint(block, uint64(len(one))), one...)
		})
		if !more || len(block) >= blockBytes {
			blocks = append(blocks, block)
			block = make([]byte, 0, blockBytes+blockBytes/2)
		}
		if !more {
			return blocks
		}
	}
}

// BenchmarkLoad decodes and inserts a whole walk per operation.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1_000_000, 10_000_000} {
		for _, c := range []struct {
			name       string
			valueBytes int
			deadline   int64
		}{{"107+deadline", 107, start + 1e9}, {"32", 32, 0}} {
			if testing.Short() && n > 1_000_000 {
				continue
			}
			blocks := encodedBlocks(benchStore(b, n, c.valueBytes, c.deadline), 256<<10)
			dropBenchStores()
			for _, workers := range []int{1, 2} {
				for _, shards := range []int{1, 16} {
					b.Run(fmt.Sprint(n, " ", c.name, " workers ", workers, " shards ", shards), func(b *testing.B) {
						spent := int64(0)
						for range b.N {
							spent += benchLoad(b, blocks, workers, shards, n)
						}
						b.ReportMetric(float64(spent)/float64(b.N*n), "cpu-ns/key")
					})
				}
			}
		}
	}
}

// benchLoad returns the processor time of all workers.
func benchLoad(b *testing.B, blocks [][]byte, workers, shards, n int) int64 {
	s := NewStore(Options{Shards: shards, Databases: 16}) // no log yet: as in recovery
	defer s.Close()
	ld := s.NewLoader(secrets)
	var wg sync.WaitGroup
	var spent atomic.Int64
	for i := range workers {
		wg.Go(func() {
			runtime.LockOSThread()
			began := threadNano()
			defer func() { spent.Add(threadNano() - began) }()
			var ops []op.Op
			for _, block := range blocks[i*len(blocks)/workers : (i+1)*len(blocks)/workers] {
				ops = ops[:0]
				for len(block) > 0 {
					size, width := binary.Uvarint(block)
					ops = append(ops, op.Op{})
					if err := op.Decode(block[width:width+int(size)], &ops[len(ops)-1]); err != nil {
						b.Error(err)
					}
					block = block[width+int(size):]
				}
				if err := ld.Insert(ops); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	require.Equal(b, int64(n), s.DBStats(0).Keys)
	b.StartTimer()
	return spent.Load()
}
