package server

import (
	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
)

// request is one parsed request. It borrows from what was received.
type request struct {
	args [][]byte
	cmd  *command.Command // nil when unknown
	err  error            // why it will not run, from Resolve
	keys []shard.Key
	end  int  // bytes from the first request's beginning to behind this one
	near bool // what the lookups of its keys need has been fetched
}

// maxAhead is how many requests of a pipeline are parsed before the first of
// them runs, so that the waits for memory of all their lookups overlap, and how
// many keys end a batch. Measured on the prototype: SET in pipelines of 16 took
// about half.
const maxAhead = 32

// parseAhead fills ex.ahead with the requests that data begins with, usually
// one. Of a pipeline it takes several, as long as nothing between them can
// change how they are read:
//
//   - a row that is not eligible for grouping ends the batch: the session may
//     stop before it, and then what is behind it would be parsed over and
//     over; or be in another database after it;
//   - an inline request is taken alone, for parsing has unquoted it in place
//     and it must not be parsed twice.
//
// It returns a protocol error only when no request comes before it.
func (ex *executor) parseAhead(s *Session, data []byte) error {
	clear(ex.ahead)
	ex.ahead, ex.args, ex.keys = ex.ahead[:0], ex.args[:0], ex.keys[:0]
	for end := 0; end < len(data) && len(ex.ahead) < maxAhead && len(ex.keys) < maxAhead; {
		first := len(ex.ahead) == 0
		array := data[end] == '*'
		if !first && !array {
			break
		}
		from := len(ex.args)
		all, n, err := s.parser.Next(ex.args, data[end:])
		if err != nil && first {
			return err
		}
		if n == 0 || err != nil {
			break // what came before it runs first; then it is found again
		}
		end += n
		ex.args = all
		ex.ahead = append(ex.ahead, request{})
		r := &ex.ahead[len(ex.ahead)-1]
		r.args, r.end = all[from:len(all):len(all)], end
		if len(r.args) > 0 {
			ex.prepare(r)
		}
		if !array || r.cmd != nil && !eligible(r.cmd, ex.path, &s.state) {
			break
		}
	}
	if len(ex.ahead) > 1 && ex.tx != nil {
		ex.fetchAhead(s.state.DB)
	}
	return nil
}

// fetchAhead fetches what the batch's first lookups will need. A request of
// more keys than that fetches for itself as it goes on.
func (ex *executor) fetchAhead(db int) {
	n := min(len(ex.keys), maxAhead)
	ex.tx.Prefetch(db, ex.keys[:n])
	for i := range ex.ahead {
		r := &ex.ahead[i]
		if n -= len(r.keys); n < 0 {
			return
		}
		r.near = true
	}
}

// prepare finds a request's row and keys. An unknown command and a wrong
// number of arguments are found here and answered in their turn.
func (ex *executor) prepare(r *request) {
	r.cmd, r.err = command.Resolve(r.args)
	if r.err != nil {
		return
	}
	from := len(ex.keys)
	ex.keys = command.AppendKeys(ex.keys, r.cmd, r.args)
	r.keys = ex.keys[from:]
}
