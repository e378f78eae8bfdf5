package sim

import "maps"

// What a crash may leave is one of the states the store went through, as the
// log is one order of events and its beginning survives. Which ones are
// allowed is bounded by what clients were told:
//
//   - an acknowledged write is in it;
//   - what an acknowledged read spoke of is in it, so the last write to each
//     of its keys, or to its database as a whole;
//   - T is at least what it was when an acknowledged write ran, and past every
//     deadline that an acknowledged reply took for passed (I10).
//
// A command is one step, so one that wrote several records is there whole or
// not at all.

// step is a state and T when the command that led to it ran.
type step struct {
	state state
	t     int64
}

// promise is what a crash must not take back: steps before step, times before t.
type promise struct {
	step int
	t    int64
}

func (p *promise) raise(q promise) {
	p.step = max(p.step, q.step)
	p.t = max(p.t, q.t)
}

// history is the states since the last start, and what was promised of them.
type history struct {
	now   state // after everything that ran
	steps []step
	// first is the number of steps[0]; numbers grow over the whole run.
	first int
	// last is the step that wrote a place last; lastOf one that wrote
	// anything in a database; wholeOf one about the database as a whole.
	last    map[place]int
	lastOf  [databases]int
	wholeOf [databases]int
	// What SIGKILL, and what a power cut, must leave. They differ where
	// appendfsync promises less.
	kill, power promise
}

func newHistory() history { return history{steps: []step{{}}, last: map[place]int{}} }

// top is the number of the last step.
func (h *history) top() int { return h.first + len(h.steps) - 1 }

// add notes what a command did and returns what its reply will promise.
func (h *history) add(c *call) promise {
	if c.wrote {
		h.steps = append(h.steps, step{h.now, c.now})
		for _, p := range c.written {
			h.last[p] = h.top()
			h.lastOf[p.db] = h.top()
		}
		for db, whole := range c.whole {
			if whole {
				h.lastOf[db], h.wholeOf[db] = h.top(), h.top()
			}
		}
	}
	p := promise{t: c.gone}
	for _, at := range c.looked {
		p.step = max(p.step, h.last[at], h.wholeOf[at.db])
	}
	for db, whole := range c.whole {
		if whole {
			p.step = max(p.step, h.lastOf[db])
		}
	}
	if c.wrote {
		p.t = max(p.t, c.now)
	}
	return p
}

// forget drops the steps that no crash may go back to.
func (h *history) forget() {
	if n := min(h.kill.step, h.power.step) - h.first; n > 0 {
		h.steps = append([]step(nil), h.steps[n:]...)
		h.first += n
	}
}

// restartAt makes the states that fit what was recovered the only ones, the
// last of them the present one. They are the same but for keys that have
// expired, so what follows is the same from any of them. t is the T that was
// promised.
func (h *history) restartAt(fits []step, t int64) {
	h.first = h.top() + 1
	h.steps = fits
	h.now = fits[len(fits)-1].state
	h.last = map[place]int{}
	h.lastOf, h.wholeOf = [databases]int{}, [databases]int{}
	h.kill = promise{h.first, t} // a start makes durable what it finds
	h.power = h.kill
}

// copy is independent of h; states are never edited.
func (h *history) copy() history {
	c := *h
	c.steps = append([]step(nil), h.steps...)
	c.last = maps.Clone(h.last)
	return c
}
