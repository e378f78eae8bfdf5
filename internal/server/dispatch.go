package server

import (
	"errors"
	"strings"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
)

// verdict is what became of a request.
type verdict uint8

const (
	answered verdict = iota
	mustWait         // not run, nothing changed: give it in again later
)

var (
	errNoAuth  error = command.Error("NOAUTH Authentication required.")
	errLoading error = command.Error("LOADING Redis is loading the dataset in memory")
)

// A request's way, from parseAhead to its reply:
//
//  1. find its row, check the number of arguments, extract the keys (I11);
//     of a pipeline, for several requests at once;
//  2. check that the session may: authentication;
//  3. check that the server can: loading;
//  4. group eligibility: may it run while earlier replies wait;
//  5. room in memory and on disk, before anything is appended;
//  6. lock the shards of its keys (I6);
//  7. run; what it observed becomes the session's (I5);
//  8. on an error roll the reply back to its beginning;
//  9. count.
//
// Refusals of steps 1 to 3 and 5 are replies like any other.

// dispatch is steps 2 to 9.
func (ex *executor) dispatch(s *Session, r *request) verdict {
	cmd, err := r.cmd, r.err
	switch {
	case err != nil:
		if cmd == nil && isHTTP(r.args[0]) {
			ex.refuseHTTP(s)
			return answered
		}
	case !s.state.Authenticated && ex.tun.Password != "" && cmd.Flags&command.NoAuth == 0:
		err = errNoAuth
	case ex.loading && cmd.Flags&command.Loading == 0:
		err = errLoading
	case !eligible(cmd, ex.path, &s.state) && !s.settled(ex):
		return mustWait
	case cmd.OwnAdmission:
		ex.ctx.Refused = ex.refusal(cmd, r.args)
	case cmd.Flags&command.Write != 0 || cmd.ProbesWrites:
		err = ex.refusal(cmd, r.args)
	}

	mark, before := len(ex.out.Buf), ex.out.Len()
	skipping := s.beginReply()
	if err != nil {
		ex.refuse(cmd, err)
	} else {
		ex.execute(s, r, mark)
	}
	if skipping || s.state.Reply == command.ReplyOff || s.state.Reply == command.ReplySkipNext {
		ex.out.Truncate(mark)
	}
	s.lastReply = ex.out.Len() - before
	return answered
}

// beginReply moves CLIENT REPLY SKIP on by one command and says whether that
// is the one whose reply is dropped.
func (s *Session) beginReply() (skipping bool) {
	switch s.state.Reply {
	case command.ReplySkipNext:
		s.state.Reply = command.ReplySkipping
		return true
	case command.ReplySkipping:
		s.state.Reply = command.ReplyOn
	}
	return false
}

// execute is steps 6 to 9.
func (ex *executor) execute(s *Session, r *request, mark int) {
	cmd := r.cmd
	row := &ex.tally.rows[cmd.ID()]
	started := ex.tally.begin(row, cmd, len(r.args), ex.srv.eng.Clock)

	c := &ex.ctx
	c.Cmd, c.Args, c.Keys, c.Near, c.Block = cmd, r.args, r.keys, r.near, nil
	var err error
	if ex.tx == nil {
		err = cmd.Run(c) // loading: such a row uses no transaction
	} else {
		err = ex.transact(s, cmd)
	}
	if err != nil {
		ex.out.Truncate(mark)
		ex.out.Error(errorText(err))
		row.failed++
		ex.tally.errorReply(errorCode(err))
	}

	s.lastCmd = cmd
	if cmd.Group != command.Grouped {
		s.metaChanged = true
	}
	ex.tally.finish(started, row, ex.srv.eng.Clock)
	if c.Block != nil {
		s.startBlock(ex, c.Block)
	}
}

// transact runs cmd in a transaction.
func (ex *executor) transact(s *Session, cmd *command.Command) error {
	tx := ex.tx
	tx.Begin(ex.ctx.NowMilli, s.state.DB)
	switch cmd.Lock {
	case command.LockByKeys:
		if len(ex.ctx.Keys) > 0 {
			tx.LockKeys(ex.ctx.Keys)
		}
	case command.LockEvery:
		tx.LockAll()
	}
	if s.state.NoTouch {
		tx.NoTouch()
	}
	writes := tx.Writes
	err := cmd.Run(&ex.ctx)
	tx.End()
	ex.observe(s)
	if tx.Writes != writes {
		s.state.LastWrite = tx.Observed()
	}
	return err
}

// refuse answers a request that does not run. cmd is nil when it is unknown.
func (ex *executor) refuse(cmd *command.Command, err error) {
	ex.out.Error(errorText(err))
	ex.tally.errorReply(errorCode(err))
	if cmd != nil {
		row := &ex.tally.rows[cmd.ID()]
		ex.tally.touch(row, cmd.ID())
		row.rejected++
	}
}

// errorText is err as a reply without the leading minus.
func errorText(err error) string {
	if e, ok := err.(command.Error); ok {
		return string(e)
	}
	if errors.Is(err, shard.ErrNoMemory) {
		return "OOM the system gave no memory, nothing was changed"
	}
	text := err.Error()
	if code, _, _ := strings.Cut(text, " "); code != "" && strings.ToUpper(code) == code {
		return text
	}
	return "ERR " + text
}

// errorCode is the first word of an error reply, for INFO errorstats.
func errorCode(err error) string {
	code, _, _ := strings.Cut(errorText(err), " ")
	return code
}

// isHTTP says whether an unknown command is a line of an HTTP request.
func isHTTP(name []byte) bool {
	return command.Is(name, "post") || command.Is(name, "host:")
}

// refuseHTTP cuts off what is likely a browser that was made to talk to us. No
// reply: it might be shown to whoever made it.
func (ex *executor) refuseHTTP(s *Session) {
	ex.srv.logf(LevelWarning, "Possible SECURITY ATTACK detected: client %s sent POST or Host:, which is HTTP. Somebody may be using a browser to reach this server. Connection closed.", s.addr)
	s.cutOff()
}
