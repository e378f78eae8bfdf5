package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

const killClients = 50

// killCycles is how often each configuration is killed.
func killCycles(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("HAPAX_KILL_CYCLES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("HAPAX_KILL_CYCLES=%q", text)
		}
		return n
	}
	if testing.Short() {
		return 2
	}
	return 5
}

// TestKillUnderLoad kills the server with SIGKILL in the middle of 50 clients'
// work, starts it again on the same files and asks for everything that was
// acknowledged, again and again on one growing set of data:
//
//   - what a client alone changed is as it was after the last answered command,
//     or after some of the unanswered ones, in the order in which it sent them;
//   - an IDEM record that anyone was told of is there, with its owner, state,
//     result and deadline, and at most one client ever acquired it;
//   - a ONCE mark that anyone was told of is there, and one client was first;
//   - a counter is at least what anyone was told it was.
func TestKillUnderLoad(t *testing.T) {
	for _, backend := range []string{"epoll", "goroutine"} {
		for _, loops := range []string{"1", "4"} {
			t.Run(backend+" "+loops, func(t *testing.T) {
				t.Parallel()
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				k := newKillRun(t, seed, "--io-backend", backend, "--io-loops", loops, "--appendfsync", "always", "--wal-segment-size", "1mb")
				for cycle := range killCycles(t) {
					k.cycle(cycle)
					if t.Failed() {
						return
					}
				}
				k.lastStart()
			})
		}
	}
}

// killRun is one configuration under test over all its cycles.
type killRun struct {
	t       *testing.T
	dir     string
	args    []string
	rnd     *rand.Rand
	workers []*killWorker
	shared  *shared

	acknowledged atomic.Int64 // replies in this cycle
	killAt       int64        // how many of them the kill waits for
	reached      chan struct{}
}

func newKillRun(t *testing.T, seed uint64, args ...string) *killRun {
	k := &killRun{t: t, dir: t.TempDir(), args: args, rnd: rand.New(rand.NewPCG(seed, 0)), shared: newShared()}
	for i := range killClients {
		k.workers = append(k.workers, &killWorker{
			run: k, id: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)+1)), private: newPrivate(i),
		})
	}
	return k
}

// cycle loads, kills, starts and checks once.
func (k *killRun) cycle(n int) {
	s := start(k.t, k.dir, k.args...)
	k.acknowledged.Store(0)
	k.killAt = 200 + k.rnd.Int64N(6000)
	k.reached = make(chan struct{})
	k.shared.begin(n)
	var wg sync.WaitGroup
	for _, w := range k.workers {
		wg.Go(func() { w.work(s.addr) })
	}
	select {
	case <-k.reached:
	case <-s.done:
		k.t.Errorf("cycle %d: the server ended by itself, exit %d", n, s.exitCode())
	case <-time.After(startTimeout):
		k.t.Errorf("cycle %d: only %d of %d replies came", n, k.acknowledged.Load(), k.killAt)
	}
	s.kill()
	wg.Wait()
	if k.t.Failed() {
		return
	}
	killedMilli := time.Now().UnixMilli()
	s = start(k.t, k.dir, k.args...)
	k.check(s, n, killedMilli)
	k.t.Logf("cycle %d: killed after %d replies", n, k.acknowledged.Load())
	// The next cycle finds the server as the last left it: killed at rest, or
	// stopped in order.
	if k.rnd.IntN(2) == 0 {
		s.kill()
	} else if code := s.stop(syscall.SIGTERM); code != 0 {
		k.t.Errorf("cycle %d: exit code %d after SIGTERM", n, code)
	}
}

// lastStart checks once more after the last, orderly or not, stop.
func (k *killRun) lastStart() {
	s := start(k.t, k.dir, k.args...)
	k.check(s, -1, time.Now().UnixMilli())
	if code := s.stop(syscall.SIGTERM); code != 0 {
		k.t.Errorf("exit code %d after SIGTERM", code)
	}
}

func (k *killRun) check(s *server, cycle int, killedMilli int64) {
	k.t.Helper()
	c, err := redis.Dial("tcp", s.addr, redis.DialReadTimeout(wireTimeout))
	if err != nil {
		k.t.Fatal(err)
	}
	defer c.Close()
	for _, w := range k.workers {
		if err := w.private.check(c); err != nil {
			k.t.Errorf("cycle %d: client %d: %v", cycle, w.id, err)
		}
	}
	for _, err := range k.shared.check(c, killedMilli) {
		k.t.Errorf("cycle %d: %v", cycle, err)
	}
}

// answered counts a reply and gives the sign for the kill at the right one.
func (k *killRun) answered() {
	if k.acknowledged.Add(1) == k.killAt {
		close(k.reached)
	}
}

// killWorker is one client. It pipelines a few commands at a time.
type killWorker struct {
	run     *killRun
	id      int
	rnd     *rand.Rand
	private *private
	serial  int
	sent    []request // unanswered, in order
}

// request is a command on the wire. reply is called with its reply, if one
// comes.
type request struct {
	name  string
	args  []any
	reply func(got any, err error) error
}

// work sends and receives until the connection breaks.
func (w *killWorker) work(addr string) {
	defer func() { w.sent = nil }()
	c, err := redis.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer c.Close()
	for {
		for range 1 + w.rnd.IntN(6) {
			for _, r := range w.next() {
				if c.Send(r.name, r.args...) != nil {
					return
				}
				w.sent = append(w.sent, r)
			}
		}
		if c.Flush() != nil {
			return
		}
		for len(w.sent) > 0 {
			got, err := c.Receive()
			if c.Err() != nil {
				return
			}
			r := w.sent[0]
			w.sent = w.sent[1:]
			if err := r.reply(got, err); err != nil {
				w.run.t.Errorf("client %d: %s %.80q: %v", w.id, r.name, r.args, err)
				return
			}
			w.run.answered()
		}
	}
}

// token is unique over the whole run.
func (w *killWorker) token() string {
	w.serial++
	return fmt.Sprintf("c%d-%d", w.id, w.serial)
}

// next chooses what to do: half of it alone, half in competition.
func (w *killWorker) next() []request {
	if w.rnd.IntN(2) == 0 {
		return []request{w.private.next(w)}
	}
	return w.run.shared.next(w)
}
