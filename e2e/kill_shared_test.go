package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// shared is the keys that all clients compete for, and what they were told.
type shared struct {
	mu       sync.Mutex
	cycle    int
	top      int // contests begun in this cycle
	contests []*contest
	counters map[string]*counter
}

func newShared() *shared { return &shared{counters: map[string]*counter{}} }

func (h *shared) begin(cycle int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cycle, h.top = cycle, len(h.contests)
}

// contest is one IDEM record and one ONCE mark that several clients go for.
type contest struct {
	mu          sync.Mutex
	key, once   string
	fingerprint string

	asked     map[string]bool   // owners that sent BEGIN
	owner     string            // who was told "acquired"
	results   map[string]string // owner → result that it sent with COMPLETE
	completed bool              // somebody was told that it is completed
	witnessed bool              // somebody was told that the record exists
	deadline  int64             // as PEXPIRETIME said; 0 when nobody asked
	earliest  int64             // bounds of the deadline, from the clients' clocks
	latest    int64

	firsts      int // who were told that they are first at the ONCE mark
	onceSeen    bool
	onceUnknown int // ONCE commands without an answer
}

// counter is what clients were told of one INCR key.
type counter struct {
	greatest int64
	told     map[int64]bool
	sent     int64
}

const (
	idemTTLMilli = 6 * 3600 * 1000
	onceTTLMilli = 6 * 3600 * 1000
	// slackMilli is how far the server's clock, which never runs backwards,
	// may be from ours after cycles of starting and stopping.
	slackMilli = 60_000
)

// contest gives a recent contest, or now and then a new one.
func (h *shared) contest(w *killWorker) *contest {
	h.mu.Lock()
	defer h.mu.Unlock()
	recent := len(h.contests) - h.top
	if recent == 0 || w.rnd.IntN(8) == 0 {
		n := len(h.contests)
		h.contests = append(h.contests, &contest{
			key: fmt.Sprintf("idem:%d", n), once: fmt.Sprintf("once:%d", n), fingerprint: fmt.Sprintf("digest-%d", n),
			asked: map[string]bool{}, results: map[string]string{},
		})
		return h.contests[n]
	}
	// Contests of earlier cycles are asked again too: a record from before a
	// crash is as live as any.
	if w.rnd.IntN(10) == 0 {
		return h.contests[w.rnd.IntN(len(h.contests))]
	}
	return h.contests[len(h.contests)-1-w.rnd.IntN(min(recent, 12))]
}

func (h *shared) next(w *killWorker) []request {
	switch w.rnd.IntN(8) {
	case 0:
		return []request{h.count(w, "INCR")}
	case 1:
		return []request{h.count(w, "GET")}
	case 2:
		return []request{h.contest(w).mark()}
	default:
		return h.contest(w).step(w)
	}
}

// count increments or reads a counter. Whatever anyone was told, read or
// written, is a lower bound of what has to be there later.
func (h *shared) count(w *killWorker, command string) request {
	key := fmt.Sprintf("count:%d", w.rnd.IntN(4))
	h.mu.Lock()
	c := h.counters[key]
	if c == nil {
		c = &counter{told: map[int64]bool{}}
		h.counters[key] = c
	}
	if command == "INCR" {
		c.sent++
	}
	h.mu.Unlock()
	return request{name: command, args: []any{key}, reply: func(got any, err error) error {
		n, err := redis.Int64(got, err)
		if err != nil && err != redis.ErrNil {
			return err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if command == "INCR" {
			if c.told[n] {
				return fmt.Errorf("two clients were told %d", n)
			}
			c.told[n] = true
		}
		c.greatest = max(c.greatest, n)
		return nil
	}}
}

// mark goes for the ONCE mark.
func (c *contest) mark() request {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onceUnknown++
	return request{name: "ONCE", args: []any{c.once, onceTTLMilli}, reply: func(got any, err error) error {
		n, err := redis.Int64(got, err)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.onceUnknown--
		c.onceSeen = true
		if n == 1 {
			c.firsts++
			if c.firsts > 1 {
				return errors.New("a second client was told that it is first")
			}
		}
		return nil
	}}
}

// step does what a client of the contract would: it begins, and completes what
// it acquired; and now and then what it would not.
func (c *contest) step(w *killWorker) []request {
	c.mu.Lock()
	mine := c.owner != "" && strings.HasPrefix(c.owner, fmt.Sprintf("c%d-", w.id)) && c.results[c.owner] == ""
	witnessed := c.witnessed
	c.mu.Unlock()
	switch {
	case mine && w.rnd.IntN(3) != 0:
		return []request{c.complete(w)}
	case witnessed && w.rnd.IntN(6) == 0:
		return []request{c.refused("BEGIN", []any{c.key, "BEGIN", "another-digest", w.token(), idemTTLMilli})}
	case witnessed && w.rnd.IntN(6) == 0:
		return []request{c.refused("COMPLETE", []any{c.key, "COMPLETE", c.fingerprint, "nobody", w.token()})}
	}
	return []request{c.begin(w), c.ask()}
}

func (c *contest) begin(w *killWorker) request {
	owner := w.token()
	now := time.Now().UnixMilli()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[owner] = true
	completed := c.completed
	if c.earliest == 0 {
		c.earliest = now + idemTTLMilli - slackMilli
	}
	return request{
		name: "IDEM", args: []any{c.key, "BEGIN", c.fingerprint, owner, idemTTLMilli},
		reply: func(got any, err error) error { return c.began(owner, completed, got, err) },
	}
}

// began takes the reply of a BEGIN down. completed says whether somebody knew,
// before it was sent, that the record is.
func (c *contest) began(owner string, completed bool, got any, err error) error {
	reply, err := redis.Strings(got, err)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.witnessed {
		c.latest = time.Now().UnixMilli() + idemTTLMilli + slackMilli
	}
	c.witnessed = true
	switch {
	case len(reply) == 1 && reply[0] == "acquired":
		if c.owner != "" {
			return fmt.Errorf("acquired by %s and by %s", c.owner, owner)
		}
		c.owner = owner
		return nil
	case len(reply) == 1 && reply[0] == "pending":
		if completed {
			return errors.New("pending after it was completed")
		}
		return nil
	case len(reply) == 2 && reply[0] == "completed":
		c.completed = true
		for _, result := range c.results {
			if result == reply[1] {
				return nil
			}
		}
		return fmt.Errorf("completed with %.60q, which nobody published", reply[1])
	}
	return fmt.Errorf("got %.80q", reply)
}

// complete publishes a result for the one that acquired. The result is sent
// once, so it is known even when no reply comes.
func (c *contest) complete(w *killWorker) request {
	c.mu.Lock()
	defer c.mu.Unlock()
	owner := c.owner
	result := w.token() + strings.Repeat("r", w.rnd.IntN(3000))
	c.results[owner] = result
	return request{
		name: "IDEM", args: []any{c.key, "COMPLETE", c.fingerprint, owner, result},
		reply: func(got any, err error) error {
			if n, err := redis.Int64(got, err); err != nil || n != 1 {
				return fmt.Errorf("got %v, %v, want 1", got, err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.completed = true
			return nil
		},
	}
}

// refused is a BEGIN with another fingerprint, or a COMPLETE by another owner,
// of a record that exists: neither may do anything.
func (c *contest) refused(action string, args []any) request {
	return request{name: "IDEM", args: args, reply: func(got any, err error) error {
		if action == "COMPLETE" {
			if n, err := redis.Int64(got, err); err != nil || n != 0 {
				return fmt.Errorf("got %v, %v, want 0", got, err)
			}
			return nil
		}
		if reply, err := redis.Strings(got, err); err != nil || len(reply) != 1 || reply[0] != "conflict" {
			return fmt.Errorf("got %q, %v, want a conflict", reply, err)
		}
		return nil
	}}
}

// ask reads the deadline, which then may never be another.
func (c *contest) ask() request {
	return request{name: "PEXPIRETIME", args: []any{c.key}, reply: func(got any, err error) error {
		deadline, err := redis.Int64(got, err)
		if err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.sameDeadline(deadline)
	}}
}

func (c *contest) sameDeadline(deadline int64) error {
	if c.deadline != 0 && deadline != c.deadline {
		return fmt.Errorf("the deadline moved from %d to %d", c.deadline, deadline)
	}
	if deadline < c.earliest || c.latest != 0 && deadline > c.latest {
		return fmt.Errorf("the deadline %d is not within %d..%d", deadline, c.earliest, c.latest)
	}
	c.deadline = deadline
	return nil
}

// check asks a fresh server for everything that anyone was told.
func (h *shared) check(c redis.Conn, killedMilli int64) []error {
	var broken []error
	for key, counter := range h.counters {
		n, err := redis.Int64(c.Do("GET", key))
		if err != nil && err != redis.ErrNil || n < counter.greatest || n > counter.sent {
			broken = append(broken, fmt.Errorf("%s is %d, %v; somebody was told %d, %d were sent", key, n, err, counter.greatest, counter.sent))
		}
		counter.greatest = max(counter.greatest, n)
	}
	for _, contest := range h.contests {
		if err := contest.check(c, killedMilli); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", contest.key, err))
		}
	}
	return broken[:min(len(broken), 20)]
}

func (c *contest) check(conn redis.Conn, killedMilli int64) error {
	if c.onceSeen {
		if n, err := redis.Int64(conn.Do("ONCE", c.once, onceTTLMilli)); err != nil || n != 0 {
			return fmt.Errorf("ONCE answers %d, %v; it was marked before", n, err)
		}
	} else if ttl, err := redis.Int64(conn.Do("PTTL", c.once)); err != nil || ttl > 0 && c.onceUnknown == 0 || ttl == -1 {
		return fmt.Errorf("a ONCE mark with %d ms to live (%v), %d unanswered", ttl, err, c.onceUnknown)
	}
	text, err := redis.Bytes(conn.Do("GET", c.key))
	if err == redis.ErrNil {
		if c.witnessed {
			return errors.New("the record is gone, and somebody was told that it exists")
		}
		return nil
	}
	if err != nil {
		return err
	}
	r, err := decodeRecord(text)
	if err != nil {
		return err
	}
	return c.checkRecord(conn, r, killedMilli)
}

func (c *contest) checkRecord(conn redis.Conn, r record, killedMilli int64) error {
	switch {
	case r.fingerprint != c.fingerprint:
		return fmt.Errorf("fingerprint %q", r.fingerprint)
	case c.owner != "" && r.owner != c.owner:
		return fmt.Errorf("owner %q; %q acquired it", r.owner, c.owner)
	case !c.asked[r.owner]:
		return fmt.Errorf("owner %q never asked", r.owner)
	case c.completed && !r.completed:
		return errors.New("pending, and somebody was told that it is completed")
	case r.completed && c.results[r.owner] == "":
		return errors.New("completed, and its owner never completed it")
	case r.completed && r.result != c.results[r.owner]:
		return fmt.Errorf("the result has changed: %d bytes, %d were published", len(r.result), len(c.results[r.owner]))
	}
	// What a crash decided about unanswered commands is decided for good.
	c.witnessed, c.owner, c.completed = true, r.owner, r.completed
	if !r.completed {
		delete(c.results, r.owner)
	}
	if c.latest == 0 {
		c.latest = killedMilli + idemTTLMilli + slackMilli
	}
	deadline, err := redis.Int64(conn.Do("PEXPIRETIME", c.key))
	if err != nil {
		return err
	}
	if err := c.sameDeadline(deadline); err != nil {
		return err
	}
	// And through the command itself, with another owner and a longer time.
	got, err := conn.Do("IDEM", c.key, "BEGIN", c.fingerprint, "the-check", 7*idemTTLMilli)
	return c.began("the-check", r.completed, got, err)
}

// record is what a key of IDEM holds, read here independently of the server's
// own code: docs/format/idem-record.md.
type record struct {
	completed                  bool
	fingerprint, owner, result string
}

func decodeRecord(b []byte) (record, error) {
	const header = 11
	if len(b) < header || b[0] != 0xF1 || b[1] != 'I' || b[2] != 'D' || b[3] != 1 {
		return record{}, fmt.Errorf("no record: %.40q", b)
	}
	fingerprint, owner, result := int(b[5]), int(b[6]), int(binary.LittleEndian.Uint32(b[7:]))
	if len(b) != header+fingerprint+owner+result {
		return record{}, fmt.Errorf("a record of %d bytes says %d+%d+%d+%d", len(b), header, fingerprint, owner, result)
	}
	if b[4] != 1 && b[4] != 2 || b[4] == 1 && result > 0 {
		return record{}, fmt.Errorf("state %d with a result of %d bytes", b[4], result)
	}
	completed := b[4] == 2
	b = b[header:]
	return record{
		completed:   completed,
		fingerprint: string(b[:fingerprint]),
		owner:       string(b[fingerprint : fingerprint+owner]),
		result:      string(b[fingerprint+owner:]),
	}, nil
}
