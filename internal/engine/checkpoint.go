package engine

import "errors"

// ErrSnapshotRunning says that a snapshot is under way already.
var ErrSnapshotRunning = errors.New("a snapshot is in progress")

// ErrNotReady says that the store is still loading, or closed.
var ErrNotReady = errors.New("the store is not ready")

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

// SetCheckpointRules changes the rules; safe from any goroutine.
func (e *Engine) SetCheckpointRules(r CheckpointRules) { panic("unwritten") }

// StartSnapshot begins a snapshot in the background and returns its number in
// this process, from 1: it is over when SnapshotStatus().Ended reaches it.
// With Options.Inline nothing runs by itself: StepSnapshot does.
func (e *Engine) StartSnapshot(cause string) (number int64, err error) { panic("unwritten") }

// CancelSnapshot ends the running one without a result; false when none runs.
func (e *Engine) CancelSnapshot() bool { panic("unwritten") }

// StepSnapshot does one step of the running snapshot: a piece, some records, or
// one change of the directory. done is true when none runs any more. Only with
// Options.Inline.
func (e *Engine) StepSnapshot() (done bool) { panic("unwritten") }

// Cron starts what the rules ask for. The server calls it every 100 ms or so.
func (e *Engine) Cron(nowMilli int64) { panic("unwritten") }

// OnSnapshotEnd registers f to be called, from any goroutine, when a snapshot
// ended. f must not block.
func (e *Engine) OnSnapshotEnd(f func()) { panic("unwritten") }

// SnapshotStatus is for INFO and LASTSAVE.
type SnapshotStatus struct {
	Running       bool
	Cause         string // of the running one
	Started       int64  // how many were begun, the number of the running or last one
	Ended         int64  // how many are over, well or not
	LastErr       error  // of the last that ended, nil when it went well
	LastGood      int64  // number of the last that went well
	LastSaveMilli int64  // T of the last good one, or of the start of the process
	LastTookMilli int64  // -1 before the first ended
	RunningMilli  int64  // of the running one
	KeysDone      int64  // of the running one
	KeysTotal     int64  // estimated at its beginning
	Changes       int64  // writes since the last good one began
	LastSizeBytes int64  // of the newest snapshot
	LastKeys      int64
	MaxPauseMicro int64 // the longest a piece held a shard's lock, of the running or last one
	LogBytes      int64 // of the log behind the newest snapshot
}

// SnapshotStatus is safe from any goroutine.
func (e *Engine) SnapshotStatus() SnapshotStatus { panic("unwritten") }
