package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
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
// acknowledged, again and again on one growing set of data. Snapshots run all
// the time, one after the other; some starts are killed before they are done.
//
//   - what a client alone changed is as it was after the last answered command,
//     or after some of the unanswered ones, in the order in which it sent them;
//     one client has two databases for itself, which it swaps and flushes;
//   - an IDEM record that anyone was told of is there, with its owner, state,
//     result and deadline, and at most one client ever acquired it;
//   - a ONCE mark that anyone was told of is there, and one client was first;
//   - a counter is at least what anyone was told it was;
//   - what was there before the first kill, and is never touched, is there.
func TestKillUnderLoad(t *testing.T) {
	for _, backend := range []string{"epoll", "goroutine"} {
		for _, loops := range []string{"1", "4"} {
			t.Run(backend+" "+loops, func(t *testing.T) {
				t.Parallel()
				seed := uint64(time.Now().UnixNano())
				t.Logf("seed %d", seed)
				args := append([]string{"--io-backend", backend, "--io-loops", loops}, snapshotArgs...)
				k := newKillRun(t, seed, t.TempDir(), args...)
				k.run(killCycles(t))
			})
		}
	}
}

// snapshotArgs make segments small and let the log start snapshots as often as
// it can, beside those that a client asks for.
var snapshotArgs = []string{
	"--appendfsync", "always", "--wal-segment-size", "1mb",
	"--auto-aof-rewrite-min-size", "1mb", "--auto-aof-rewrite-percentage", "10",
}

// killRun is one configuration under test over all its cycles.
type killRun struct {
	t       *testing.T
	dir     string
	args    []string
	rnd     *rand.Rand
	workers []*killWorker
	shared  *shared
	// crash ends a server, which clients are keeping busy or not. dir is what
	// it left, then.
	crash func(s *server, busy bool)

	acknowledged atomic.Int64 // replies in this cycle
	killAt       int64        // how many of them the kill waits for
	reached      chan struct{}

	// What the run did, for its last line.
	told      int64 // replies over all cycles
	crashes   int64
	early     int64 // crashes of servers that had not begun to serve
	snapshots int64 // finished ones
	during    int64 // crashes while one ran
	readied   time.Duration
}

func newKillRun(t *testing.T, seed uint64, dir string, args ...string) *killRun {
	k := &killRun{t: t, dir: dir, args: args, rnd: rand.New(rand.NewPCG(seed, 0)), shared: newShared()}
	k.crash = func(s *server, _ bool) { s.kill() }
	for i := range killClients {
		var own alone = newPrivate(i)
		if i == 0 {
			own = newSwapper()
		}
		k.workers = append(k.workers, &killWorker{run: k, id: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)+1)), own: own})
	}
	return k
}

// run is all cycles, and what they came to.
func (k *killRun) run(cycles int) {
	s := start(k.t, k.dir, k.args...)
	putBallast(k.t, s)
	k.stop(s)
	for cycle := range cycles {
		k.cycle(cycle)
		if k.t.Failed() {
			return
		}
	}
	k.lastStart()
	k.t.Logf("%d crashes (%d in the middle of a snapshot, %d before the server was ready), %d snapshots finished, %d acknowledged operations, all there",
		k.crashes, k.during, k.early, k.snapshots, k.told)
}

// cycle loads, crashes, starts and checks once.
func (k *killRun) cycle(n int) {
	s := k.start()
	k.acknowledged.Store(0)
	k.killAt = 200 + k.rnd.Int64N(6000)
	k.reached = make(chan struct{})
	k.shared.begin(n)
	var wg sync.WaitGroup
	for _, w := range k.workers {
		wg.Go(func() { w.work(s.addr) })
	}
	saver := saveAlways(s, &wg)
	select {
	case <-k.reached:
	case <-s.done:
		k.t.Errorf("cycle %d: the server ended by itself, exit %d", n, s.exitCode())
	case <-time.After(startTimeout):
		k.t.Errorf("cycle %d: only %d of %d replies came", n, k.acknowledged.Load(), k.killAt)
	}
	k.awaitSnapshots(s)
	k.crash(s, true)
	wg.Wait()
	k.crashes++
	k.told += k.acknowledged.Load()
	finished := s.snapshots()
	k.snapshots += finished
	if saver.running {
		k.during++
	}
	if k.t.Failed() {
		return
	}
	killedMilli := time.Now().UnixMilli()
	for k.rnd.IntN(2) == 0 {
		k.crashEarly()
	}
	s = k.start()
	k.check(s, n, killedMilli)
	k.t.Logf("cycle %d: crashed after %d replies and %d snapshots", n, k.acknowledged.Load(), finished)
	// The next cycle finds the server as the last left it: killed at rest, or
	// stopped in order.
	if k.rnd.IntN(2) == 0 {
		k.crash(s, false)
		k.crashes++
	} else {
		k.stop(s)
	}
}

func (k *killRun) start() *server {
	k.t.Helper()
	began := time.Now()
	s := start(k.t, k.dir, k.args...)
	k.readied = time.Since(began)
	return s
}

// awaitSnapshots puts the crash behind none or some snapshots, or into one of
// their last moments or first.
func (k *killRun) awaitSnapshots(s *server) {
	k.t.Helper()
	n := k.rnd.Int64N(4)
	waitFor(k.t, func() bool { return s.snapshots() >= n || s.ended() }, "no snapshot comes to its end")
	time.Sleep(time.Duration(k.rnd.Int64N(int64(60 * time.Millisecond))))
}

// crashEarly ends a start at a random moment, most likely in the middle of its
// recovery.
func (k *killRun) crashEarly() {
	s := launch(k.t, k.dir, k.args...)
	time.Sleep(time.Duration(k.rnd.Int64N(int64(k.readied) + int64(5*time.Millisecond))))
	k.crash(s, false)
	k.crashes++
	if !strings.Contains(s.log.String(), "Ready to accept connections") {
		k.early++
	}
}

func (k *killRun) stop(s *server) {
	k.t.Helper()
	if code := s.stop(syscall.SIGTERM); code != 0 {
		k.t.Errorf("exit code %d after SIGTERM", code)
	}
}

// lastStart checks once more after the last, orderly or not, stop, and again
// from a snapshot that is surely whole and new.
func (k *killRun) lastStart() {
	s := k.start()
	k.check(s, -1, time.Now().UnixMilli())
	c := dial(k.t, s)
	waitFor(k.t, func() bool { return c.do("SAVE") == "+OK" }, "no SAVE succeeds") // one that started by itself is in the way
	k.snapshots += s.snapshots()
	k.crash(s, false)
	k.crashes++
	s = k.start()
	k.check(s, -1, time.Now().UnixMilli())
	k.stop(s)
}

func (k *killRun) check(s *server, cycle int, killedMilli int64) {
	k.t.Helper()
	c, err := redis.Dial("tcp", s.addr, redis.DialReadTimeout(wireTimeout))
	if err != nil {
		k.t.Fatal(err)
	}
	defer c.Close()
	for _, w := range k.workers {
		if err := w.own.check(c); err != nil {
			k.t.Errorf("cycle %d: client %d: %v", cycle, w.id, err)
		}
	}
	for _, err := range k.shared.check(c, killedMilli) {
		k.t.Errorf("cycle %d: %v", cycle, err)
	}
	if err := checkBallast(c); err != nil {
		k.t.Errorf("cycle %d: %v", cycle, err)
	}
}

// answered counts a reply and gives the sign for the kill at the right one.
func (k *killRun) answered() {
	if k.acknowledged.Add(1) == k.killAt {
		close(k.reached)
	}
}

// alone is what one client alone changes, and what it knows of it.
type alone interface {
	next(w *killWorker) []request
	// check compares a fresh server with what is known, and goes on from there.
	check(c redis.Conn) error
}

// killWorker is one client. It pipelines a few commands at a time.
type killWorker struct {
	run    *killRun
	id     int
	rnd    *rand.Rand
	own    alone
	serial int
	sent   []request // unanswered, in order
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
		return w.own.next(w)
	}
	return w.run.shared.next(w)
}
