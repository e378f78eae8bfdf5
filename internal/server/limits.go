package server

import "github.com/hapaxkv/hapax/internal/resp"

// limitParser derives the parser's limits from tunables and authentication.
func (s *Session) limitParser(t *Tunables) {
	s.tuned, s.authed = t, s.state.Authenticated
	s.parser.Limits = resp.Limits{
		MaxBulkBytes:    t.MaxBulkBytes,
		Unauthenticated: t.Password != "" && !s.state.Authenticated,
	}
}

// overHardLimit closes a client whose unread replies are over the hard limit.
// The last reply never counts, so that one legal reply, however large, is
// always deliverable; and since execution stops while output is over
// OutputPauseBytes, a client can only get here with a limit below that.
func (s *Session) overHardLimit(ex *executor) bool {
	limit := ex.tun.OutputHardLimit
	if limit <= 0 || int64(s.unsent()-s.lastReply) <= limit {
		return false
	}
	ex.tally.outputLimitCloses++
	s.srv.logf(LevelWarning, "Client %s scheduled to be closed ASAP for overcoming of output buffer limits: %d bytes unread", s.addr, s.unsent())
	return true
}
