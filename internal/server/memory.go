package server

import (
	"errors"
	"sync"

	"github.com/hapaxkv/hapax/internal/command"
)

// Memory is a session without a socket, for tests, scripts and simulation: it
// runs the same code as a connection, with its caller as the network. One
// goroutine at a time may use it. The store must be recovered, or commands get
// LOADING.
type Memory struct {
	s      Session
	ex     *executor
	mu     sync.Mutex
	shared []byte
	taken  []byte
	parts  [][]byte
}

// NewSession makes a session of s without a socket. It is listed and can be
// killed like any connection.
func (s *Server) NewSession() *Memory {
	m := &Memory{ex: s.newExecutor(pathMemory), shared: make([]byte, readBytes)}
	m.s.init(s, m, "127.0.0.1:0", "127.0.0.1:0", -1, false)
	s.welcome(&m.s)
	return m
}

func (m *Memory) poke(*Session)            {}
func (m *Memory) publishLock() *sync.Mutex { return &m.mu }

// ErrClosed says that the session is closed.
var ErrClosed = errors.New("session is closed")

// Feed receives b and runs what it completes, as one or more rounds without
// commits: replies that are not durable are held back (I5), and a command that
// may not overtake them waits, with all that follows, for Settle.
func (m *Memory) Feed(b []byte) error {
	defer m.s.srv.reportPanic("session")
	if m.Closed() {
		return ErrClosed
	}
	for first := true; first || len(b) > 0; first = false {
		m.ex.begin()
		n := copy(m.s.space(m.shared), b)
		b = b[n:]
		m.s.receive(m.ex, m.shared, n)
		m.goOn()
		m.endRound()
	}
	return nil
}

// End is the client shutting down its side.
func (m *Memory) End() {
	m.ex.begin()
	m.s.ended()
	m.goOn()
	m.endRound()
}

// goOn runs on while output need not leave first: a stopped turn.
func (m *Memory) goOn() {
	for m.s.stop == stopTurn && m.s.goOn(m.ex.tun, m.s.srv.eng.Durable()) {
		m.s.resume(m.ex)
	}
}

func (m *Memory) endRound() {
	m.ex.end()
	m.mu.Lock()
	m.s.publish()
	m.mu.Unlock()
}

// Settle commits what was appended, releases the replies that became durable,
// and runs on what waited for that, until nothing more can. It also looks
// whether a blocked command's condition came true. An error is the log's (I8);
// then no reply is released any more.
func (m *Memory) Settle() error {
	defer m.s.srv.reportPanic("session")
	for {
		if m.s.need > m.s.srv.eng.Durable() {
			m.ex.observed = max(m.ex.observed, m.s.need)
		}
		if err := m.ex.commit(); err != nil {
			m.s.srv.fail(err)
			return err
		}
		m.take()
		m.ex.begin()
		if m.Wake() || m.s.goOn(m.ex.tun, m.s.srv.eng.Durable()) {
			m.s.resume(m.ex)
		}
		m.endRound()
		if m.s.need <= m.s.srv.eng.Durable() && m.s.unsent() == 0 && m.s.stop != stopTurn {
			return nil
		}
	}
}

// Wake lets a blocked command go on if its condition came true, and says so.
func (m *Memory) Wake() bool {
	if m.s.stop != stopBlocked {
		return false
	}
	why, over := m.s.blockOver(m.ex.srv.eng.Clock.NowMilli())
	if over {
		m.s.endBlock(m.ex, why)
	}
	return over
}

// Tick does once what happens by itself: expiry, eviction, the start of
// snapshots. Nobody else does, as long as Serve does not run.
func (m *Memory) Tick() {
	defer m.s.srv.reportPanic("session")
	m.ex.begin()
	m.s.srv.tick(m.ex)
	if err := m.ex.commit(); err != nil {
		m.s.srv.fail(err)
	}
	m.endRound()
}

// take moves what may leave to taken.
func (m *Memory) take() {
	if m.s.srv.broken() || m.s.srv.eng.Err() != nil {
		return
	}
	for left := m.s.releasable(m.s.srv.eng.Durable()); left > 0; {
		parts, n := m.s.appendFront(m.parts[:0], left)
		for _, b := range parts {
			m.taken = append(m.taken, b...)
		}
		clear(parts)
		m.parts = parts
		m.ex.tally.netOut += int64(n)
		m.s.left(&m.ex.buffers, n)
		left -= n
	}
}

// Output is what has left since the last call: replies whose observations are
// durable. It is valid until the next call of any method.
func (m *Memory) Output() []byte {
	m.take()
	out := m.taken
	m.taken = m.taken[:0]
	return out
}

// Held is how many bytes of replies wait for the log.
func (m *Memory) Held() int { return m.s.unsent() }

// Blocked says whether a command waits for its condition.
func (m *Memory) Blocked() bool { return m.s.stop == stopBlocked }

// Closed says whether the server closed the connection, which it does once
// the last reply was taken.
func (m *Memory) Closed() bool { return m.s.killed.Load() || m.s.finished() }

// State is the session as commands see it.
func (m *Memory) State() *command.Session { return &m.s.state }

// Close removes the session.
func (m *Memory) Close() {
	m.s.srv.clients.remove(&m.s)
	m.s.gone(&m.ex.buffers)
	m.ex.end()
}
