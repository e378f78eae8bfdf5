package server

import (
	"github.com/hapaxkv/hapax/internal/netpoll"
	"github.com/hapaxkv/hapax/internal/shard"
)

// socketCalls makes the reads and writes of a round, several with one system
// call where the system can.
type socketCalls struct {
	*netpoll.Vector          // nil: one by one
	slots           [][]byte // what each call of a vector reads into
	sends           []send
	keys            []shard.Key // what the requests at hand seem to be about
	broken          bool
}

// send is a write under way.
type send struct {
	c         *conn
	sizeBytes int
}

// newSocketCalls tells, in the second result, why there is no vector.
func newSocketCalls(wanted bool) (*socketCalls, error) {
	s := &socketCalls{}
	if !wanted {
		return s, nil
	}
	v, err := netpoll.NewVector()
	if err != nil {
		return s, err
	}
	s.Vector = v
	s.slots = make([][]byte, netpoll.VectorCalls)
	for i := range s.slots {
		s.slots[i] = make([]byte, readBytes)
	}
	return s, nil
}

// fit is how many of n calls to make together; 1 means an ordinary call.
func (s *socketCalls) fit(n int) int {
	if s.Vector == nil || s.broken {
		return 1
	}
	return min(n, netpoll.VectorCalls)
}

func (s *socketCalls) send(c *conn, b []byte) {
	s.Send(c.fd, b)
	s.sends = append(s.sends, send{c, len(b)})
}

// Reset forgets the calls made.
func (s *socketCalls) Reset() {
	s.Vector.Reset()
	clear(s.sends)
	s.sends = s.sends[:0]
}

func (s *socketCalls) close() {
	if s.Vector != nil {
		s.Vector.Close()
	}
}

// runCalls makes the calls of l's vector. If the system fails it, the loop goes
// on without: what was not done looks like a socket that was not ready, and is
// reported again.
func (l *loop) runCalls() {
	if err := l.calls.Run(); err != nil {
		l.srv.logf(LevelWarning, "Reading and writing sockets one by one from now on: %v", err)
		l.calls.broken = true
		l.srv.batched.Store(false)
	}
}
