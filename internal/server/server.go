// Package server runs loops and connections: dispatch, sessions, the barrier.
//
// What it promises: replies come in the order of their requests; none leaves
// before everything it observed is durable (I5); once the log is poisoned none
// leaves at all (I8); what a client makes the server hold is bounded by what
// it sent and by a documented limit (I12).
//
// What it assumes: the engine is open, and nobody else runs transactions on it
// while Serve does. The engine is the caller's: Serve never closes it.
//
// What it never does: read a machine clock, touch a file, know a command by
// its name.
//
// A connection is two things. A Session is everything that is no socket call:
// bytes in, bytes out. What carries it is an epoll loop (loop_*.go), a
// goroutine (goroutine_*.go), or a test in memory (memory.go). An executor
// runs the commands of one round; a loop owns one, goroutines borrow them.
//
// A round of a loop, the one place where order matters:
//
//  1. wait for sockets; read the clock once (T of everything in the round);
//  2. read the ready connections, many with one system call, parse and run;
//  3. write replies that observed nothing undurable;
//  4. commit, here or on the syncer thread, whichever is faster at present;
//  5. write the replies that waited for it, likewise;
//  6. publish counters, close what is to be closed.
package server

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Server is a running server.
type Server struct {
	opts  Options
	eng   *engine.Engine
	tun   atomic.Pointer[Tunables]
	logf  func(level Level, format string, args ...any)
	runID string

	retuning sync.Mutex // Retune is read, change, write

	listeners []*listener
	clients   registry
	totals    totals
	pool      executorPool
	requests  requestBuffers
	cron      cron
	trim      trim
	compactor compactor
	snaps     snapshots
	stops     stops

	startMilli int64

	failure  atomic.Pointer[failure] // set once; then no reply leaves (I8)
	failed   chan struct{}           // closed with it
	stopping atomic.Bool
	batched  atomic.Bool   // sockets are read and written many at a time
	sealed   atomic.Bool   // the last snapshot was taken: nothing runs any more
	stop     chan struct{} // one token: somebody asked for an orderly stop
	signals  atomic.Int64  // counts what blocked clients may wait for, but for the log
	backend  atomic.Pointer[backend]
}

type failure struct{ err error }

// backend is what carries connections.
type backend interface {
	name() string
	// start takes the listeners over.
	start(ls []*listener) error
	// wake makes everybody who waits look again: the log advanced or failed,
	// or with all, something else happened that is rare.
	wake(all bool)
	// pause lets every connection finish what it runs, and run nothing more
	// until resume is called. One at a time.
	pause() (resume func())
	// halt ends all connections, in order when nothing failed, and returns
	// when the last of them and all goroutines are gone.
	halt()
	// syncPlace is "loop" or "syncer", parked how many connections wait.
	syncPlace() string
	parked() int64
}

// New prepares a server on an engine that is open; it may still be recovering.
func New(o Options, e *engine.Engine) (*Server, error) {
	if o.Logf == nil {
		o.Logf = func(Level, string, ...any) {}
	}
	switch o.Backend {
	case "", "epoll", "goroutine":
	default:
		return nil, fmt.Errorf("unknown backend %q: epoll or goroutine", o.Backend)
	}
	if o.IOLoops < 1 {
		o.IOLoops = 1
	}
	var id [20]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, fmt.Errorf("run id: %w", err)
	}
	s := &Server{
		opts:   o,
		eng:    e,
		logf:   o.Logf,
		runID:  hex.EncodeToString(id[:]),
		failed: make(chan struct{}),
		stop:   make(chan struct{}, 1),
	}
	s.startMilli = e.Clock.NowMilli()
	s.clients.init()
	s.totals.init()
	s.tun.Store(o.Tunables.filled())
	s.tuneEngine()
	s.initSnapshots()
	e.Store.SetEvictionPolicy(o.Tunables.Eviction)
	return s, nil
}

// Retune applies changed tunables. Safe from any goroutine, handlers included.
func (s *Server) Retune(t Tunables) {
	s.retuning.Lock()
	defer s.retuning.Unlock()
	old, now := s.tun.Load(), t.filled()
	s.tun.Store(now)
	if old.Eviction != now.Eviction {
		s.eng.Store.SetEvictionPolicy(now.Eviction)
	}
	if log := s.eng.Log(); log != nil && old.Fsync != now.Fsync {
		log.SetPolicy(now.Fsync)
	}
	s.tuneEngine()
	s.judgeSnapshots()
}

// tuneEngine tells the engine its part of the tunables.
func (s *Server) tuneEngine() {
	t := s.tun.Load()
	s.eng.SetCheckpointRules(t.Checkpoint)
	s.eng.SetSyncBounds(t.SyncReport, t.SyncFatal)
}

// fail records what poisoned the log or broke the server and makes everybody
// stop (I8). Only the first failure counts.
func (s *Server) fail(err error) {
	if s.failure.CompareAndSwap(nil, &failure{err}) {
		close(s.failed)
		s.wakeAll()
	}
}

// signal makes blocked clients look whether what they wait for has happened.
func (s *Server) signal() {
	s.signals.Add(1)
	if b := s.backend.Load(); b != nil {
		(*b).wake(true)
	}
}

// broken says whether no reply may leave any more.
func (s *Server) broken() bool { return s.failure.Load() != nil }

func (s *Server) wakeAll() {
	if b := s.backend.Load(); b != nil { // nil before Serve
		(*b).wake(false)
	}
}

// logAdvanced is called by the syncer after each of its commits.
func (s *Server) logAdvanced() {
	if err := s.eng.Err(); err != nil {
		s.fail(err)
		return
	}
	s.wakeAll()
}

// watchLog connects a log that recovery has just opened.
func (s *Server) watchLog(l *wal.Log) {
	l.OnDurable(s.logAdvanced)
	l.SetPolicy(s.tun.Load().Fsync)
}
