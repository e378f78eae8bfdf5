package load

import (
	"fmt"
	"time"
)

// conn is what one connection has sent and what it waits for.
type conn struct {
	fd       int
	group    int
	script   Script
	pipeline int
	quota    int // requests that may still be sent; -1: no end
	waiting  int // replies of the batch that haven't come
	sentNano int64
	in       reader
	out      []byte // of the batch, from written on
	written  int
	blocked  bool // the loop waits for room to write
}

// batch puts the next requests into out. None is left when the quota is used
// up.
func (c *conn) batch(nowNano int64) {
	n := c.pipeline
	if c.quota >= 0 {
		n = min(n, c.quota)
		c.quota -= n
	}
	c.out, c.written = c.out[:0], 0
	for range n {
		c.out = c.script.Append(c.out)
	}
	c.waiting, c.sentNano = n, nowNano
}

// take goes through what has arrived, and returns how many replies it ended.
func (c *conn) take(b []byte) (replies int, err error) {
	for len(b) > 0 {
		rest, done, err := c.in.next(b)
		if err != nil {
			return replies, err
		}
		if !done {
			break
		}
		b = rest
		if c.waiting == 0 {
			return replies, fmt.Errorf("a reply that nothing was sent for: %c%q", c.in.reply.Kind, c.in.reply.Head)
		}
		if err := c.script.Reply(&c.in.reply); err != nil {
			return replies, err
		}
		c.waiting--
		replies++
	}
	return replies, nil
}

// tally counts for one loop.
type tally struct {
	groups   []GroupResult
	fromNano int64
	stopped  bool // nothing counts any more
}

func newTally(groups []Group) *tally {
	t := &tally{}
	for _, g := range groups {
		t.groups = append(t.groups, GroupResult{Name: g.Name, Latency: newHistogram()})
	}
	return t
}

// start forgets what was counted.
func (t *tally) start(nowNano int64) {
	t.fromNano = nowNano
	for i := range t.groups {
		t.groups[i].Requests = 0
		t.groups[i].Latency.Reset()
	}
}

func (t *tally) count(group, replies int, nano int64) {
	if t.stopped {
		return
	}
	g := &t.groups[group]
	g.Requests += int64(replies)
	// Past the histogram's end is at its end.
	g.Latency.RecordValues(min(max(nano, leastNano), mostNano), int64(replies))
}

// stop keeps what it was told the first time.
func (t *tally) stop(nowNano int64) {
	if t.stopped {
		return
	}
	t.stopped = true
	for i := range t.groups {
		t.groups[i].Seconds = time.Duration(nowNano - t.fromNano).Seconds()
	}
}
