package server

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/engine"
)

// snapshots is what the server keeps of snapshots beside the engine: what is
// to begin when the present one ended.
type snapshots struct {
	mu        sync.Mutex
	scheduled map[command.SnapshotCause]bool
	at        int64 // how many had begun when something was scheduled first
	rewrites  int64 // begun for the log's sake
	// What was scheduled and could not begin: who waits for it learns why.
	refusedTo int64
	refused   error
	ended     chan struct{} // a token: one ended
	loaded    atomic.Int64  // keys that the start took from a snapshot
	denies    atomic.Bool   // writes are refused because the last one failed
}

// causeNames are what the engine logs.
var causeNames = map[command.SnapshotCause]string{
	command.CauseSave:    "SAVE",
	command.CauseBgSave:  "BGSAVE",
	command.CauseRewrite: "BGREWRITEAOF",
}

// causeOf sorts a running snapshot's cause.
func causeOf(st *engine.SnapshotStatus) command.SnapshotCause {
	switch {
	case !st.Running:
		return command.CauseNone
	case st.Cause == causeNames[command.CauseSave]:
		return command.CauseSave
	case st.Cause == causeNames[command.CauseRewrite], st.Cause == engine.CauseGrowth:
		return command.CauseRewrite
	}
	return command.CauseBgSave
}

func (s *Server) initSnapshots() {
	s.snaps.scheduled = make(map[command.SnapshotCause]bool)
	s.snaps.ended = make(chan struct{}, 1)
	s.eng.OnSnapshotEnd(s.snapshotEnded)
}

// snapshotEnded is called by the engine, from any goroutine.
func (s *Server) snapshotEnded() {
	select {
	case s.snaps.ended <- struct{}{}:
	default:
	}
	s.snaps.mu.Lock()
	s.startScheduled()
	s.snaps.mu.Unlock()
	s.judgeSnapshots()
	s.signal()
}

// judgeSnapshots decides whether writes are refused because the last snapshot
// failed.
func (s *Server) judgeSnapshots() {
	t := s.tun.Load()
	st := s.eng.SnapshotStatus()
	s.snaps.denies.Store(t.StopWritesOnError && len(t.Checkpoint.Save) > 0 && !saved(&st))
}

// startSnapshot begins one. What was scheduled is satisfied by it.
func (s *Server) startSnapshot(cause command.SnapshotCause) (int64, error) {
	n := &s.snaps
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.start(s.eng, cause)
}

func (n *snapshots) start(eng *engine.Engine, cause command.SnapshotCause) (int64, error) {
	number, err := eng.StartSnapshot(causeNames[cause])
	switch {
	case errors.Is(err, engine.ErrSnapshotRunning):
		return 0, command.ErrSnapshotRunning
	case err != nil:
		return 0, err
	}
	clear(n.scheduled)
	if cause == command.CauseRewrite {
		n.rewrites++
	}
	return number, nil
}

func (s *Server) scheduleSnapshot(cause command.SnapshotCause) {
	n := &s.snaps
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.scheduled) == 0 {
		n.at = s.eng.SnapshotStatus().Started
	}
	n.scheduled[cause] = true
	s.startScheduled() // if the one that was in the way is over by now
}

// unscheduleAll is for a stop.
func (s *Server) unscheduleAll() {
	s.snaps.mu.Lock()
	defer s.snaps.mu.Unlock()
	clear(s.snaps.scheduled)
}

func (s *Server) unscheduleSave() {
	s.snaps.mu.Lock()
	defer s.snaps.mu.Unlock()
	delete(s.snaps.scheduled, command.CauseBgSave)
}

// tendSnapshots starts what the rules ask for.
func (s *Server) tendSnapshots(nowMilli int64) {
	n := &s.snaps
	n.mu.Lock()
	defer n.mu.Unlock()
	before := s.eng.SnapshotStatus()
	s.eng.Cron(nowMilli)
	if st := s.eng.SnapshotStatus(); st.Started > before.Started && st.Cause == engine.CauseGrowth {
		n.rewrites++
	}
}

// startScheduled starts what was scheduled, unless one runs. If one began since
// then, that is the one. The caller holds mu.
func (s *Server) startScheduled() {
	n := &s.snaps
	st := s.eng.SnapshotStatus()
	switch {
	case len(n.scheduled) == 0:
		return
	case st.Started > n.at:
		clear(n.scheduled)
		return
	case st.Running:
		return // its end comes here again
	}
	cause := command.CauseRewrite
	for c := range n.scheduled {
		cause = min(cause, c)
	}
	if _, err := n.start(s.eng, cause); err != nil && !errors.Is(err, command.ErrSnapshotRunning) {
		s.logf(LevelWarning, "The snapshot that was scheduled cannot begin: %v", err)
		clear(n.scheduled)
		n.refusedTo, n.refused = st.Started+1, err
		s.signal()
	}
}

// snapshotOver says whether snapshot number ended, and why it failed. A later
// one that went well has all that it would have had.
func (s *Server) snapshotOver(number int64) (over bool, err error) {
	st := s.eng.SnapshotStatus()
	if st.Ended < number {
		s.snaps.mu.Lock()
		defer s.snaps.mu.Unlock()
		return s.snaps.refusedTo >= number, s.snaps.refused
	}
	if st.LastGood >= number {
		return true, nil
	}
	return true, st.LastErr
}

func (s *Server) viewSnapshots() command.SnapshotView {
	st := s.eng.SnapshotStatus()
	s.snaps.mu.Lock()
	defer s.snaps.mu.Unlock()
	return s.snaps.view(&st)
}

func (n *snapshots) view(st *engine.SnapshotStatus) command.SnapshotView {
	return command.SnapshotView{
		Running: causeOf(st), Started: st.Started, LastSaveMilli: st.LastSaveMilli,
		SaveScheduled:    n.scheduled[command.CauseBgSave],
		RewriteScheduled: n.scheduled[command.CauseRewrite],
	}
}

// statsSnapshots fills what INFO tells of them.
func (s *Server) statsSnapshots(st *command.Stats) {
	now := s.eng.SnapshotStatus()
	s.snaps.mu.Lock()
	defer s.snaps.mu.Unlock()
	out := &st.Snapshot
	out.SnapshotView = s.snaps.view(&now)
	out.Rewrites = s.snaps.rewrites
	out.LastOK = saved(&now)
	if !out.LastOK {
		out.Failures = now.Ended - now.LastGood
	}
	out.LastTookMilli = now.LastTookMilli
	if now.Running {
		out.RunningMilli, out.KeysDone, out.KeysTotal = now.RunningMilli, now.KeysDone, now.KeysTotal
	}
	out.Changes, out.LogBytes = now.Changes, now.LogBytes
	out.LastBytes, out.LastKeys = now.LastSizeBytes, now.LastKeys
	out.MaxPauseMicro, out.LoadedKeys = now.MaxPauseMicro, s.snaps.loaded.Load()
}

// saved says whether the last snapshot that was left to end went well. One
// that was cancelled tells nothing about the disk.
func saved(st *engine.SnapshotStatus) bool {
	return st.LastErr == nil || errors.Is(st.LastErr, engine.ErrSnapshotCancelled)
}
