package server

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/clock"
)

// goroutines is the backend for systems without epoll: a goroutine per
// connection, which borrows an executor for each of its rounds and commits for
// itself. The log makes one sync of all that commit at the same time.
type goroutines struct {
	srv     *Server
	all     sync.WaitGroup
	stopped chan struct{} // closed by halt

	mu      sync.Mutex
	carried map[*carrier]struct{}
	blocked map[*carrier]struct{}
	closing bool

	committing atomic.Int64
}

func newGoroutines(s *Server) *goroutines {
	return &goroutines{
		srv:     s,
		stopped: make(chan struct{}),
		carried: make(map[*carrier]struct{}),
		blocked: make(map[*carrier]struct{}),
	}
}

func (g *goroutines) name() string      { return "goroutine" }
func (g *goroutines) syncPlace() string { return "loop" }
func (g *goroutines) parked() int64     { return g.committing.Load() }

func (g *goroutines) start(ls []*listener) error {
	for _, l := range ls {
		g.all.Go(func() { g.acceptAll(l) })
	}
	g.all.Go(g.tickAll)
	return nil
}

// wake makes blocked connections look at their conditions, and all of them
// end when nothing may leave any more.
func (g *goroutines) wake(bool) {
	broken := g.srv.broken()
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.blocked {
		c.nudge()
	}
	if broken {
		for c := range g.carried {
			c.conn.Close()
		}
	}
}

// pause keeps executors back: without one nothing runs.
func (g *goroutines) pause() (resume func()) {
	p := &g.srv.pool
	goOn, idle := make(chan struct{}), make(chan struct{})
	p.mu.Lock()
	p.paused = goOn
	if p.lent == 0 {
		close(idle)
	} else {
		p.idle = idle
	}
	p.mu.Unlock()
	select {
	case <-idle:
	case <-g.srv.failed: // somebody may never come back
	}
	return func() {
		p.mu.Lock()
		p.paused, p.idle = nil, nil
		p.mu.Unlock()
		close(goOn)
	}
}

// haltGrace is how long clients may take to read their last replies.
const haltGrace = time.Second

func (g *goroutines) halt() {
	g.mu.Lock()
	g.closing = true
	for c := range g.carried {
		c.interrupt()
	}
	g.mu.Unlock()
	close(g.stopped)
	gone := make(chan struct{})
	go func() { g.all.Wait(); close(gone) }()
	ticks, stop := clock.NewTicker(haltGrace)
	defer stop()
	select {
	case <-gone:
		return
	case <-ticks:
	}
	g.mu.Lock()
	for c := range g.carried {
		c.conn.Close()
	}
	g.mu.Unlock()
	<-gone
}

// acceptPause is how long to look away when the system has no descriptor left.
const acceptPause = 100 * time.Millisecond

func (g *goroutines) acceptAll(l *listener) {
	defer g.srv.reportPanic("accept")
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			g.carry(conn, l.unixSocket)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			g.srv.logf(LevelWarning, "Accepting client connection: %v", err)
			ticks, stop := clock.NewTicker(acceptPause)
			select {
			case <-ticks:
			case <-g.stopped:
			}
			stop()
		}
	}
}

// carry starts a connection's goroutine, or turns the connection away.
func (g *goroutines) carry(conn net.Conn, unixSocket bool) {
	c := &carrier{g: g, conn: conn, poked: make(chan struct{}, 1)}
	addr, laddr := conn.RemoteAddr().String(), conn.LocalAddr().String()
	if unixSocket {
		addr, laddr = laddr+":0", laddr+":0"
	}
	c.Session.init(g.srv, c, addr, laddr, descriptor(conn), unixSocket)
	if text := g.srv.refusal(&c.client); text != "" {
		_, _ = conn.Write([]byte(text))
		conn.Close()
		return
	}
	tuneConn(conn, g.srv.tun.Load().TCPKeepaliveSec)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing || g.srv.broken() {
		conn.Close()
		return
	}
	g.carried[c] = struct{}{}
	g.srv.welcome(&c.Session)
	g.all.Go(c.run)
}

func tuneConn(conn net.Conn, keepaliveSec int) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || keepaliveSec <= 0 {
		return
	}
	idle := time.Duration(keepaliveSec) * time.Second
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: idle, Interval: max(idle/keepaliveProbes, time.Second), Count: keepaliveProbes,
	})
}

// keepaliveProbes unanswered ones end a connection.
const keepaliveProbes = 3

// tickAll runs cron and looks after deadlines of blocked connections.
func (g *goroutines) tickAll() {
	defer g.srv.reportPanic("cron")
	for {
		ex := g.srv.pool.take(g.srv)
		next := g.srv.tick(ex)
		err := ex.commit()
		g.srv.pool.give(ex)
		if err != nil {
			g.srv.fail(err)
			return
		}
		if !g.sleep(next) {
			return
		}
	}
}

// sleep waits for milli; meanwhile it wakes blocked connections now and then,
// so that a deadline is late by blockedMilli at most. False: the end.
func (g *goroutines) sleep(milli int) bool {
	for milli > 0 {
		step := milli
		g.mu.Lock()
		if len(g.blocked) > 0 {
			step = min(step, blockedMilli)
		}
		g.mu.Unlock()
		ticks, stop := clock.NewTicker(time.Duration(step) * time.Millisecond)
		select {
		case <-ticks:
			stop()
		case <-g.stopped:
			stop()
			return false
		}
		milli -= step
		g.mu.Lock()
		for c := range g.blocked {
			c.nudge()
		}
		g.mu.Unlock()
	}
	return true
}

const blockedMilli = 5

// executorPool lends executors to goroutines. It holds as many as ever ran at
// the same time.
type executorPool struct {
	mu      sync.Mutex
	free    []*executor
	buffers bufferStack // of output that left without an executor
	lent    int
	paused  chan struct{} // while set, closed when executors are lent again
	idle    chan struct{} // while set, closed when the last comes back
}

func (p *executorPool) take(s *Server) *executor {
	p.mu.Lock()
	for p.paused != nil {
		goOn := p.paused
		p.mu.Unlock()
		<-goOn
		p.mu.Lock()
	}
	p.lent++
	n := len(p.free) - 1
	if n < 0 {
		p.mu.Unlock()
		return s.newExecutor(pathGoroutine)
	}
	ex := p.free[n]
	p.free = p.free[:n]
	if last := len(p.buffers.free) - 1; last >= 0 && len(ex.buffers.free) == 0 {
		ex.buffers.free = append(ex.buffers.free, p.buffers.take())
	}
	p.mu.Unlock()
	ex.begin()
	return ex
}

func (p *executorPool) give(ex *executor) {
	ex.end()
	p.mu.Lock()
	p.free = append(p.free, ex)
	p.lent--
	if p.lent == 0 && p.idle != nil {
		close(p.idle)
		p.idle = nil
	}
	p.mu.Unlock()
}

// drop takes the buffer of a session whose output has left.
func (p *executorPool) drop(s *Session) {
	p.mu.Lock()
	s.dropOutput(&p.buffers)
	p.mu.Unlock()
}
