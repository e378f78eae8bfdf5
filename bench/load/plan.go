// Package load drives a server of the Redis protocol in closed loops: a
// connection sends a batch of requests, waits for all their replies, and sends
// the next. It writes and reads the protocol itself and allocates nothing per
// request, so that it is the server that is measured; few goroutines drive any
// number of connections. A request that nobody waits for is never sent: what a
// slow spell of the server delays is measured once, not for all the requests
// that an open load would have sent meanwhile.
//
// It promises that every reply was looked at by the script that sent the
// request, and that a reply the script did not expect ends the run. It needs
// epoll: on other systems than Linux Run says so.
package load

import (
	"fmt"
	"time"
)

// Plan is one run.
type Plan struct {
	Addr     string        // host and port
	Loops    int           // goroutines that drive connections; 0: one
	Warmup   time.Duration // driven but not counted
	Duration time.Duration // counted; 0: until the groups have sent their Requests
	Begin    func()        // called just before the counting begins, and
	End      func()        // just after it has ended, while the load still runs
	Groups   []Group       // run at the same time
}

// Group is some connections that do the same.
type Group struct {
	Name     string
	Clients  int
	Pipeline int // requests of a batch; 0: one
	Requests int // of all its clients together; 0: until the Duration is over
	// New makes the script of one connection. The scripts of a run are not
	// called from more than one goroutine each.
	New func(client int) Script
}

// Script is what one connection sends and expects.
type Script interface {
	// Append adds the next request to b.
	Append(b []byte) []byte
	// Reply takes the reply to the oldest request without one. An error ends
	// the run.
	Reply(r *Reply) error
}

// check refuses what could not end or not begin.
func (p *Plan) check() error {
	if len(p.Groups) == 0 {
		return fmt.Errorf("a plan without groups")
	}
	for _, g := range p.Groups {
		switch {
		case g.Clients < 1 || g.New == nil:
			return fmt.Errorf("group %q has no clients", g.Name)
		case g.Requests == 0 && p.Duration == 0:
			return fmt.Errorf("group %q would never end", g.Name)
		case g.Requests > 0 && (p.Warmup > 0 || p.Duration > 0):
			return fmt.Errorf("group %q is counted by requests and by time", g.Name)
		}
	}
	return nil
}

// Run drives the plan to its end.
func Run(p Plan) (Result, error) {
	if err := p.check(); err != nil {
		return Result{}, err
	}
	if p.Loops < 1 {
		p.Loops = 1
	}
	return run(&p)
}
