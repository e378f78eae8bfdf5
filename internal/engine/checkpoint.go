package engine

import (
	"errors"
	"sync"

	"github.com/hapaxkv/hapax/internal/wal"
)

// ErrSnapshotRunning says that a snapshot is under way already.
var ErrSnapshotRunning = errors.New("a snapshot is in progress")

// ErrNotReady says that the store is still loading, or closed.
var ErrNotReady = errors.New("the store is not ready")

// ErrSnapshotCancelled is what a snapshot ends with that CancelSnapshot or Close ended.
var ErrSnapshotCancelled = errors.New("the snapshot was cancelled")

// What Cron names as the cause of a snapshot that started by itself.
const (
	CauseRule   = "save rule"
	CauseGrowth = "log growth"
	CauseDamage = "the newest one is damaged"
	CauseRetry  = "the last one failed"
)

// SaveRule starts a snapshot when Changes writes have gathered for Seconds.
type SaveRule struct {
	Seconds int64
	Changes int64
}

// CheckpointRules say when a snapshot starts by itself. The zero value is never.
type CheckpointRules struct {
	Save []SaveRule
	// A log of at least LogMinBytes behind the last snapshot that is also
	// LogGrowthPercent of that snapshot's size starts one; 0 percent is never.
	LogMinBytes      int64
	LogGrowthPercent int64
}

// SnapshotStatus is for INFO and LASTSAVE.
type SnapshotStatus struct {
	Running       bool
	Cause         string // of the running one
	Started       int64  // how many were begun, the number of the running or last one
	Ended         int64  // how many are over, well or not
	LastErr       error  // of the last that ended, nil when it went well; ErrSnapshotCancelled is no failure
	LastGood      int64  // number of the last that went well
	LastSaveMilli int64  // T of the last good one, or of the start of the process
	LastTookMilli int64  // -1 before the first ended
	RunningMilli  int64  // of the running one
	KeysDone      int64  // of the running one
	KeysTotal     int64  // estimated at its beginning
	Changes       int64  // records since the newest snapshot
	LastSizeBytes int64  // of the newest snapshot
	LastKeys      int64
	MaxPauseMicro int64 // the longest a piece held a shard's lock, of the running or last one
	LogBytes      int64 // of the log behind the newest snapshot
}

// snapshots is what an engine knows of its snapshots. At most one runs.
type snapshots struct {
	mu     sync.Mutex
	rules  CheckpointRules
	run    *run
	closed bool
	status SnapshotStatus // but for what is computed when it is asked for
	ends   []func()

	newest   wal.LSN // what the newest snapshot holds
	soon     string  // cause for one at the next Cron: something is wrong with what is there
	failures int     // of automatic ones, in a row
	retryAt  int64   // T before which none starts by itself
}

// A snapshot that failed is tried again after a pause that doubles, if it had
// started by itself, or there are save rules: with these, writes may be refused
// until one succeeds, and so no rule would ever start one.
const (
	retryFirstMilli = 5_000
	retryMostMilli  = 5 * 60_000
)

// SetCheckpointRules changes the rules; safe from any goroutine.
func (e *Engine) SetCheckpointRules(r CheckpointRules) {
	e.snap.mu.Lock()
	defer e.snap.mu.Unlock()
	e.snap.rules = r
}

// StartSnapshot begins a snapshot in the background and returns its number in
// this process, from 1: it is over when SnapshotStatus().Ended reaches it.
// With Options.Inline nothing runs by itself: StepSnapshot does.
func (e *Engine) StartSnapshot(cause string) (number int64, err error) {
	return e.start(cause, false)
}

func (e *Engine) start(cause string, automatic bool) (number int64, err error) {
	if e.loading.Load() {
		return 0, ErrNotReady
	}
	if err := e.Err(); err != nil {
		return 0, err
	}
	s := &e.snap
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, ErrNotReady
	case s.run != nil:
		return 0, ErrSnapshotRunning
	}
	s.status.Started++
	r := newRun(e, s.status.Started, cause, automatic)
	s.run = r
	s.status.Cause, s.status.KeysTotal = cause, r.keysTotal
	if !e.opts.Inline {
		e.background.Go(func() { r.toEnd() })
	}
	return r.number, nil
}

// CancelSnapshot ends the running one without a result; false when none runs.
// One that is being published already may still succeed.
func (e *Engine) CancelSnapshot() bool {
	r := e.running()
	if r == nil {
		return false
	}
	r.cancelled.Store(true)
	if e.opts.Inline && !r.published {
		r.end(ErrSnapshotCancelled)
	}
	return true
}

// StepSnapshot does one step of the running snapshot: a piece, some records, or
// one change of the directory. done is true when none runs any more. Only with
// Options.Inline.
func (e *Engine) StepSnapshot() (done bool) {
	if r := e.running(); r != nil {
		r.once()
	}
	return e.running() == nil
}

func (e *Engine) running() *run {
	e.snap.mu.Lock()
	defer e.snap.mu.Unlock()
	return e.snap.run
}

// Cron starts what the rules ask for. The server calls it every 100 ms or so.
func (e *Engine) Cron(nowMilli int64) {
	if e.loading.Load() || e.Err() != nil {
		return
	}
	if cause := e.due(nowMilli); cause != "" {
		// Another one that was faster will do as well.
		_, _ = e.start(cause, true)
	}
}

// due is why a snapshot should start now, or "".
func (e *Engine) due(nowMilli int64) string {
	last := e.Last()
	s := &e.snap
	s.mu.Lock()
	defer s.mu.Unlock()
	changes, logBytes := int64(last-min(s.newest, last)), e.logBehind(s.newest)
	if s.run != nil || nowMilli < s.retryAt {
		return ""
	}
	if s.soon != "" {
		return s.soon
	}
	for _, rule := range s.rules.Save {
		if changes >= rule.Changes && changes > 0 && nowMilli-s.status.LastSaveMilli > rule.Seconds*1000 {
			return CauseRule
		}
	}
	enough := max(s.rules.LogMinBytes, s.status.LastSizeBytes/100*s.rules.LogGrowthPercent)
	if s.rules.LogGrowthPercent > 0 && logBytes > 0 && logBytes >= enough {
		return CauseGrowth
	}
	return ""
}

// OnSnapshotEnd registers f to be called, from any goroutine, when a snapshot
// ended. f must not block.
func (e *Engine) OnSnapshotEnd(f func()) {
	e.snap.mu.Lock()
	defer e.snap.mu.Unlock()
	e.snap.ends = append(e.snap.ends, f)
}

// SnapshotStatus is safe from any goroutine.
func (e *Engine) SnapshotStatus() SnapshotStatus {
	last := e.Last()
	s := &e.snap
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Changes = int64(last - min(s.newest, last))
	st.LogBytes = e.logBehind(s.newest)
	if r := s.run; r != nil {
		st.Running = true
		st.RunningMilli = (e.Clock.MonoNano() - r.startNano) / 1e6
		st.KeysDone = r.keysDone.Load()
		st.MaxPauseMicro = r.maxPauseNano.Load() / 1000
	}
	return st
}

// logBehind is about how many bytes of the log come behind record lsn.
func (e *Engine) logBehind(lsn wal.LSN) int64 {
	if l := e.log.Load(); l != nil {
		return l.BytesSince(lsn + 1)
	}
	return 0
}

// ended notes how r ended, makes room for the next, and tells who waits.
func (s *snapshots) ended(r *run, err error) {
	s.mu.Lock()
	s.run = nil
	st := &s.status
	st.Ended, st.LastErr = r.number, err
	st.LastTookMilli = (r.e.Clock.MonoNano() - r.startNano) / 1e6
	st.MaxPauseMicro = r.maxPauseNano.Load() / 1000
	st.Cause, st.KeysTotal = "", 0
	switch {
	case err == nil:
		st.LastGood, st.LastSaveMilli = r.number, r.info.LastT
		st.LastSizeBytes, st.LastKeys = r.info.SizeBytes, r.info.Keys
		s.newest, s.soon = r.info.LastLSN, ""
		s.failures, s.retryAt = 0, 0
	case r.automatic || len(s.rules.Save) > 0 && !errors.Is(err, ErrSnapshotCancelled):
		if s.soon == "" && !errors.Is(err, ErrSnapshotCancelled) {
			s.soon = CauseRetry
		}
		pause := int64(retryMostMilli)
		if s.failures < 10 {
			pause = min(pause, retryFirstMilli<<s.failures)
		}
		s.failures++
		s.retryAt = r.e.Clock.NowMilli() + pause
	}
	ends := s.ends
	s.mu.Unlock()
	for _, f := range ends {
		f()
	}
}
