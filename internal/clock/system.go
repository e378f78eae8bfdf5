package clock

import (
	"sync/atomic"
	"time"
)

// suspicionNano: when wall and runtime monotonic clock drift apart by more
// than this since the last look, the machine may have been suspended.
const suspicionNano = int64(time.Millisecond)

// system reads both clocks with one time.Now, which the kernel answers without
// a system call. The runtime's monotonic clock stands still in suspend, so
// the slow clock that does not is asked only when something moved.
type system struct {
	start     time.Time
	startSlow int64
	lastDrift atomic.Int64
	suspended atomic.Int64
}

// System is the machine's Source.
func System() Source {
	s := &system{start: time.Now(), startSlow: suspendedClockNano()}
	s.lastDrift.Store(s.start.UnixNano())
	return s
}

// Read implements Source.
func (s *system) Read() (wallNano, monoNano int64) {
	now := time.Now()
	wall, mono := now.UnixNano(), int64(now.Sub(s.start))
	drift := wall - mono
	if last := s.lastDrift.Load(); drift-last > suspicionNano || last-drift > suspicionNano {
		s.lookForSuspend()
		s.lastDrift.Store(drift)
	}
	return wall, mono + s.suspended.Load()
}

// lookForSuspend raises suspended to what the slow clock counted more.
func (s *system) lookForSuspend() {
	// The slow clock first: a pause between the two readings then makes the
	// suspend look shorter, and T late instead of early.
	slow := suspendedClockNano() - s.startSlow
	suspended := slow - int64(time.Since(s.start))
	for {
		old := s.suspended.Load()
		if suspended <= old+suspicionNano || s.suspended.CompareAndSwap(old, suspended) {
			return
		}
	}
}

// NewTicker delivers about every period until stop is called. A receiver that
// is late misses ticks, they do not pile up.
func NewTicker(period time.Duration) (ticks <-chan time.Time, stop func()) {
	t := time.NewTicker(period)
	return t.C, t.Stop
}
