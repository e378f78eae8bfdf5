package server

import (
	"runtime"
	"sync"
	"time"

	"github.com/hapaxkv/hapax/internal/netpoll"
)

// loops is the backend of event loops. Correctness never depends on their
// number: they share the store's locks and the log.
type loops struct {
	srv  *Server
	list []*loop
	turn int // of the first loop: who gets the next connection

	mu     sync.RWMutex // wake-ups against the end of the pollers
	closed bool
}

func newLoops(s *Server) (backend, error) {
	a := &loops{srv: s}
	for range s.opts.IOLoops {
		poll, err := netpoll.New()
		if err != nil {
			a.closePollers()
			return nil, err
		}
		poll.Eager = s.opts.IOLoops < runtime.GOMAXPROCS(0)
		calls, err := newSocketCalls(!s.opts.NoURing)
		if err != nil {
			s.logf(LevelNotice, "Sockets are read and written one by one: %v", err)
		}
		s.batched.Store(calls.Vector != nil)
		l := &loop{
			srv: s, all: a, poll: poll, calls: calls,
			ex:     s.newExecutor(pathLoop),
			shared: make([]byte, readBytes),
			done:   make(chan struct{}),
		}
		l.inLoop.Store(true)
		a.list = append(a.list, l)
	}
	return a, nil
}

func (a *loops) name() string { return "epoll" }

func (a *loops) start(ls []*listener) error {
	for _, ln := range ls {
		if err := a.list[0].takeListener(ln); err != nil {
			a.list[0].closeAcceptors()
			a.closePollers()
			return err
		}
	}
	for _, l := range a.list {
		go l.run()
	}
	return nil
}

// next deals connections out in turn. The first loop alone calls it.
func (a *loops) next() *loop {
	a.turn = (a.turn + 1) % len(a.list)
	return a.list[a.turn]
}

func (a *loops) wake(all bool) {
	all = all || a.srv.broken() || a.srv.stopping.Load()
	for _, l := range a.list {
		if all || l.waiting.Load() > 0 {
			a.wakeLoop(l)
		}
	}
}

func (a *loops) wakeLoop(l *loop) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.closed {
		l.poll.Wake()
	}
}

// pause stops each loop at the beginning of a round.
func (a *loops) pause() (resume func()) {
	goOn := make(chan struct{})
	for _, l := range a.list {
		o := pauseOrder{reached: make(chan struct{}), goOn: goOn}
		l.post(func(in *inbox) { in.pauses = append(in.pauses, o) })
		select {
		case <-o.reached:
		case <-l.done:
		}
	}
	return func() { close(goOn) }
}

func (a *loops) halt() {
	a.wake(true)
	for _, l := range a.list {
		<-l.done
	}
	// A connection may have been dealt to a loop that was gone already.
	for _, l := range a.list {
		l.readInbox()
		l.closeAll()
	}
	a.closePollers()
}

func (a *loops) closePollers() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for _, l := range a.list {
		l.poll.Close()
		l.calls.close()
	}
}

func (a *loops) syncPlace() string {
	for _, l := range a.list {
		if !l.inLoop.Load() {
			return "syncer"
		}
	}
	return "loop"
}

func (a *loops) parked() int64 {
	var n int64
	for _, l := range a.list {
		n += l.parkedN.Load()
	}
	return n
}

const (
	windNano      = int64(time.Second) // for clients to take their last replies
	windWaitMilli = 50
	windWaits     = 20 // in which nobody takes any
)

// wind ends the loop: no new connections, the last commit, replies for those
// who read within a second, then all connections close. When the log is
// poisoned no reply leaves (I8).
func (l *loop) wind() {
	l.closeAcceptors()
	l.place = placeChooser{}
	if !l.srv.broken() {
		l.lastCommit()
	}
	mono := l.srv.eng.Clock.MonoNano
	began, idle := mono(), 0
	for idle < windWaits && mono()-began < windNano && !l.srv.broken() && l.owes() {
		events, err := l.poll.Wait(windWaitMilli)
		if err != nil {
			break
		}
		if len(events) == 0 {
			idle++
		}
		for i := range events {
			if e := &events[i]; e.FD < len(l.conns) && l.conns[e.FD] != nil {
				l.windEvent(l.conns[e.FD], e)
			}
		}
	}
	l.closeAll()
	l.ex.end()
}

// lastCommit makes every reply releasable, wherever it was parked.
func (l *loop) lastCommit() {
	l.ex.observed = l.srv.eng.Last()
	if err := l.ex.commit(); err != nil {
		l.srv.fail(err)
		return
	}
	for _, c := range l.conns {
		if c != nil {
			l.flush(c)
		}
	}
}

// owes says whether a client has yet to take replies.
func (l *loop) owes() bool {
	for _, c := range l.conns {
		if c != nil && c.unsent() > 0 {
			return true
		}
	}
	return false
}

func (l *loop) windEvent(c *conn, e *netpoll.Event) {
	switch {
	case e.Down:
		l.close(c)
	case e.Writable:
		c.full = false
		l.flush(c)
	default:
		l.interest(c, c.has&netpoll.Write) // no more requests
	}
}

func (l *loop) closeAll() {
	for _, c := range l.conns {
		if c != nil {
			l.close(c)
		}
	}
	l.closeDoomed()
}
