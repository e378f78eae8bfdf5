// Package clock is the only place that reads the machine's clocks. It yields
// server time T (I10): Unix milliseconds that never run backwards.
//
// It promises that between any two readings T advances by at least half and at
// most 65/64 of the time that really passed, whatever the wall clock does, so
// a deadline is never reached noticeably early and T never stands still. Three
// things are exempt, each on purpose: New trusts the wall clock it finds,
// Raise lifts T to what the log carried, FollowWall is the operator's word.
// It assumes a monotonic clock that counts suspended time. It never sets a
// clock.
package clock

import (
	"sync"
	"time"
)

// Source is the machine's clocks.
type Source interface {
	// Read returns both clocks, taken as close together as can be: Unix time
	// in nanoseconds, which may step either way, and a monotonic time, which
	// never steps and counts suspended time where the system can tell.
	Read() (wallNano, monoNano int64)
}

const (
	// aheadDivisor: T gains on a wall clock ahead of it by at most 1/64 of
	// the time that passes. Ordinary NTP slewing (1/2000) stays far below, so
	// T follows it exactly; a deadline in an hour comes at most a minute early.
	aheadDivisor = 64
	// behindDivisor: while the wall clock is behind, T gives up half of the
	// time that passes until they meet.
	behindDivisor = 2
	// toleranceNano is the distance at which a step is reported. NTP slews
	// smaller offsets away (its step threshold is 128 ms), so more than this
	// is somebody setting the clock.
	toleranceNano = int64(250 * time.Millisecond)
)

// Clock yields T. Safe for concurrent use; NowMilli allocates nothing.
type Clock struct {
	src  Source
	logf func(format string, args ...any)

	mu         sync.Mutex
	lastMono   int64
	offsetNano int64 // T minus the monotonic clock
	gapNano    int64 // wall clock minus T at the last reading
	reported   int64 // the gap that was last reported, 0 when they agree
}

// New starts a clock. logf gets the report of steps; nil discards.
func New(src Source, logf func(format string, args ...any)) *Clock {
	if logf == nil {
		logf = func(string, ...any) {}
	}
	wall, mono := src.Read()
	return &Clock{src: src, logf: logf, lastMono: mono, offsetNano: wall - mono}
}

// NowMilli advances T and returns it.
func (c *Clock) NowMilli() int64 {
	c.mu.Lock()
	t := c.advance()
	news := c.news()
	gap := c.gapNano
	c.mu.Unlock()
	if news {
		c.report(gap)
	}
	return milli(t)
}

// advance reads the source and returns T in nanoseconds. Caller holds mu, so
// that readings are used in the order they were taken.
func (c *Clock) advance() int64 {
	wall, mono := c.src.Read()
	passed := max(mono-c.lastMono, 0)
	c.lastMono += passed
	c.gapNano = wall - (c.lastMono + c.offsetNano)
	var shift int64
	if c.gapNano > 0 {
		shift = min(c.gapNano, passed/aheadDivisor)
	} else {
		shift = -min(-c.gapNano, passed/behindDivisor)
	}
	c.offsetNano += shift
	c.gapNano -= shift
	return c.lastMono + c.offsetNano
}

// news tells whether the gap is worth a line in the log: it appeared, it grew
// by another step, it changed sides, or it is gone.
func (c *Clock) news() bool {
	gap, last := magnitude(c.gapNano), magnitude(c.reported)
	sameSide := c.reported == 0 || (c.gapNano > 0) == (c.reported > 0)
	switch {
	case gap > toleranceNano && (!sameSide || gap > last+toleranceNano):
		c.reported = c.gapNano
	case gap <= toleranceNano/2 && c.reported != 0:
		c.reported = 0
	default:
		return false
	}
	return true
}

func (c *Clock) report(gap int64) {
	distance := time.Duration(magnitude(gap)).Round(time.Millisecond)
	switch {
	case magnitude(gap) <= toleranceNano/2:
		c.logf("server time and the wall clock agree again")
	case gap > 0:
		c.logf("the wall clock is %v ahead of server time and the monotonic clock does not confirm it; "+
			"following at 1/%d of real time so that nothing expires early", distance, aheadDivisor)
	default:
		c.logf("the wall clock is %v behind server time; server time runs at half speed until they meet",
			distance)
	}
}

// MonoNano is the source's monotonic clock, for durations.
func (c *Clock) MonoNano() int64 {
	_, mono := c.src.Read()
	return mono
}

// Raise makes T at least tMilli: what the log carried (recovery). A wall clock
// ahead of the log is trusted: the server was down, time passed.
func (c *Clock) Raise(tMilli int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if behind := tMilli*int64(time.Millisecond) - c.advance(); behind > 0 {
		c.offsetNano += behind
		c.gapNano -= behind
	}
}

// FollowWall accepts a forward step of the wall clock at once, on the
// operator's word. A wall clock behind T is never followed back.
func (c *Clock) FollowWall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	if c.gapNano > 0 {
		c.offsetNano += c.gapNano
		c.gapNano = 0
	}
}

// OffsetMilli is T minus the wall clock, for INFO.
func (c *Clock) OffsetMilli() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return milli(-c.gapNano)
}

// milli rounds down, so that T of a wall clock is the wall clock's millisecond.
func milli(nano int64) int64 {
	m := nano / int64(time.Millisecond)
	if nano%int64(time.Millisecond) < 0 {
		m--
	}
	return m
}

func magnitude(n int64) int64 { return max(n, -n) }
