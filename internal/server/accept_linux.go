package server

import (
	"net"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/netpoll"
)

// acceptor is a listening socket in the first loop.
type acceptor struct {
	fd         int
	unixSocket bool
}

// maxAccepts bounds how many connections one event brings in, so that a storm
// of them does not hold up those that are there.
const maxAccepts = 256

// acceptFrom takes new connections and deals them out to the loops in turn.
func (l *loop) acceptFrom(fd int) {
	for _, a := range l.accept {
		if a.fd != fd {
			continue
		}
		for range maxAccepts {
			if !l.acceptOne(a) {
				return
			}
		}
	}
}

// acceptOne says whether there may be more.
func (l *loop) acceptOne(a *acceptor) bool {
	fd, peer, err := unix.Accept4(a.fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	switch err {
	case nil:
	case unix.EAGAIN:
		return false
	case unix.EINTR, unix.ECONNABORTED:
		return true
	default:
		// No descriptors or no memory. The connection stays in the queue and
		// would be reported at once again: look away until the next tick.
		l.srv.logf(LevelWarning, "Accepting client connection: %v", err)
		l.pauseAccept()
		return false
	}
	to := l.all.next()
	c := &conn{loop: to}
	addr, laddr := l.addresses(a, fd, peer)
	c.Session.init(l.srv, c, addr, laddr, fd, a.unixSocket)
	if text := l.srv.refusal(&c.client); text != "" {
		_, _ = unix.Write(fd, []byte(text))
		unix.Close(fd)
		return true
	}
	l.srv.tuneSocket(fd, a.unixSocket)
	l.srv.welcome(&c.Session)
	if to == l {
		l.adopt(c)
	} else {
		to.post(func(in *inbox) { in.fresh = append(in.fresh, c) })
	}
	return true
}

// adopt makes the loop carry c.
func (l *loop) adopt(c *conn) {
	for c.fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*conn, max(len(l.conns), 64))...)
	}
	l.conns[c.fd] = c
	c.has = netpoll.Read
	if err := l.poll.Add(c.fd, netpoll.Read); err != nil {
		l.srv.logf(LevelWarning, "Client %s: %v", c.addr, err)
		l.close(c)
	}
	if c.killed.Load() {
		l.close(c)
	}
}

func (l *loop) pauseAccept() {
	l.acceptPaused = true
	for _, a := range l.accept {
		_ = l.poll.Modify(a.fd, 0)
	}
}

func (l *loop) resumeAccept() {
	if !l.acceptPaused {
		return
	}
	l.acceptPaused = false
	for _, a := range l.accept {
		_ = l.poll.Modify(a.fd, netpoll.Read)
	}
}

// addresses are both ends as CLIENT LIST shows them.
func (l *loop) addresses(a *acceptor, fd int, peer unix.Sockaddr) (addr, laddr string) {
	if a.unixSocket {
		path := l.srv.opts.UnixSocket + ":0"
		return path, path
	}
	local, err := unix.Getsockname(fd)
	if err != nil {
		local = nil
	}
	return addressText(peer), addressText(local)
}

func addressText(a unix.Sockaddr) string {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port)).String()
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port)).String()
	}
	return "?:0"
}

// tuneSocket turns off delays and on keepalives. A socket that refuses works
// without.
func (s *Server) tuneSocket(fd int, unixSocket bool) {
	if unixSocket {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	idle := s.tun.Load().TCPKeepaliveSec
	if idle <= 0 {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, idle)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, max(idle/keepaliveProbes, 1))
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, keepaliveProbes)
}

// takeListener gives the first loop a descriptor of its own for l, which may
// then be closed.
func (l *loop) takeListener(ln *listener) error {
	raw, err := ln.Listener.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	control := raw.Control(func(own uintptr) {
		fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0)
	})
	if control != nil {
		return control
	}
	if err != nil {
		return &net.OpError{Op: "dup", Net: ln.Addr().Network(), Addr: ln.Addr(), Err: err}
	}
	l.accept = append(l.accept, &acceptor{fd: fd, unixSocket: ln.unixSocket})
	return l.poll.Add(fd, netpoll.Read)
}

func (l *loop) closeAcceptors() {
	for _, a := range l.accept {
		unix.Close(a.fd)
	}
	l.accept = nil
}
