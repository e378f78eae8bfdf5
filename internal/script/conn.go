package script

import (
	"bufio"
	"errors"
	"io"
	"net"
	"syscall"
)

// NetConn is a Conn over a socket.
type NetConn struct {
	c net.Conn
	r *bufio.Reader
}

// NewNetConn takes over c.
func NewNetConn(c net.Conn) *NetConn {
	return &NetConn{c: c, r: bufio.NewReader(c)}
}

// Send writes b whole.
func (n *NetConn) Send(b []byte) error {
	_, err := n.c.Write(b)
	return err
}

// Receive waits for one reply. A reset counts as the end: a server may close
// while bytes of ours are unread.
func (n *NetConn) Receive() (Reply, error) {
	rep, err := ReadReply(n.r)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return rep, err
}

// Close hangs up.
func (n *NetConn) Close() error { return n.c.Close() }
