package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// loop drives some connections.
type loop struct {
	*control
	epoll    int
	conns    []*conn
	byFD     []*conn
	tally    *tally
	open     int   // connections that will still send or wait
	counting bool  // what the tally was told
	lastNano int64 // when a reply came
	buf      []byte
}

// stallNano is when a server that answers nobody counts as hung.
const stallNano = int64(time.Minute)

// readBytes is how much one system call reads: values of some megabytes take
// few of them.
const readBytes = 256 << 10

// connectAll spreads the connections over the loops.
func connectAll(p *Plan, c *control) ([]*loop, error) {
	addr, err := netip.ParseAddrPort(p.Addr)
	if err != nil {
		return nil, err
	}
	var loops []*loop
	for range p.Loops {
		ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return loops, fmt.Errorf("epoll_create1: %w", err)
		}
		loops = append(loops, &loop{control: c, epoll: ep, tally: newTally(p.Groups), buf: make([]byte, readBytes)})
	}
	n := 0
	for gi, g := range p.Groups {
		for i := range g.Clients {
			quota := -1
			if g.Requests > 0 {
				quota = share(g.Requests, i, g.Clients)
			}
			fd, err := connect(addr)
			if err != nil {
				return loops, fmt.Errorf("client %d of %s: %w", i, g.Name, err)
			}
			l := loops[n%len(loops)]
			if err := l.add(&conn{fd: fd, group: gi, script: g.New(i), pipeline: max(g.Pipeline, 1), quota: quota}); err != nil {
				return loops, err
			}
			n++
		}
	}
	return loops, nil
}

// share is client i's part of the requests.
func share(requests, i, clients int) int {
	return requests*(i+1)/clients - requests*i/clients
}

// connect waits for the connection, whatever the server's queue of new ones is,
// and makes it one that nothing waits for.
func connect(addr netip.AddrPort) (int, error) {
	c, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(addr))
	if err != nil {
		return -1, err
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err := raw.Control(func(own uintptr) { fd, dupErr = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return -1, err
	}
	return fd, dupErr // non-blocking and without delay, as net makes them
}

func (l *loop) add(c *conn) error {
	l.conns = append(l.conns, c)
	if more := c.fd + 1 - len(l.byFD); more > 0 {
		l.byFD = append(l.byFD, make([]*conn, more)...)
	}
	l.byFD[c.fd] = c
	l.open++
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)})
}

func (l *loop) close() {
	for _, c := range l.conns {
		unix.Close(c.fd)
	}
	unix.Close(l.epoll)
}

// lookMilli is how often a loop without events looks at the phase.
const lookMilli = 20

// run sends the first batches and goes on until the run ends or nothing is
// left to send.
func (l *loop) run() {
	if err := l.drive(); err != nil {
		l.fail(err)
	}
	l.tally.stop(l.nowNano())
}

func (l *loop) drive() error {
	l.counting = l.phase.Load() == counting
	l.lastNano = l.nowNano()
	l.tally.start(l.lastNano)
	for _, c := range l.conns {
		if err := l.send(c); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, 512)
	for l.open > 0 {
		n, err := unix.EpollWait(l.epoll, events, lookMilli)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("epoll_wait: %w", err)
		}
		phase := l.phase.Load()
		if phase >= counting && !l.counting { // also when it was over before the loop woke
			l.counting = true
			l.tally.start(l.nowNano())
		}
		if phase == stopping {
			return nil
		}
		if phase == counted {
			l.tally.stop(l.nowNano())
		}
		if n <= 0 && l.nowNano()-l.lastNano > stallNano {
			return fmt.Errorf("no reply for %v", time.Duration(stallNano))
		}
		for i := range max(n, 0) {
			if err := l.event(events[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loop) event(e unix.EpollEvent) error {
	c := l.byFD[e.Fd]
	if e.Events&unix.EPOLLOUT != 0 {
		if err := l.flush(c); err != nil {
			return err
		}
	}
	if e.Events&^unix.EPOLLOUT == 0 {
		return nil
	}
	return l.receive(c)
}

// receive reads once: what is left wakes the loop again.
func (l *loop) receive(c *conn) error {
	n, err := unix.Read(c.fd, l.buf)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case n == 0:
		return fmt.Errorf("the server closed a connection: %w", io.ErrUnexpectedEOF)
	}
	replies, err := c.take(l.buf[:n])
	if err != nil {
		return err
	}
	if replies > 0 {
		l.lastNano = l.nowNano()
		l.tally.count(c.group, replies, l.lastNano-c.sentNano)
		if seen := &l.seen[c.group]; l.counting && !seen.Load() {
			seen.Store(true)
		}
	}
	if c.waiting > 0 {
		return nil
	}
	return l.send(c)
}

// send writes the next batch.
func (l *loop) send(c *conn) error {
	c.batch(l.nowNano())
	if c.waiting == 0 {
		l.open--
		return nil
	}
	return l.flush(c)
}

// flush writes what is left of the batch, now or when there is room.
func (l *loop) flush(c *conn) error {
	for c.written < len(c.out) {
		n, err := unix.Write(c.fd, c.out[c.written:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return l.blocked(c, true)
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("write: %w", err)
		}
		c.written += max(n, 0)
	}
	return l.blocked(c, false)
}

// blocked has the loop woken when there is room to write, or no more.
func (l *loop) blocked(c *conn, now bool) error {
	if c.blocked == now {
		return nil
	}
	c.blocked = now
	events := uint32(unix.EPOLLIN)
	if now {
		events |= unix.EPOLLOUT
	}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_MOD, c.fd, &unix.EpollEvent{Events: events, Fd: int32(c.fd)})
}
