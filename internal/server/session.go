package server

import (
	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/wal"
)

// stopReason is why a session executes nothing at present.
type stopReason uint8

const (
	running     stopReason = iota
	stopBarrier            // the next command waits until all before it is durable and flushed
	stopOutput             // the client must read first (I12)
	stopBlocked            // a command waits for its condition
	stopTurn               // it had its share of the round
	stopEnd                // it will be closed; nothing more runs
)

// Session is one connection without its socket: bytes in, bytes out. It
// belongs to whoever carries it; others see it through its client record.
//
// Received bytes are parsed where they were read. Only what could not run yet
// is kept, in `in`; only what could not leave yet is kept, in `out`. An idle
// session holds neither.
type Session struct {
	client // as other connections see it

	srv    *Server
	state  command.Session
	parser resp.Parser
	tuned  *Tunables // what the parser's limits were derived from
	authed bool      // likewise

	in   []byte // bytes not executed yet: in[inAt:], from a request's first byte
	inAt int
	held [][]byte // an inline request that waits: parsing it again would unquote it twice
	stop stopReason

	out     []byte // replies; up to sent they left, up to upTo they may leave
	sent    int
	upTo    int
	mark    int // up to here they may leave once markLSN is durable
	markLSN wal.LSN
	need    wal.LSN // what all of out observed (I5)

	pieces     []resp.Piece // parts of the replies that the store lent
	piecesLeft int          // pieces that have left
	lentBytes  int          // of the others

	block       command.Block
	turnNano    int64 // when this turn's time began to count, 0 before
	closing     bool  // close once out is flushed
	eof         bool  // the client will send no more
	cut         bool  // close now, deliver nothing: limit, attack, failed reply
	lastReply   int   // size of the last reply, which limits never count
	metaChanged bool  // what CLIENT LIST shows may have changed
}

// init makes c a fresh session of s.
func (c *Session) init(s *Server, o owner, addr, laddr string, fd int, unixSocket bool) {
	t := s.tun.Load()
	c.srv = s
	c.client.open(s, o, addr, laddr, fd, unixSocket)
	c.state.ID = c.id
	c.state.User = defaultUser
	c.state.Proto = 2
	c.state.Authenticated = t.Password == ""
	c.metaChanged = true
}

// run executes the requests in data, which starts at a request's first byte,
// until it ends or the session stops, and says how many bytes it used. The
// rest is the caller's to keep.
func (s *Session) run(ex *executor, data []byte) (used int) {
	s.enter(ex)
	defer s.leave(ex)
	if s.held != nil && s.stop == running {
		s.runHeld(ex)
	}
	for s.stop == running {
		if err := ex.parseAhead(s, data[used:]); err != nil {
			s.protocolError(ex, err)
			break
		}
		if len(ex.ahead) == 0 {
			break
		}
		used += s.runAhead(ex, data[used:])
	}
	if s.stop == stopEnd {
		return len(data)
	}
	return used
}

// runAhead runs what parseAhead found in data and says how many bytes that
// used up. When the session stops on the way, the rest is parsed again later.
func (s *Session) runAhead(ex *executor, data []byte) (used int) {
	for i := range ex.ahead {
		r := &ex.ahead[i]
		if len(r.args) > 0 {
			if ex.dispatch(s, r) == mustWait {
				s.stop = stopBarrier
				if data[used] != '*' {
					s.hold(r.args)
					used = r.end
				}
				s.parser.Reset()
				return used
			}
			s.afterCommand(ex)
		}
		used = r.end
		if s.stop != running && i+1 < len(ex.ahead) {
			s.parser.Reset()
			return used
		}
	}
	return used
}

// runHeld runs an inline request that had to wait.
func (s *Session) runHeld(ex *executor) {
	r := request{args: s.held}
	s.held = nil
	ex.prepare(&r)
	if ex.dispatch(s, &r) == mustWait {
		s.held, s.stop = r.args, stopBarrier
		return
	}
	s.afterCommand(ex)
}

// enter and leave lend the executor the session's output, so that handlers
// append to it directly.
func (s *Session) enter(ex *executor) {
	if s.tuned != ex.tun || s.authed != s.state.Authenticated {
		s.limitParser(ex.tun)
	}
	s.turnNano, ex.tally.nowNano = 0, 0
	if s.out == nil {
		s.out = ex.buffers.take()
	}
	ex.cur = s
	ex.ctx.Sess = &s.state
	ex.out.Buf, ex.out.Proto = s.out, s.state.Proto
	ex.out.Pieces, ex.out.LentBytes = s.pieces, s.lentBytes
}

func (s *Session) leave(ex *executor) {
	s.out, s.pieces, s.lentBytes = ex.out.Buf, ex.out.Pieces, ex.out.LentBytes
	ex.out.Buf, ex.out.Pieces, ex.out.LentBytes = nil, nil, 0
	ex.ctx.Args = nil
	ex.cur = nil
	if len(s.out) == 0 {
		s.dropOutput(&ex.buffers)
	}
}

// afterCommand decides whether the session goes on.
func (s *Session) afterCommand(ex *executor) {
	if s.authed != s.state.Authenticated {
		s.limitParser(ex.tun)
	}
	switch {
	case s.stop != running:
	case s.state.CloseAfter:
		s.end()
	case int64(ex.out.Len()-s.sent) > ex.tun.OutputPauseBytes:
		s.stop = stopOutput
	case s.turnOver(ex):
		s.stop = stopTurn
	}
}

// turnLimitNano is what one connection may take of a round.
const turnLimitNano = 1000000

// turnOver ends a turn that took long, so that a pipeline of slow commands
// starves nobody. The size of one read bounds what fast ones take. The clock is
// not read for this: the tally does at every command that may be slow, and at
// one in sampleCalls of the others (readings of its own were 1.5% of a GET in
// pipelines of 64).
func (s *Session) turnOver(ex *executor) bool {
	now := ex.tally.nowNano
	if s.turnNano == 0 {
		s.turnNano = now
	}
	return now-s.turnNano > turnLimitNano
}

// hold copies an inline request that must wait.
func (s *Session) hold(args [][]byte) {
	s.held = make([][]byte, len(args))
	for i, a := range args {
		s.held[i] = append([]byte(nil), a...)
	}
}

// end stops execution for good; what is in out still leaves.
func (s *Session) end() {
	s.stop, s.closing = stopEnd, true
	s.inAt, s.held = len(s.in), nil // what runs at present may still read it
}

// cutOff is end without delivering anything more.
func (s *Session) cutOff() {
	s.cut = true
	s.end()
}

// gone releases what a session holds when its connection is closed.
func (s *Session) gone(b *bufferStack) {
	if s.block.Done != nil {
		s.dropBlock()
	}
	s.cutOff()
	s.dropOutput(b)
	s.giveInput(b)
	s.in, s.inAt = nil, 0
}

// protocolError answers a request that is none and closes the connection. A
// client that wants no replies gets none for this either.
func (s *Session) protocolError(ex *executor, err error) {
	if s.state.Reply != command.ReplyOff && s.state.Reply != command.ReplySkipNext {
		ex.out.Error("ERR " + err.Error())
	}
	ex.tally.protocolErrors++
	ex.tally.errorReply("ERR")
	s.srv.logf(LevelVerbose, "Protocol error from client %s: %v", s.addr, err)
	s.end()
}

// ended tells the session that its client sends no more. Everything it sent
// is answered, then the connection closes; one that is blocked closes at once,
// like in Redis.
func (s *Session) ended() {
	s.eof = true
	switch s.stop {
	case running:
		s.end()
	case stopBlocked:
		s.cutOff()
	}
}

// settled says whether a command that is not eligible for grouping may run:
// all before it is durable and flushed.
func (s *Session) settled(ex *executor) bool {
	return ex.out.Len() == s.sent && s.need <= s.srv.eng.Durable()
}

// goOn lifts what stopped the session when it is over, and says whether there
// is something to run at once.
func (s *Session) goOn(tun *Tunables, durable wal.LSN) bool {
	switch s.stop {
	case stopBarrier:
		if s.unsent() > 0 || s.need > durable {
			return false
		}
	case stopOutput:
		if int64(s.unsent()) > tun.OutputPauseBytes/2 {
			return false
		}
	case stopTurn:
	default:
		return false
	}
	s.stop = running
	return s.backlog() || s.eof
}

// finished says whether the connection is to be closed now.
func (s *Session) finished() bool {
	return s.cut || s.closing && s.unsent() == 0
}
