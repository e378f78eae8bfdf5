package server

// readBytes is the size of a shared read buffer and with that what one
// connection may send into a round.
const readBytes = 64 << 10

// bulkReadBytes bounds what a large value may send into a round, once it is
// read straight into its own buffer.
const bulkReadBytes = 256 << 10

// space is where a session's next bytes are to be read: the shared buffer,
// behind what is left of an unfinished request, or for a large request the
// session's own buffer. That grows with what has arrived, never with what was
// declared (I12).
func (s *Session) space(shared []byte) []byte {
	if s.fits(shared) {
		return shared[copy(shared, s.in[s.inAt:]):]
	}
	s.grow(len(s.in) - s.inAt)
	room := s.in[len(s.in):cap(s.in)]
	return room[:min(len(room), bulkReadBytes)]
}

// fits says whether the unfinished request is small enough to be moved to the
// shared buffer and read on there.
func (s *Session) fits(shared []byte) bool {
	return len(s.in)-s.inAt <= len(shared)/2 && s.parser.Want() <= len(shared)
}

// grow makes room behind in: in a buffer that lies idle, if there is one for
// the whole request, and otherwise in one for twice as much as has arrived, but
// not beyond what the request wants.
func (s *Session) grow(pending int) {
	if s.inAt > 0 && pending < s.inAt {
		s.in = s.in[:copy(s.in, s.in[s.inAt:])]
		s.inAt = 0
	}
	want := s.parser.Want()
	if cap(s.in)-len(s.in) >= min(max(want-pending, 1), readBytes) {
		return
	}
	grown := append(s.roomFor(pending, want), s.in[s.inAt:]...)
	s.giveInput(nil)
	s.in, s.inAt = grown, 0
}

// roomFor is an empty buffer for the beginning of a request that goes on.
func (s *Session) roomFor(pending, want int) []byte {
	if b := s.srv.requests.take(want); b != nil {
		return b
	}
	size := max(2*pending, readBytes)
	if want > pending {
		size = min(size, want)
	}
	if b := s.srv.requests.take(size); b != nil {
		return b
	}
	return make([]byte, 0, size)
}

// receive runs what n bytes at space made complete. shared must be what space
// was given.
func (s *Session) receive(ex *executor, shared []byte, n int) {
	ex.tally.netIn += int64(n)
	s.touch(ex.nowMilli)
	if s.fits(shared) {
		data := shared[:len(s.in)-s.inAt+n]
		s.keep(ex, data[s.run(ex, data):])
	} else {
		s.in = s.in[:len(s.in)+n]
		s.resume(ex)
	}
	s.checkInput(ex)
}

// keep stores what could not run yet.
func (s *Session) keep(ex *executor, rest []byte) {
	if len(rest) == 0 || s.stop == stopEnd {
		s.dropInput(ex)
		return
	}
	if cap(s.in) < len(rest) {
		s.giveInput(&ex.buffers)
		if len(rest) <= bufferBytes && s.parser.Want() <= readBytes {
			s.in = ex.buffers.take()
		} else {
			s.in = s.roomFor(len(rest), s.parser.Want())
		}
	}
	s.in, s.inAt = append(s.in[:0], rest...), 0
}

// dropInput gives the session's own buffer back.
func (s *Session) dropInput(ex *executor) {
	s.giveInput(&ex.buffers)
	s.in, s.inAt = nil, 0
}

// giveInput gives s.in away. Nobody reads it any more.
func (s *Session) giveInput(small *bufferStack) {
	switch {
	case cap(s.in) <= keptBytes:
		if small != nil {
			small.give(s.in)
		}
	case !s.srv.requests.give(s.in):
		s.srv.trim.droppedBytes.Add(int64(cap(s.in)))
	}
}

// backlog says whether something is kept that did not run yet.
func (s *Session) backlog() bool { return s.held != nil || len(s.in) > s.inAt }

// resume runs what is kept.
func (s *Session) resume(ex *executor) {
	s.inAt += s.run(ex, s.in[s.inAt:])
	if s.inAt >= len(s.in) {
		s.dropInput(ex)
	}
	if s.eof && s.stop == running {
		s.end()
	}
}

// checkInput closes a client whose unfinished request is over the limit.
func (s *Session) checkInput(ex *executor) {
	if pending := len(s.in) - s.inAt; int64(pending) > ex.tun.QueryBufferLimit {
		ex.tally.queryLimitCloses++
		s.srv.logf(LevelWarning, "Closing client %s that reached max query buffer length (qbuf %d bytes)", s.addr, pending)
		s.cutOff()
	}
}
