package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// held is a key's value and deadline; no deadline is -1, as PEXPIRETIME says.
type held struct {
	value         string
	deadlineMilli int64
}

// state is what one client's keys hold.
type state map[string]held

// change is what an unanswered command would do to a state.
type change func(state)

// private is the keys that one client alone changes, so that it knows what each
// command does: the state after the last answered one, and what the unanswered
// ones would do to it in turn.
type private struct {
	id      int
	known   state
	ahead   state // known plus everything sent
	pending []change
	keys    []string
}

func newPrivate(id int) *private {
	p := &private{id: id, known: state{}, ahead: state{}}
	for i := range 6 {
		p.keys = append(p.keys, fmt.Sprintf("own:%d:%d", id, i))
	}
	p.keys = append(p.keys, p.counter(), p.limit())
	return p
}

func (p *private) counter() string { return fmt.Sprintf("own:%d:n", p.id) }
func (p *private) limit() string   { return fmt.Sprintf("own:%d:limit", p.id) }

// One in an hour of a year's window comes back: nothing while the test runs.
const (
	limitMost        = 10_000
	limitWindowMilli = 31_622_400_000
)

func (p *private) next(w *killWorker) []request { return []request{p.command(w)} }

// command makes one up and says what its reply has to be.
func (p *private) command(w *killWorker) request {
	key := p.keys[w.rnd.IntN(6)]
	now, found := p.ahead[key]
	deadline := time.Now().Add(time.Hour).UnixMilli() + w.rnd.Int64N(1e9)
	value := w.token()
	for range w.rnd.IntN(4) {
		value += value
	}
	switch w.rnd.IntN(9) {
	case 0:
		return p.request("SET", []any{key, value}, "OK", func(s state) { s[key] = held{value, -1} })
	case 1:
		return p.request("SET", []any{key, value, "PXAT", deadline}, "OK", func(s state) { s[key] = held{value, deadline} })
	case 2:
		return p.request("APPEND", []any{key, value}, int64(len(now.value)+len(value)), func(s state) {
			h, there := s[key]
			if !there {
				h.deadlineMilli = -1
			}
			s[key] = held{h.value + value, h.deadlineMilli}
		})
	case 3:
		return p.request("DEL", []any{key}, count(found), func(s state) { delete(s, key) })
	case 4:
		return p.request("PEXPIREAT", []any{key, deadline}, count(found), func(s state) {
			if h, there := s[key]; there {
				s[key] = held{h.value, deadline}
			}
		})
	case 5:
		return p.request("PERSIST", []any{key}, count(found && now.deadlineMilli != -1), func(s state) {
			if h, there := s[key]; there {
				s[key] = held{h.value, -1}
			}
		})
	case 6:
		return p.spend()
	default:
		return p.increment()
	}
}

func (p *private) increment() request {
	key := p.counter()
	add := func(s state) int64 {
		n, _ := strconv.ParseInt(s[key].value, 10, 64)
		return n + 1
	}
	return p.request("INCR", []any{key}, add(p.ahead), func(s state) {
		s[key] = held{strconv.FormatInt(add(s), 10), -1}
	})
}

// spend takes one of a rate limit. The model holds what is left; the record in
// the server is asked with a cost of 0.
func (p *private) spend() request {
	key := p.limit()
	left := func(s state) int64 {
		if h, there := s[key]; there {
			n, _ := strconv.ParseInt(h.value, 10, 64)
			return n - 1
		}
		return limitMost - 1
	}
	want := left(p.ahead)
	r := p.request("LIMIT", []any{key, limitMost, limitWindowMilli}, nil, func(s state) {
		s[key] = held{strconv.FormatInt(left(s), 10), -1}
	})
	checked := r.reply
	r.reply = func(got any, err error) error {
		parts, err := redis.Int64s(got, err)
		if err != nil || len(parts) != 4 || parts[0] != 1 || parts[1] != want {
			return fmt.Errorf("got %v, %v, want it to be allowed with %d left", parts, err, want)
		}
		return checked(nil, nil)
	}
	return r
}

func count(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// request puts a command behind those already sent.
func (p *private) request(name string, args []any, want any, change change) request {
	change(p.ahead)
	p.pending = append(p.pending, change)
	return request{name: name, args: args, reply: func(got any, err error) error {
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		p.pending[0](p.known)
		p.pending = p.pending[1:]
		return nil
	}}
}

// check compares what a fresh server holds with the known state plus none, one,
// ... or all of the unanswered commands, and goes on from the one that fits.
func (p *private) check(c redis.Conn) error {
	found, err := p.read(c)
	if err != nil {
		return err
	}
	return p.settle(found)
}

// settle finds which of the unanswered commands were done.
func (p *private) settle(found state) error {
	candidate := maps.Clone(p.known)
	for i := 0; ; i++ {
		if maps.Equal(candidate, found) {
			p.known, p.ahead, p.pending = candidate, maps.Clone(candidate), nil
			return nil
		}
		if i == len(p.pending) {
			return fmt.Errorf("its keys hold\n%s\nand were known as\n%s\nwith %d commands unanswered", show(found), show(p.known), len(p.pending))
		}
		p.pending[i](candidate)
	}
}

func (p *private) read(c redis.Conn) (state, error) {
	found := state{}
	for _, key := range p.keys {
		if key == p.limit() {
			if there, err := redis.Bool(c.Do("EXISTS", key)); err != nil || !there {
				continue
			}
			parts, err := redis.Int64s(c.Do("LIMIT", key, limitMost, limitWindowMilli, 0))
			if err != nil {
				return nil, err
			}
			found[key] = held{strconv.FormatInt(parts[1], 10), -1}
			continue
		}
		value, err := redis.String(c.Do("GET", key))
		if err == redis.ErrNil {
			continue
		}
		if err != nil {
			return nil, err
		}
		deadline, err := redis.Int64(c.Do("PEXPIRETIME", key))
		if err != nil {
			return nil, err
		}
		found[key] = held{value, deadline}
	}
	return found, nil
}

func show(s state) string {
	var out string
	for _, key := range slices.Sorted(maps.Keys(s)) {
		out += fmt.Sprintf("  %s = %.60q (%d bytes) until %d\n", key, s[key].value, len(s[key].value), s[key].deadlineMilli)
	}
	return out
}
