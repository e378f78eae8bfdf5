package server

import "github.com/hapaxkv/hapax/internal/command"

// startBlock suspends the session, unless what it waits for is there already.
func (s *Session) startBlock(ex *executor, b *command.Block) {
	s.block = *b
	s.stop = stopBlocked
	s.blocked.Store(isBlocked)
	if b.Firm {
		s.blocked.Store(isParked)
	}
	s.srv.clients.waiting.Add(1)
	if why, over := s.blockOver(ex.nowMilli); over {
		s.endBlock(ex, why)
	}
}

// blockOver says whether the session's wait has ended and why. Who asks must
// end it then.
func (s *Session) blockOver(nowMilli int64) (command.Wake, bool) {
	why := command.WakeTimeout
	switch {
	case s.block.LSN > 0 && s.srv.eng.Synced() >= s.block.LSN:
		why = command.WakeReady
	case s.block.Ready != nil && s.block.Ready():
		why = command.WakeReady
	case s.block.DeadlineMilli > 0 && nowMilli >= s.block.DeadlineMilli:
	case s.blocked.Load() == isBlocked, s.blocked.Load() == isParked:
		return 0, false
	}
	if s.blocked.CompareAndSwap(isBlocked, notBlocked) || s.blocked.CompareAndSwap(isParked, notBlocked) {
		return why, true
	}
	// CLIENT UNBLOCK was told that it succeeded.
	if s.blocked.Swap(notBlocked) == unblockErrorAsked {
		return command.WakeUnblockError, true
	}
	return command.WakeUnblock, true
}

// endBlock writes the reply, to the executor's output if the session is
// running in it at present, and lets the session go on.
func (s *Session) endBlock(ex *executor, why command.Wake) {
	done := s.block.Done
	s.dropBlock()
	s.stop = running
	if ex.cur == s {
		done(&ex.out, why)
		return
	}
	s.enter(ex)
	done(&ex.out, why)
	s.leave(ex)
}

// dropBlock forgets what the session waited for.
func (s *Session) dropBlock() {
	s.block = command.Block{}
	s.blocked.Store(notBlocked)
	s.srv.clients.waiting.Add(-1)
}
