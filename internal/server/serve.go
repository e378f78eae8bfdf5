package server

import (
	"context"
	"errors"
	"fmt"

	"runtime/debug"

	"github.com/hapaxkv/hapax/internal/engine"
)

// Serve runs until ctx ends (orderly: stop accepting, finish the round, sync,
// close) or something fatal; a poisoned log is an error (I8). A store that is
// not recovered yet is recovered meanwhile, and commands get LOADING. Listen
// comes first; the engine is the caller's to close after Serve returned.
func (s *Server) Serve(ctx context.Context) error {
	if len(s.listeners) == 0 {
		return errors.New("not listening")
	}
	b, err := s.newBackend()
	if err != nil {
		return err
	}
	s.backend.Store(&b)
	recovered := make(chan error, 1)
	if !s.eng.Loading() {
		s.connectLog()
	}
	if err := b.start(s.listeners); err != nil {
		return err
	}
	if s.eng.Loading() {
		go func() { recovered <- s.recover() }()
	}
	err = s.await(ctx, recovered)
	if err != nil {
		s.fail(err)
	}
	s.stopping.Store(true)
	for _, l := range s.listeners {
		l.Close()
	}
	b.halt()
	// A commit may have failed while the last replies waited for it.
	if f := s.failure.Load(); f != nil {
		return f.err
	}
	return s.eng.Err()
}

// await returns when the server is to stop: nil for an orderly stop.
func (s *Server) await(ctx context.Context, recovered chan error) error {
	stop := false
	for {
		// The engine cannot be closed under a recovery: its end is awaited.
		if stop && !s.eng.Loading() {
			return nil
		}
		if stop {
			s.eng.StopRecovery()
		}
		done := ctx.Done()
		if stop {
			done = nil
		}
		select {
		case err := <-recovered:
			if stop && errors.Is(err, engine.ErrStopped) {
				s.logf(LevelNotice, "Stopped while the log was being loaded; nothing was changed")
				return nil
			}
			if err != nil {
				return err
			}
			s.logf(LevelNotice, "Ready to accept connections")
		case <-done:
			stop = true
		case <-s.stop:
			stop = s.stopNow()
		case <-s.failed:
			return s.failure.Load().err
		}
	}
}

func (s *Server) recover() error {
	defer s.reportPanic("recovery")
	if err := s.eng.Recover(); err != nil {
		return err
	}
	s.snaps.loaded.Store(s.eng.SnapshotStatus().LastKeys)
	s.connectLog()
	s.wakeAll()
	return nil
}

// connectLog makes the log's progress known to those who wait for it.
func (s *Server) connectLog() {
	if log := s.eng.Log(); log != nil {
		s.watchLog(log)
	}
}

func (s *Server) newBackend() (backend, error) {
	switch s.opts.Backend {
	case "goroutine":
		return newGoroutines(s), nil
	case "epoll":
		return newLoops(s)
	}
	if loopsAvailable {
		return newLoops(s)
	}
	return newGoroutines(s), nil
}

// reportPanic logs a panic and lets it go on, which ends the process: a
// handler that failed half-way may have left anything, so nothing is
// acknowledged after it. What it appended was not committed by this round; a
// restart recovers whatever whole frames reached the disk. Deferred.
func (s *Server) reportPanic(where string) {
	if r := recover(); r != nil {
		s.logf(LevelWarning, "=== BUG === %s panicked: %v\n%s", where, r, debug.Stack())
		panic(fmt.Sprintf("%s: %v", where, r))
	}
}
