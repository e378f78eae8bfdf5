package server

import (
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
)

// CompactionRules say when sparse memory is compacted, and how much of a
// processor that may take: activedefrag and the active-defrag directives.
type CompactionRules struct {
	Enabled      bool
	IgnoreBytes  int64 // waste below which nothing begins
	LowerPercent int   // waste of what is live at which it begins, with MinShare
	UpperPercent int   // and from which on it gets MaxShare
	MinShare     int   // percent of a processor
	MaxShare     int
}

// compactor runs compaction between ticks: short slices with pauses, so that
// requests wait no longer than for a few of themselves. All but the atomics
// belong to whoever runs the tick.
type compactor struct {
	running   bool
	purging   bool  // the round takes all it can get
	share     int64 // percent of a processor
	restMilli int64 // T before which no round begins
	tickMilli int64 // T of the next whole tick
	beganNano int64

	cooling    atomic.Bool                      // a goroutine gives pages back
	purge      atomic.Bool                      // MEMORY PURGE was asked for
	shown      atomic.Int64                     // share while running, for INFO
	totalNano  atomic.Int64                     // of rounds that ended
	roundStart atomic.Int64                     // beganNano of the present one, 0 for none
	counted    atomic.Pointer[shard.Compaction] // what CONFIG RESETSTAT took away
}

const (
	compactCost      = 2500 // of one step under a lock: about 25 µs
	compactSliceNano = 100 * int64(time.Microsecond)
	compactMaxSteps  = 64   // of a slice, should the clock stand still
	compactRestMilli = 1000 // after a round that found nothing to move
)

// purgeMemory makes the next round take what there is to gain, however little.
func (s *Server) purgeMemory() {
	s.trim.droppedBytes.Add(trimBytes + s.requests.drop())
	s.compactor.purge.Store(true)
}

// compactDue begins a round when there is waste enough, at each whole tick.
func (s *Server) compactDue(ex *executor) {
	c, r := &s.compactor, &ex.tun.Compaction
	s.coolMemory(false)
	if c.running {
		return
	}
	waste, live := s.eng.Store.Waste()
	if c.purge.CompareAndSwap(true, false) {
		c.purging = true
	} else if !r.Enabled && !s.eng.Store.Compacting() || ex.nowMilli < c.restMilli ||
		waste < max(r.IgnoreBytes, 1) || waste*100 < live*int64(r.LowerPercent) {
		return
	}
	c.running = true
	c.beganNano = s.eng.Clock.MonoNano()
	c.roundStart.Store(max(c.beganNano, 1))
}

// coolMemory gives pages that nobody needs back to the system, beside the loops:
// a system call for it can take a millisecond.
func (s *Server) coolMemory(all bool) {
	c, store := &s.compactor, s.eng.Store
	if !all && !store.Coolable() || !c.cooling.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer c.cooling.Store(false)
		for store.Cool(all) {
		}
	}()
}

// shareFor is the part of a processor for a waste, between the two bounds.
func (r *CompactionRules) shareFor(waste, live int64) int64 {
	lowest, most := int64(max(r.MinShare, 1)), int64(max(r.MaxShare, r.MinShare, 1))
	above := waste*100/max(live, 1) - int64(r.LowerPercent)
	span := int64(max(r.UpperPercent-r.LowerPercent, 1))
	return lowest + (most-lowest)*min(max(above, 0), span)/span
}

// compact does one slice of a round and returns after how many milliseconds
// the next is due, 0 for none.
func (s *Server) compact(ex *executor) int {
	c, r := &s.compactor, &ex.tun.Compaction
	if !c.running {
		return 0
	}
	store := s.eng.Store
	waste, live := store.Waste()
	c.share = min(r.shareFor(waste, live), 99)
	if c.purging {
		c.share = int64(max(r.MaxShare, 1))
	}
	c.shown.Store(c.share)
	o := shard.CompactOptions{MinWastePercent: (r.LowerPercent + 1) / 2, Purge: c.purging}
	if c.purging {
		o.MinWastePercent = 0
	}
	// A pause is a millisecond at least, so a larger share takes longer slices.
	slice := max(compactSliceNano, int64(time.Millisecond)*c.share/(100-c.share))
	began := s.eng.Clock.MonoNano()
	for range compactMaxSteps {
		if !r.Enabled && !c.purging && !store.Compacting() {
			s.endCompaction(ex, false)
			return 0
		}
		wrapped, found := store.CompactStep(compactCost, o)
		if wrapped {
			s.endCompaction(ex, found)
			return 0
		}
		if s.eng.Clock.MonoNano()-began >= slice {
			break
		}
	}
	pause := slice * (100 - c.share) / c.share
	return max(int((pause+int64(time.Millisecond)-1)/int64(time.Millisecond)), 1)
}

func (s *Server) endCompaction(ex *executor, found bool) {
	c := &s.compactor
	s.coolMemory(c.purging)
	c.running, c.purging = false, false
	c.shown.Store(0)
	c.roundStart.Store(0)
	c.totalNano.Add(s.eng.Clock.MonoNano() - c.beganNano)
	if !found {
		c.restMilli = ex.nowMilli + compactRestMilli
	}
}

// reset makes INFO count from here on.
func (c *compactor) reset(so shard.Compaction) {
	c.counted.Store(&so)
	c.totalNano.Store(0)
}

func (s *Server) statsCompaction(st *command.CompactionStats) {
	c, n := &s.compactor, s.eng.Store.Compaction()
	var before shard.Compaction
	if p := c.counted.Load(); p != nil {
		before = *p
	}
	st.Share = c.shown.Load()
	st.Moved, st.Stayed = n.Moved-before.Moved, n.Stayed-before.Stayed
	st.KeysMoved, st.KeysPassed = n.KeysMoved-before.KeysMoved, n.KeysPassed-before.KeysPassed
	st.TotalMilli = c.totalNano.Load() / int64(time.Millisecond)
	if began := c.roundStart.Load(); began != 0 {
		st.RoundMilli = (s.eng.Clock.MonoNano() - began) / int64(time.Millisecond)
	}
}
