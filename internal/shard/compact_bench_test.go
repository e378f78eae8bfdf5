package shard

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkCompact lets the sizes of a store's values drift, compacts it, and
// reports what a moved entry cost, the longest holding of a lock in processor
// time, and what is mapped for what is live before and after. One operation is
// all of that.
func BenchmarkCompact(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			if testing.Short() && n > 1_000_000 {
				b.Skip("-short")
			}
			dropBenchStores()
			s := NewStore(Options{Shards: 16, Databases: 16, Log: &nullLog{buf: []byte{}}})
			defer s.Close()
			tx := s.NewTx()
			fillDrifting(b, tx, n, 0, 107, 40)
			for range b.N {
				b.StopTimer()
				churn(b, tx, n, n, 107, 40)
				before := wasteRatio(s)
				b.StartTimer()
				worst, spent, steps, moved := compactTimed(s)
				b.ReportMetric(before, "before")
				b.ReportMetric(wasteRatio(s), "after")
				b.ReportMetric(float64(spent)/float64(max(moved, 1)), "cpu-ns/moved")
				b.ReportMetric(float64(moved)/float64(n), "moved/key")
				b.ReportMetric(float64(spent)/float64(steps)/1e3, "mean-us")
				b.ReportMetric(float64(worst)/1e3, "worst-us")
			}
			// What a round costs that finds nothing to do.
			_, spent, _, _ := compactTimed(s)
			b.ReportMetric(float64(spent)/1e3, "idle-us")
		})
	}
}

// compactTimed runs rounds until one finds nothing to move.
func compactTimed(s *Store) (worst, spent, steps, moved int64) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	was := s.Compaction().Moved
	for {
		began := threadNano()
		wrapped, found := s.CompactStep(2500, CompactOptions{MinWastePercent: 5})
		took := threadNano() - began
		worst, spent, steps = max(worst, took), spent+took, steps+1
		if wrapped && !found {
			return worst, spent, steps, s.Compaction().Moved - was
		}
	}
}
