package server

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hapaxkv/hapax/internal/command"
)

// carrier is a session with its connection and goroutine.
type carrier struct {
	Session
	g     *goroutines
	conn  net.Conn
	mu    sync.Mutex    // guards shown
	poked chan struct{} // one token: look at your condition

	buf []byte // what is read into; grows while the client sends much

	parts   [][]byte    // of one write of what is lent
	writing net.Buffers // what is left of these
}

const (
	idleReadBytes = 4 << 10   // per connection, all the time
	sendBytes     = 256 << 10 // per write, between two looks at the client's progress
)

// past makes a read or write return at once.
var past = time.Unix(1, 0)

// poke and publishLock implement owner.
func (c *carrier) poke(*Session) {
	c.nudge()
	if c.killed.Load() {
		c.conn.Close()
	}
}

func (c *carrier) publishLock() *sync.Mutex { return &c.mu }

func (c *carrier) nudge() {
	select {
	case c.poked <- struct{}{}:
	default:
	}
}

// interrupt ends the wait for requests; what was received is still answered.
func (c *carrier) interrupt() {
	_ = c.conn.SetReadDeadline(past)
	c.nudge()
}

func (c *carrier) run() {
	defer c.g.srv.reportPanic("connection")
	defer c.close()
	c.buf = make([]byte, idleReadBytes)
	for {
		room := c.space(c.buf)
		n, err := c.conn.Read(room)
		if n == 0 && err != nil && !isEnd(err) {
			return
		}
		if !c.round(n, err != nil) {
			return
		}
		c.resize(n, len(room))
	}
}

// resize follows what the client sends: a full read asks for more room, a
// small one gives it back.
func (c *carrier) resize(n, room int) {
	switch {
	case n == room && len(c.buf) < readBytes:
		c.buf = make([]byte, readBytes)
	case n < idleReadBytes && len(c.buf) > idleReadBytes:
		c.buf = make([]byte, idleReadBytes)
	}
}

// round runs what n bytes made complete and all that follows from it; false
// when the connection is to be closed.
func (c *carrier) round(n int, end bool) bool {
	srv := c.g.srv
	ex := srv.pool.take(srv)
	if srv.sealed.Load() {
		srv.pool.give(ex)
		return false
	}
	if n > 0 {
		c.receive(ex, c.buf, n)
	}
	if end {
		c.ended()
	}
	for c.settle(ex) {
		var why command.Wake
		wasBlocked := c.stop == stopBlocked
		if wasBlocked {
			var ok bool
			if why, ok = c.await(); !ok {
				return false
			}
		} else if !c.goOn(srv.tun.Load(), srv.eng.Durable()) {
			return c.stop == running
		}
		ex = srv.pool.take(srv)
		if srv.sealed.Load() {
			srv.pool.give(ex)
			return false
		}
		if wasBlocked {
			c.endBlock(ex, why)
		}
		c.resume(ex)
	}
	return false
}

// settle commits what the session observed, gives the executor back, and
// writes; false when the connection is to be closed.
func (c *carrier) settle(ex *executor) bool {
	srv := c.g.srv
	ex.observed = max(ex.observed, c.need)
	c.g.committing.Add(1)
	err := ex.commit()
	c.g.committing.Add(-1)
	if err != nil {
		srv.fail(err)
	}
	ex.tally.netOut += int64(c.unsent())
	srv.pool.give(ex)
	if srv.broken() || srv.eng.Err() != nil || c.cut {
		return false // I8: no reply leaves
	}
	c.show()
	if !c.send() || c.finished() {
		return false
	}
	return true
}

// send writes all that may leave, which after a commit is everything.
func (c *carrier) send() bool {
	for {
		if c.releasable(c.g.srv.eng.Durable()) == 0 {
			return true
		}
		n, err := c.write()
		c.sent += n
		c.returnSent()
		if err != nil {
			return false
		}
		if c.unsent() == 0 {
			c.g.srv.pool.drop(&c.Session)
			c.show()
			return true
		}
		c.show()
	}
}

// write writes the beginning of what may leave.
func (c *carrier) write() (int, error) {
	if !c.lends() {
		return c.conn.Write(c.front(sendBytes))
	}
	c.parts, _ = c.appendFront(c.parts[:0], sendBytes)
	c.writing = c.parts
	n, err := c.writing.WriteTo(c.conn) // with one system call where conn has one
	clear(c.parts)
	return int(n), err
}

// show publishes what others see.
func (c *carrier) show() {
	c.mu.Lock()
	c.Session.publish()
	c.mu.Unlock()
}

// received is what came while a command was blocked.
type received struct {
	n   int
	err error
}

// await returns why a blocked command goes on; false when its client is gone.
// A second goroutine reads meanwhile, since nothing else tells that.
func (c *carrier) await() (command.Wake, bool) {
	c.g.setBlocked(c, true)
	defer c.g.setBlocked(c, false)
	c.show()
	reads := make(chan received, 1)
	c.readAside(reads)
	for {
		select {
		case r := <-reads:
			if !c.keepReceived(r) {
				return 0, false
			}
			c.readAside(reads)
		case <-c.poked:
			if c.killed.Load() || c.g.srv.broken() || c.block.Firm && c.g.srv.stopping.Load() {
				c.conn.Close()
				<-reads
				return 0, false
			}
			why, over := c.blockOver(c.g.srv.eng.Clock.NowMilli())
			if !over {
				continue
			}
			_ = c.conn.SetReadDeadline(past)
			r := <-reads
			_ = c.conn.SetReadDeadline(time.Time{})
			if errors.Is(r.err, os.ErrDeadlineExceeded) {
				r.err = nil
			}
			return why, c.keepReceived(r)
		}
	}
}

func (c *carrier) readAside(reads chan<- received) {
	room := c.space(c.buf)
	go func() {
		n, err := c.conn.Read(room)
		reads <- received{n, err}
	}()
}

// keepReceived stores requests that came while a command was blocked; false
// when the client is gone, or over its limit.
func (c *carrier) keepReceived(r received) bool {
	if r.n > 0 {
		ex := c.g.srv.pool.take(c.g.srv)
		c.receive(ex, c.buf, r.n)
		c.g.srv.pool.give(ex)
	}
	return r.err == nil && !c.cut
}

func (c *carrier) close() {
	c.conn.Close()
	c.g.srv.clients.remove(&c.Session)
	c.gone(&bufferStack{})
	c.g.mu.Lock()
	delete(c.g.carried, c)
	c.g.mu.Unlock()
}

// setBlocked enters c among those who wait, and makes it look once: what it
// waits for may have come in between.
func (g *goroutines) setBlocked(c *carrier, waits bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !waits {
		delete(g.blocked, c)
		return
	}
	g.blocked[c] = struct{}{}
	c.nudge()
}

// isEnd says whether a read ended in order: the client sends no more, or the
// server stops.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded)
}

// descriptor is conn's number, for CLIENT LIST.
func descriptor(conn net.Conn) int {
	fd := -1
	if raw, ok := conn.(syscall.Conn); ok {
		if control, err := raw.SyscallConn(); err == nil {
			_ = control.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}
