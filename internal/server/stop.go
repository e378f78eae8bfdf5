package server

import (
	"fmt"
	"sync"

	"github.com/hapaxkv/hapax/internal/command"
)

// stopRequest is somebody's wish that the server stops: SHUTDOWN, or a signal.
type stopRequest struct {
	mode    command.ShutdownMode
	refused chan struct{} // closed when the server goes on instead
}

// stops is the wish that is being carried out, if any.
type stops struct {
	mu  sync.Mutex
	now *stopRequest
}

// Stop asks for an orderly stop and returns at once. refused is closed if the
// server goes on because its last snapshot failed. Safe from any goroutine.
func (s *Server) Stop(m command.ShutdownMode) (refused <-chan struct{}) {
	s.stops.mu.Lock()
	defer s.stops.mu.Unlock()
	r := s.stops.now
	if r == nil {
		r = &stopRequest{mode: m, refused: make(chan struct{})}
		s.stops.now = r
		s.stop <- struct{}{} // has room: one wish at a time
	}
	return r.refused
}

// stopNow carries a wish out as far as the last snapshot, and says whether the
// server is to stop.
//
//  1. No connection runs anything any more.
//  2. A snapshot that is running ends without a result: it would not have all.
//  3. The last one is taken, of everything that was acknowledged.
//  4. If it fails, and nobody said FORCE, all go on as before.
func (s *Server) stopNow() bool {
	s.stops.mu.Lock()
	r := s.stops.now
	s.stops.mu.Unlock()
	s.logf(LevelNotice, "User requested shutdown...")
	if !s.savesAtStop(r.mode) {
		return true
	}
	resume := (*s.backend.Load()).pause()
	s.logf(LevelNotice, "Saving the final snapshot before exiting.")
	err := s.lastSnapshot()
	switch {
	case err == nil:
		s.sealed.Store(true) // what was sent meanwhile is not run
		s.stopping.Store(true)
		resume()
		return true
	case r.mode.Force:
		s.logf(LevelWarning, "Error trying to save the DB. Exit anyway. (%v)", err)
		resume()
		return true
	}
	s.logf(LevelWarning, "Error trying to save the DB, can't exit: %v", err)
	s.stops.mu.Lock()
	s.stops.now = nil
	s.stops.mu.Unlock()
	resume()
	close(r.refused)
	s.signal()
	return false
}

// savesAtStop says whether a stop begins with a snapshot. A store that is not
// loaded has nothing that is not on disk.
func (s *Server) savesAtStop(m command.ShutdownMode) bool {
	rules := s.tun.Load().Checkpoint.Save
	return !s.eng.Loading() && !m.NoSave && (m.Save || len(rules) > 0)
}

// lastSnapshot takes one while no connection runs.
func (s *Server) lastSnapshot() error {
	s.unscheduleAll()
	s.eng.CancelSnapshot()
	for {
		st := s.eng.SnapshotStatus()
		if !st.Running {
			break
		}
		if err := s.awaitSnapshot(st.Started); err != nil {
			return err
		}
	}
	number, err := s.eng.StartSnapshot("SHUTDOWN")
	if err != nil {
		return err
	}
	if err := s.awaitSnapshot(number); err != nil {
		return err
	}
	_, err = s.snapshotOver(number)
	return err
}

// awaitSnapshot returns when snapshot number is over, however it ended.
func (s *Server) awaitSnapshot(number int64) error {
	for {
		if over, _ := s.snapshotOver(number); over {
			return nil
		}
		select {
		case <-s.snaps.ended:
		case <-s.failed:
			return fmt.Errorf("the server failed meanwhile: %w", s.failure.Load().err)
		}
	}
}
