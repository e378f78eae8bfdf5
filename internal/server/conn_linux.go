package server

import (
	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/netpoll"
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// readAll takes what one read of each readable connection returns and runs it:
// level triggering brings the rest back.
func (l *loop) readAll() {
	for rest := l.readable; len(rest) > 0; {
		n := l.calls.fit(len(rest))
		if n > 1 {
			l.readSome(rest[:n])
		} else {
			c := rest[0]
			got, err := readNow(c.fd, c.space(l.shared))
			l.received(c, l.shared, got, err)
		}
		rest = rest[n:]
	}
	clear(l.readable)
	l.readable = l.readable[:0]
}

// readSome is readAll for several connections with one system call.
func (l *loop) readSome(conns []*conn) {
	for i, c := range conns {
		l.calls.Recv(c.fd, c.space(l.calls.slots[i]))
	}
	l.runCalls()
	l.prefetch(conns)
	for i, c := range conns {
		n, err := l.calls.Result(i)
		if !c.closed {
			l.received(c, l.calls.slots[i], n, err)
		}
	}
	l.calls.Reset()
}

// prefetch guesses which key each of conns is about and brings what its lookup
// needs into the caches, for all of them side by side, as a pipeline's is. Of
// GET without pipelining over a million keys, waiting for memory one key after
// the other was a tenth.
func (l *loop) prefetch(conns []*conn) {
	tx := l.ex.tx
	if tx == nil {
		return
	}
	keys := l.calls.keys[:0]
	for i, c := range conns {
		n, _ := l.calls.Result(i)
		if n <= 0 || c.state.DB != conns[0].state.DB || len(c.in) > c.inAt {
			continue
		}
		if key, ok := resp.Peek(l.calls.slots[i][:n]); ok {
			keys = append(keys, shard.MakeKey(key))
		}
	}
	if len(keys) > 1 {
		tx.Prefetch(conns[0].state.DB, keys)
	}
	clear(keys)
	l.calls.keys = keys
}

// received runs what a read from c left in buf.
func (l *loop) received(c *conn, buf []byte, n int, err error) {
	switch {
	case n > 0:
		c.receive(l.ex, buf, n)
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

// flush writes what may leave of c, and does what follows.
func (l *loop) flush(c *conn) {
	durable := l.srv.eng.Durable()
	if l.sendable(c, durable) {
		l.write(c)
	}
	l.flushed(c, durable)
}

// writeBytes bounds what one connection may write in a round. Copying to the
// socket takes the loop's time: more, and others would notice a large reply.
// With what a bulk string of 256 KiB has around it, so that one takes one round:
// the rest of a reply costs four system calls more.
const writeBytes = 256<<10 + 64

// write writes the beginning of what may leave of c.
func (l *loop) write(c *conn) {
	if !c.lends() {
		b := c.front(writeBytes)
		n, err := writeNow(c.fd, b)
		l.sent(c, len(b), n, err)
		return
	}
	parts, size := c.appendFront(l.parts[:0], writeBytes)
	n, err := writePartsNow(c.fd, parts)
	clear(parts)
	l.parts = parts
	l.sent(c, size, n, err)
}

// flushSome is flush for the first n of conns with one system call, those that
// are closed left out. Nothing after durable has left.
func (l *loop) flushSome(conns []*conn) (n int, durable wal.LSN) {
	durable = l.srv.eng.Durable()
	n = l.calls.fit(len(conns))
	if n == 1 {
		if c := conns[0]; !c.closed {
			l.flush(c)
		}
		return n, durable
	}
	for _, c := range conns[:n] {
		if c.closed {
			continue
		}
		switch {
		case !l.sendable(c, durable):
		case c.lends(): // for which a system call of its own is little
			l.write(c)
		default:
			l.calls.send(c, c.front(writeBytes))
		}
	}
	l.runCalls()
	for i, s := range l.calls.sends {
		n, err := l.calls.Result(i)
		l.sent(s.c, s.sizeBytes, n, err)
	}
	l.calls.Reset()
	for _, c := range conns[:n] {
		l.flushed(c, durable)
	}
	return n, durable
}

// sendable says whether something may be written to c now.
func (l *loop) sendable(c *conn, durable wal.LSN) bool {
	return c.releasable(durable) > 0 && !c.full && !c.cut
}

// sent notes what became of a write of size bytes. One that had its share of
// the round goes on like one whose socket is full: in the next, when the poller
// tells that there is room.
func (l *loop) sent(c *conn, size, n int, err error) {
	if n > 0 {
		l.ex.tally.netOut += int64(n)
		c.left(&l.ex.buffers, n)
	}
	switch {
	case err == unix.EAGAIN || err == unix.EINTR || err == nil && (n < size || c.upTo > c.sent):
		c.full = true
	case err != nil: // the client went away
		l.close(c)
	}
}

// flushed lets the session go on if a flush was what it waited for, and closes
// it if that was the last.
func (l *loop) flushed(c *conn, durable wal.LSN) {
	if c.closed {
		return
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
