package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/command"
)

const defaultUser = "default"

// owner is what carries a session and alone may touch it.
type owner interface {
	// poke asks the owner to look at the session soon: it was killed, or
	// unblocked. Safe from any goroutine; must not block.
	poke(s *Session)
	// publishLock guards client.shown of the owner's sessions.
	publishLock() *sync.Mutex
}

// client is a connection as others see it. Fields above the line never
// change; those below are safe from any goroutine.
type client struct {
	id          int64
	addr, laddr string
	fd          int
	unixSocket  bool
	bornMilli   int64
	owner       owner

	// ---- any goroutine
	killed  atomic.Bool
	blocked atomic.Int32 // blockState
	mu      *sync.Mutex  // guards shown; a loop has one for all its sessions
	shown   shown

	// ---- the owner alone
	seenMilli int64
	lastCmd   *command.Command

	// ---- cron alone
	overSoftMilli int64
	softLen       int
}

// blockState is whether a client waits; who changes it from isBlocked has
// decided why it goes on.
const (
	notBlocked int32 = iota
	isBlocked
	isParked          // CLIENT UNBLOCK does not reach it
	unblockAsked      // CLIENT UNBLOCK id TIMEOUT
	unblockErrorAsked // CLIENT UNBLOCK id ERROR
)

// shown is what CLIENT LIST and cron read, published once a round.
type shown struct {
	seenMilli                   int64
	lastCmd                     *command.Command
	db, proto                   int
	name, user, libName, libVer string
	noEvict, noTouch, closing   bool
	input, inputFree            int
	outputLen, outputCap        int
	lastReply                   int
	blocked                     bool
}

func (c *client) open(s *Server, o owner, addr, laddr string, fd int, unixSocket bool) {
	c.id = s.clients.nextID.Add(1)
	c.owner, c.addr, c.laddr, c.fd, c.unixSocket = o, addr, laddr, fd, unixSocket
	c.bornMilli = s.eng.Clock.NowMilli()
	c.seenMilli = c.bornMilli
	c.mu = o.publishLock()
	c.shown = shown{seenMilli: c.seenMilli, user: defaultUser, proto: 2}
}

// touch notes that the client was heard of.
func (c *client) touch(nowMilli int64) { c.seenMilli = nowMilli }

// publish copies what others see. The caller holds mu.
func (s *Session) publish() {
	p := &s.shown
	p.seenMilli, p.lastCmd = s.seenMilli, s.lastCmd
	p.db, p.blocked, p.closing = s.state.DB, s.stop == stopBlocked, s.closing
	p.input, p.inputFree = len(s.in)-s.inAt, cap(s.in)-len(s.in)
	p.outputLen, p.outputCap, p.lastReply = s.unsent(), cap(s.out)+s.lentBytes, s.lastReply
	if s.metaChanged {
		s.metaChanged = false
		p.proto = s.state.Proto
		p.name, p.user = s.state.Name, s.state.User
		p.libName, p.libVer = s.state.LibName, s.state.LibVer
		p.noEvict, p.noTouch = s.state.NoEvict, s.state.NoTouch
	}
}

// sessionBytes is what an idle connection costs, about.
const sessionBytes = 1 << 10

// info is c's line of CLIENT LIST.
func (c *client) info(nowMilli int64) command.ClientInfo {
	c.mu.Lock()
	p := c.shown
	c.mu.Unlock()
	ci := command.ClientInfo{
		ID: c.id, Addr: c.addr, LAddr: c.laddr, FD: c.fd,
		Name: p.name, User: p.user, LibName: p.libName, LibVer: p.libVer,
		AgeSec: (nowMilli - c.bornMilli) / 1000, IdleSec: max(nowMilli-p.seenMilli, 0) / 1000,
		DB: p.db, Resp: p.proto, Cmd: "NULL", Type: "normal",
		QBuf: p.input, QBufFree: p.inputFree,
		OBL: p.outputLen, OMem: p.outputCap,
		TotMem:  sessionBytes + p.input + p.inputFree + p.outputCap,
		NoEvict: p.noEvict, NoTouch: p.noTouch, Blocked: p.blocked,
	}
	if p.lastCmd != nil {
		ci.Cmd = p.lastCmd.FullName()
	}
	ci.Flags = flags(c, &p)
	return ci
}

// flags are Redis's letters.
func flags(c *client, p *shown) string {
	var b []byte
	for _, f := range []struct {
		set    bool
		letter byte
	}{
		{p.blocked, 'b'},
		{p.closing, 'c'},
		{c.killed.Load(), 'A'},
		{c.unixSocket, 'U'},
		{p.noEvict, 'e'},
		{p.noTouch, 'T'},
	} {
		if f.set {
			b = append(b, f.letter)
		}
	}
	if len(b) == 0 {
		return "N"
	}
	return string(b)
}

// kill asks c's owner to close it; false when somebody did before.
func (s *Session) kill() bool {
	if !s.killed.CompareAndSwap(false, true) {
		return false
	}
	s.owner.poke(s)
	return true
}

// unblock ends c's wait; false when it does not wait.
func (s *Session) unblock(withError bool) bool {
	why := unblockAsked
	if withError {
		why = unblockErrorAsked
	}
	if !s.blocked.CompareAndSwap(isBlocked, why) {
		return false
	}
	s.owner.poke(s)
	return true
}

// registry knows every connection.
type registry struct {
	nextID  atomic.Int64
	count   atomic.Int64 // of open connections
	waiting atomic.Int64 // of blocked clients

	mu   sync.Mutex
	byID map[int64]*Session
}

func (r *registry) init() { r.byID = make(map[int64]*Session) }

func (r *registry) add(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byID[s.id] = s
	r.count.Store(int64(len(r.byID)))
}

func (r *registry) remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, s.id)
	r.count.Store(int64(len(r.byID)))
}

func (r *registry) get(id int64) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// all lists the connections in id order.
func (r *registry) all() []*Session {
	r.mu.Lock()
	list := make([]*Session, 0, len(r.byID))
	for _, s := range r.byID {
		list = append(list, s)
	}
	r.mu.Unlock()
	slices.SortFunc(list, func(a, b *Session) int { return int(a.id - b.id) })
	return list
}
