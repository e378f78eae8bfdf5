package server

import (
	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/netpoll"
)

// read takes what one read returns: level triggering brings the rest back.
func (l *loop) read(c *conn) {
	n, err := readNow(c.fd, c.space(l.shared))
	switch {
	case n > 0:
		c.receive(l.ex, l.shared, n)
	case n == 0 && err == nil:
		c.ended()
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	default: // reset, timed out: nobody is there to answer
		l.close(c)
		return
	}
	l.after(c)
}

// flush writes what may leave, lets the session go on if that was what it
// waited for, and closes it if that was the last.
func (l *loop) flush(c *conn) {
	durable := l.srv.eng.Durable()
	if b := c.releasable(durable); len(b) > 0 && !c.full && !c.cut {
		n, err := writeNow(c.fd, b)
		if n > 0 {
			l.ex.tally.netOut += int64(n)
			c.left(&l.ex.buffers, n)
		}
		switch {
		case err == unix.EAGAIN || err == unix.EINTR || err == nil && n < len(b):
			c.full = true
		case err != nil: // the client went away
			l.close(c)
			return
		}
	}
	if c.finished() || c.overHardLimit(l.ex) {
		l.close(c)
		return
	}
	if c.goOn(l.ex.tun, durable) {
		l.makeReady(c)
	}
	l.watch(c)
}

// watch sets what the poller looks for: room in a socket that is full, the
// client's end alone while a command blocks, input when the session goes on. A
// session that stopped keeps its interest in input until some comes (handle):
// most barriers fall within the round, and every change is a system call.
func (l *loop) watch(c *conn) {
	want := c.has & netpoll.Read
	switch {
	case c.stop == running && !c.eof:
		want = netpoll.Read
	case c.stop == stopBlocked:
		want = netpoll.HalfUp
	}
	if c.full {
		want |= netpoll.Write
	}
	l.interest(c, want)
}

func (l *loop) interest(c *conn, want netpoll.Interest) {
	if c.closed || want == c.has {
		return
	}
	if err := l.poll.Modify(c.fd, want); err != nil {
		l.srv.logf(LevelWarning, "Client %s: %v", c.addr, err)
		l.close(c)
		return
	}
	c.has = want
}

// close ends a connection. Its descriptor stays taken until the round is over,
// so that no event of this round can mean another connection.
func (l *loop) close(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	l.srv.clients.remove(&c.Session)
	c.gone(&l.ex.buffers)
	l.conns[c.fd] = nil
	l.doomed = append(l.doomed, c.fd)
}

func (l *loop) closeDoomed() {
	for _, fd := range l.doomed {
		unix.Close(fd)
	}
	l.doomed = l.doomed[:0]
}
