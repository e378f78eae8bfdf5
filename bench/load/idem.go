package load

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// Dialect is how a server is asked to begin and complete an operation: by IDEM,
// or by scripts with the same arguments.
type Dialect struct {
	BeginSHA, CompleteSHA string // empty: IDEM
}

// Retention is how long records are kept: longer than any run.
const Retention = "86400000"

const (
	idemPrefix = "order:"
	// A digest in hex and a random token, as a gateway would send them. The
	// digest ends in the operation's number.
	digestHead = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822c"
	otherHead  = "60303ae22b998861bce3b28f33eec1be758a213c86c93c07"
	owner      = "f1d2d2f924e986ac86fdf7b36c94bcdf"
)

// begin asks to begin operation n, with its own digest or another.
func (d Dialect) begin(b []byte, n uint64, head string) []byte {
	b = digest(command(b, d.BeginSHA, "BEGIN", n), head, n)
	return Bulk(Bulk(b, owner), Retention)
}

func (d Dialect) complete(b []byte, n uint64, result []byte) []byte {
	b = digest(command(b, d.CompleteSHA, "COMPLETE", n), digestHead, n)
	return Bulk(Bulk(b, owner), result)
}

// command is the beginning of a request about operation n, of which three
// arguments are missing: verb of IDEM, or the script with that digest.
func command(b []byte, sha, verb string, n uint64) []byte {
	if sha == "" {
		return Bulk(Key(Bulk(Array(b, 6), "IDEM"), idemPrefix, n), verb)
	}
	return Key(Bulk(Bulk(Bulk(Array(b, 7), "EVALSHA"), sha), "1"), idemPrefix, n)
}

// digest adds 64 hex digits.
func digest(b []byte, head string, n uint64) []byte {
	const digits = 16
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(head)+digits), 10)
	b = append(b, '\r', '\n')
	b = append(b, head...)
	for shift := 60; shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&15])
	}
	return append(b, '\r', '\n')
}

// Mix is how often a client does what, of 100 operations that it begins.
type Mix struct {
	Replays   int // asks again for an operation that is completed
	Conflicts int // asks for one with another digest
	Pending   int // asks again for one that it has begun and not completed
} // the rest are fresh: begun, and completed once that was granted

// Idem is a script of whole operations. Every reply is compared with the one
// that the state machine must give.
type Idem struct {
	dialect Dialect
	mix     Mix
	result  []byte
	rnd     *rand.Rand

	next, step uint64 // fresh operations have numbers of this client's own
	granted    fifo[uint64]
	completed  [64]uint64 // the last ones
	done       int
	sent       fifo[asked]
}

// asked is a request and the reply it must have.
type asked struct {
	n    uint64
	want outcome
}

type outcome byte

const (
	acquired outcome = iota
	pending
	conflict
	completed
	published
)

// NewIdem is the script of one of some clients. first is where the run's
// numbers begin: no two runs without a flush between them may share numbers.
func NewIdem(d Dialect, mix Mix, result []byte, client, clients int, first uint64) *Idem {
	return &Idem{dialect: d, mix: mix, result: result, rnd: rand.New(rand.NewPCG(uint64(client), 5)),
		next: first + uint64(client), step: uint64(clients)}
}

// Append implements Script.
func (s *Idem) Append(b []byte) []byte {
	if s.granted.len() > 0 {
		n := s.granted.pop()
		s.completed[s.done%len(s.completed)] = n
		s.done++
		s.sent.push(asked{n, published})
		return s.dialect.complete(b, n, s.result)
	}
	x := s.rnd.IntN(100)
	if s.done == 0 {
		x = 100 // nothing to ask for again
	}
	old := func() uint64 { return s.completed[s.rnd.IntN(min(s.done, len(s.completed)))] }
	switch m := s.mix; {
	case x < m.Replays:
		return s.begin(b, old(), digestHead, completed)
	case x < m.Replays+m.Conflicts:
		return s.begin(b, old(), otherHead, conflict)
	case x < m.Replays+m.Conflicts+m.Pending && s.sent.len() > 0 && s.sent.items[len(s.sent.items)-1].want == acquired:
		return s.begin(b, s.sent.items[len(s.sent.items)-1].n, digestHead, pending)
	}
	n := s.next
	s.next += s.step
	return s.begin(b, n, digestHead, acquired)
}

func (s *Idem) begin(b []byte, n uint64, head string, want outcome) []byte {
	s.sent.push(asked{n, want})
	return s.dialect.begin(b, n, head)
}

// Reply implements Script.
func (s *Idem) Reply(r *Reply) error {
	a := s.sent.pop()
	if err := a.want.check(r, len(s.result)); err != nil {
		return fmt.Errorf("operation %d: %w", a.n, err)
	}
	if a.want == acquired {
		s.granted.push(a.n)
	}
	return nil
}

var outcomeNames = [...]string{acquired: "acquired", pending: "pending", conflict: "conflict", completed: "completed", published: "1"}

func (o outcome) check(r *Reply, resultBytes int) error {
	name := outcomeNames[o]
	if string(r.Head) != name || r.Kind == '-' || o == completed && r.Bytes != len(name)+resultBytes {
		return fmt.Errorf("%c%q with %d bytes, want %s", r.Kind, r.Head, r.Bytes, name)
	}
	return nil
}

// Begins is a script that only begins: fresh operations, or replays of ones
// that Completes has left.
type Begins struct {
	dialect     Dialect
	fresh       bool
	next, step  uint64
	keys        *Keys
	resultBytes int
}

// NewBegins begins operations that nobody has begun.
func NewBegins(d Dialect, client, clients int, first uint64) *Begins {
	return &Begins{dialect: d, fresh: true, next: first + uint64(client), step: uint64(clients)}
}

// NewReplays begins operations that are completed, with results of a size.
func NewReplays(d Dialect, keys *Keys, resultBytes int) *Begins {
	return &Begins{dialect: d, keys: keys, resultBytes: resultBytes}
}

// Append implements Script.
func (s *Begins) Append(b []byte) []byte {
	if !s.fresh {
		return s.dialect.begin(b, s.keys.Next(), digestHead)
	}
	s.next += s.step
	return s.dialect.begin(b, s.next-s.step, digestHead)
}

// Reply implements Script.
func (s *Begins) Reply(r *Reply) error {
	if s.fresh {
		return acquired.check(r, 0)
	}
	return completed.check(r, s.resultBytes)
}

// Completes is a script that begins and completes operations first, first+step
// and so on.
func Completes(d Dialect, result []byte, client, clients int, first uint64) *Idem {
	return NewIdem(d, Mix{}, result, client, clients, first)
}

// OperationKey is the key of operation n.
func OperationKey(n uint64) string { return fmt.Sprintf("%s%0*d", idemPrefix, keyDigits, n) }
