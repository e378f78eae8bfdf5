package engine

import (
	"fmt"
	"path"
	"time"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// syncPeriod is what everysec means.
const syncPeriod = time.Second

// progressStep is how much of a long load goes by between two log lines.
const progressStep = 256 << 20 // bytes

// Recover replays the log into the store and opens it for appending. Call it
// once, before the first transaction.
//
//  1. The log checks and replays its segments, oldest first; each record is
//     decoded and applied without a clock (I2).
//  2. T is raised to the greatest T any frame carried (I10).
//  3. The store gets the log; transactions may begin.
func (e *Engine) Recover() error {
	if !e.opts.Log {
		e.warnIgnoredLog()
		e.Store.SetLog(&e.memory)
		e.loading.Store(false)
		return nil
	}
	startNano := e.Clock.MonoNano()
	var o op.Op
	apply := func(lsn wal.LSN, _ int64, payload []byte) error {
		if e.stopping.Load() {
			return ErrStopped
		}
		if err := op.Decode(payload, &o); err != nil {
			return err
		}
		return e.Store.Apply(lsn, &o)
	}
	tick, stopTick := (<-chan time.Time)(nil), func() {}
	if !e.opts.Inline {
		tick, stopTick = clock.NewTicker(syncPeriod)
	}
	log, report, err := wal.Open(wal.Options{
		FS:           e.opts.FS,
		Dir:          path.Join(e.opts.Dir, walName),
		SegmentBytes: e.opts.SegmentBytes,
		Policy:       e.opts.Policy,
		Logf:         e.opts.Logf,
		Tick:         tick,
		MonoNano:     e.opts.Clock.MonoNano,
		Inline:       e.opts.Inline,
		Salt:         e.opts.Salt,
	}, apply, e.progress())
	if err != nil {
		stopTick()
		return fmt.Errorf("recovery: %w", err)
	}
	e.Clock.Raise(report.LastT)
	e.Store.SetLog(log)
	e.stopTick = stopTick
	e.log.Store(log)
	e.logReport(&report, e.Clock.MonoNano()-startNano)
	e.loading.Store(false)
	return nil
}

// StopRecovery makes a Recover that still reads the log return ErrStopped.
// Nothing was changed on disk then. Safe from any goroutine.
func (e *Engine) StopRecovery() { e.stopping.Store(true) }

// Stopping says whether StopRecovery was called.
func (e *Engine) Stopping() bool { return e.stopping.Load() }

// progress records how far the load is and logs a line per progressStep.
func (e *Engine) progress() func(done, total int64) {
	var logged int64
	return func(done, total int64) {
		e.done.Store(done)
		e.total.Store(total)
		if done-logged >= progressStep {
			logged = done
			e.opts.Logf("Loading the log: %d of %d MB read (%d%%)", done>>20, total>>20, done*100/max(total, 1))
		}
	}
}

func (e *Engine) logReport(r *wal.Report, tookNano int64) {
	e.opts.Logf("Log loaded in %d ms: %d segments, %d frames, %d records, LSN %d to %d",
		tookNano/1e6, r.Segments, r.Frames, r.Records, r.FirstLSN, r.LastLSN)
	if r.CutBytes == 0 {
		return
	}
	saved := "they were all zero"
	if r.CutSavedAs != "" {
		saved = "a copy is in " + r.CutSavedAs
	}
	e.opts.Logf("Log: cut a torn tail of %d bytes, as frames may leave it that were not synced when the last run ended; %s",
		r.CutBytes, saved)
}

// warnIgnoredLog tells an operator who switched appendonly off that data of
// an earlier start stays unread.
func (e *Engine) warnIgnoredLog() {
	if e.opts.FS == nil || e.opts.Dir == "" {
		return
	}
	dir := path.Join(e.opts.Dir, walName)
	if names, err := e.opts.FS.List(dir); err == nil && len(names) > 0 {
		e.opts.Logf("Warning: appendonly is no: the log in %s is neither read nor written", dir)
	}
}
