package server

import "github.com/hapaxkv/hapax/internal/command"

// execPath is how a request reaches its handler. Eligibility is decided for
// each path anew, since each releases replies in its own way.
type execPath uint8

const (
	pathNone      execPath = iota
	pathLoop               // epoll loop: replies leave at the end of the round
	pathGoroutine          // one goroutine: replies leave after its own commit
	pathMemory             // no socket: the caller takes the replies
)

// eligible is the one rule for group commit: may c run while earlier replies
// of its connection still wait for the log? Only rows that were reviewed may
// (blocking, rollback, order of replies), on a path that holds replies back as
// a whole, in a session that goes on afterwards. What is not said here is no.
func eligible(c *command.Command, path execPath, s *command.Session) bool {
	switch path {
	case pathLoop, pathGoroutine, pathMemory:
	default:
		return false
	}
	return c.Group == command.Grouped && !s.CloseAfter
}
