//go:build unix

package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setBacklog applies tcp-backlog: a second listen on a bound socket changes
// its queue.
func (s *Server) setBacklog(l net.Listener) {
	raw, ok := l.(syscall.Conn)
	if !ok || s.opts.Backlog <= 0 {
		return
	}
	conn, err := raw.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) {
		if err := unix.Listen(int(fd), s.opts.Backlog); err != nil {
			s.logf(LevelWarning, "Backlog of %v stays at the system's default: %v", l.Addr(), err)
		}
	})
}

// bindUnix makes a socket file with permissions perm (0: by umask). A file
// that nobody listens on is replaced.
func bindUnix(path string, perm uint32) (net.Listener, error) {
	_ = unix.Unlinkat(unix.AT_FDCWD, path, 0) // a socket is no file of the store
	l, err := net.Listen("unix", path)
	if err == nil && perm != 0 {
		if err = unix.Chmod(path, perm); err != nil {
			l.Close()
		}
	}
	return l, err
}
