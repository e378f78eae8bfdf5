package load

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Phases of a run. The loops look at them after each wake-up.
const (
	warming int32 = iota
	counting
	counted // the load goes on while the server is looked at
	stopping
)

// control is what all loops of a run look at.
type control struct {
	began   time.Time
	phase   atomic.Int32
	seen    []atomic.Bool // groups that had a reply while it was counted
	running sync.WaitGroup
	failed  chan error // of the first loop that fails
}

func (c *control) nowNano() int64 { return int64(time.Since(c.began)) }

// fail keeps the first error and ends the run.
func (c *control) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
	c.phase.Store(stopping)
}

// run drives the plan: it connects everything, and only then lets loops begin.
func run(p *Plan) (Result, error) {
	c := &control{began: time.Now(), failed: make(chan error, 1), seen: make([]atomic.Bool, len(p.Groups))}
	loops, err := connectAll(p, c)
	defer func() {
		for _, l := range loops {
			l.close()
		}
	}()
	if err != nil {
		return Result{}, err
	}
	if p.Warmup == 0 {
		c.count(p)
	}
	ended := make(chan struct{})
	for _, l := range loops {
		c.running.Go(l.run)
	}
	go func() {
		c.running.Wait()
		close(ended)
	}()
	if p.Warmup > 0 && pause(p.Warmup, ended) {
		c.count(p)
	}
	if p.Duration > 0 {
		// A stall is a figure, too: who was not answered in that time is waited
		// for. The loops give up on a server that answers nobody for long.
		for d := p.Duration; pause(d, ended) && !c.allSeen(); d = 5 * time.Millisecond {
		}
		c.phase.CompareAndSwap(counting, counted)
		if p.End != nil {
			p.End()
		}
		c.phase.Store(stopping)
	}
	<-ended
	if p.Duration == 0 && p.End != nil {
		p.End()
	}
	select {
	case err := <-c.failed:
		return Result{}, err
	default:
	}
	return collect(loops)
}

func (c *control) count(p *Plan) {
	if p.Begin != nil {
		p.Begin()
	}
	c.phase.CompareAndSwap(warming, counting)
}

func (c *control) allSeen() bool {
	for i := range c.seen {
		if !c.seen[i].Load() {
			return false
		}
	}
	return true
}

// pause waits, and says whether the loops still run then.
func pause(d time.Duration, ended <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ended:
		return false
	case <-t.C:
		return true
	}
}

func collect(loops []*loop) (Result, error) {
	var r Result
	for i, l := range loops {
		if i == 0 {
			r.Groups = l.tally.groups
			continue
		}
		for g := range r.Groups {
			r.Groups[g].merge(&l.tally.groups[g])
		}
	}
	if r.Requests() == 0 {
		return r, errors.New("no reply came while the load was counted")
	}
	return r, nil
}
