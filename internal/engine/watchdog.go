package engine

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/wal"
)

// What a server without other orders takes for Options.SyncReport and
// SyncFatal. A disk that works answers within a second, whatever its load. The
// kernel itself gives a device 30 s for a command and tries again; what takes
// longer than two minutes does not come back, and as long as the process stays,
// nobody else takes over.
const (
	DefaultSyncReport = time.Second
	DefaultSyncFatal  = 2 * time.Minute
)

// watchPeriod is how often the watchdog looks. Bounds are met that exactly.
const watchPeriod = 100 * time.Millisecond

// watchdog reports a write or sync of the log that does not end, and gives up
// when it takes too long. It counts only time that it was awake for itself, so
// that a machine that was suspended, or a process that was stopped, in the
// middle of a sync is no hanging disk.
type watchdog struct {
	reportNano, fatalNano atomic.Int64

	logf  func(format string, args ...any)
	fatal func(err error)

	sinceNano    int64 // when what hangs began, on the log's clock; 0: nothing does
	lookedNano   int64 // when it was looked at last
	hungNano     int64 // for how long it has been seen to hang
	reportedNano int64 // hungNano at the last report
	gaveUp       bool
}

// SetSyncBounds changes Options.SyncReport and SyncFatal; safe from any
// goroutine.
func (e *Engine) SetSyncBounds(report, fatal time.Duration) {
	e.watch.reportNano.Store(int64(report))
	e.watch.fatalNano.Store(int64(fatal))
}

// startWatch runs the watchdog until stop is called.
func (e *Engine) startWatch(log *wal.Log) (stop func()) {
	ticks, stopTicks := clock.NewTicker(watchPeriod)
	ended := make(chan struct{})
	e.background.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-ticks:
				e.watch.look(log.WritingSinceNano(), e.Clock.MonoNano())
			}
		}
	})
	return func() {
		stopTicks()
		close(ended)
	}
}

// look is told since when something is being written, 0 for nothing.
func (w *watchdog) look(sinceNano, nowNano int64) {
	if sinceNano != w.sinceNano {
		if w.reportedNano > 0 {
			w.logf("The log's disk answers again, after %d ms", w.hungNano/1e6)
		}
		w.sinceNano, w.hungNano, w.reportedNano = sinceNano, 0, 0
		w.lookedNano = max(sinceNano, w.lookedNano)
	}
	awake := min(nowNano-w.lookedNano, 2*int64(watchPeriod))
	w.lookedNano = nowNano
	if sinceNano == 0 {
		return
	}
	w.hungNano += max(awake, 0)
	if bound := w.fatalNano.Load(); bound > 0 && w.hungNano >= bound && !w.gaveUp {
		w.gaveUp = true
		err := fmt.Errorf("a write or sync of the log has been hanging for %d ms, the bound is %d ms: the disk is given up",
			w.hungNano/1e6, bound/1e6)
		w.logf("%v", err)
		if w.fatal != nil {
			w.fatal(err)
		}
		return
	}
	// Once, then each time it took twice as long.
	if bound := w.reportNano.Load(); bound > 0 && w.hungNano >= max(bound, 2*w.reportedNano) {
		w.reportedNano = w.hungNano
		w.logf("The log's disk does not answer: a write or sync has been under way for %d ms; replies that depend on it wait",
			w.hungNano/1e6)
	}
}
