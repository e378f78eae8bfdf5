package sim

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	dataDir    = "data"
	startMilli = 1_800_000_000_000
)

// wholeLog is more snapshots than are ever made: the log goes back to its
// first record.
const wholeLog = 1 << 30

// options is what a world is made of; it may change at a restart.
type options struct {
	clients      int
	shards       int
	policy       wal.Policy
	segmentBytes int64
	direct       bool // wal.Options.DirectIO
	memoryOnly   bool // appendonly no
	rules        engine.CheckpointRules
}

// world is one server with its clients, machine and disk, on one goroutine and
// from one seed.
type world struct {
	t      *testing.T
	o      options
	seed   uint64 // of a random run, 0 in others
	rnd    *rand.Rand
	mem    *vfs.Mem
	fs     *vfs.Faulty
	source *clock.Manual
	salt   uint64

	eng     *engine.Engine
	srv     *server.Server
	clients []*client
	history history
	ledger  ledger

	// logged is how many of the last snapshots a log leads up to, as they were
	// made with appendonly yes: all, until it was no for the first time.
	logged int
	broken string // the snapshot that was damaged last
	began  int64  // number of the snapshot that was seen last
	floor  int    // the step at which it began
	faulty bool   // something was made to fail since the last start
	full   bool   // the disk may be full, so that writes are refused
	lastT  int64  // T as it was read last
	events []string
	trace  hash.Hash64
}

// newWorld starts a server in an empty directory.
func newWorld(t *testing.T, seed uint64, o options) *world {
	w := prepare(t, seed, o)
	if err := w.open(); err != nil {
		w.fail("the first start: %v", err)
	}
	return w
}

// directBlockBytes is what the disk wants direct writes aligned to: several
// sectors, which a crash may tear.
const directBlockBytes = 2048

// prepare makes a world whose server has not been started.
func prepare(t *testing.T, seed uint64, o options) *world {
	w := &world{
		t: t, o: o, rnd: rand.New(rand.NewPCG(seed, 0x73696d)), mem: vfs.NewMem(),
		source: clock.NewManual(startMilli), history: newHistory(), ledger: newLedger(), logged: wholeLog, trace: fnv.New64a(),
	}
	w.mem.DirectBlockBytes = directBlockBytes
	w.fs = vfs.NewFaulty(w.mem)
	t.Cleanup(w.discard)
	return w
}

// note adds to the trace: what two runs of a seed must have the same.
func (w *world) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.trace.Write([]byte(text))
	w.trace.Write([]byte{'\n'})
	w.events = append(w.events, text)
	if *showFlag {
		w.t.Log(text)
	}
}

// shownEvents is how much of what led to a failure is printed.
const shownEvents = 60

// fail ends the test and tells how to see it again.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	again := fmt.Sprintf("go test ./internal/sim -run '^%s$'", w.t.Name())
	if w.seed != 0 {
		name, _, _ := strings.Cut(w.t.Name(), "/")
		again = fmt.Sprintf("make sim SEED=%d RUN=%s", w.seed, name)
	}
	w.t.Fatalf("%s\n\nwhat came before:\n%s\n\nagain: %s",
		fmt.Sprintf(format, args...), strings.Join(w.events[max(0, len(w.events)-shownEvents):], "\n"), again)
}

// open starts engine and server on w.fs. An error leaves nothing open.
func (w *world) open() error {
	e, err := engine.Open(engine.Options{
		FS: w.fs, Dir: dataDir, Log: !w.o.memoryOnly, SegmentBytes: w.o.segmentBytes, Policy: w.o.policy, DirectIO: w.o.direct,
		Shards: w.o.shards, Databases: databases, Clock: clock.New(w.source, nil),
		Logf:   func(format string, args ...any) { w.note("  log: "+format, args...) },
		Inline: true, Salt: w.nextSalt, LoadWorkers: 1, Rules: w.o.rules,
	})
	if err != nil {
		return err
	}
	if err := e.Recover(); err != nil {
		_ = e.Close() // the error that counts is the first
		return err
	}
	w.eng = e
	w.srv, err = server.New(server.Options{Tunables: server.Tunables{Fsync: w.o.policy}}, e)
	if err != nil {
		w.fail("%v", err)
	}
	for i := range w.o.clients {
		w.clients = append(w.clients, &client{id: i, mem: w.srv.NewSession()})
	}
	if w.lastT = e.Clock.NowMilli(); w.o.memoryOnly {
		w.logged = 0
	}
	return nil
}

// nextSalt marks logs and segments; never twice the same in a world.
func (w *world) nextSalt() uint64 {
	w.salt++
	return w.salt * 0x9E3779B97F4A7C15
}

// discard forgets the server of a machine that is no more.
func (w *world) discard() {
	if w.eng == nil {
		return
	}
	_ = w.eng.Close() // nobody looks at its disk any more
	w.eng, w.srv, w.clients = nil, nil, nil
}

// now is T, which never runs backwards (I10).
func (w *world) now() int64 {
	t := w.eng.Clock.NowMilli()
	if t < w.lastT {
		w.fail("T went back from %d to %d", w.lastT, t)
	}
	w.lastT = t
	return t
}

// halted says whether the machine has stopped, see vfs.Faulty.HaltAfter.
func (w *world) halted() bool {
	_, err := w.fs.List(dataDir)
	return errors.Is(err, vfs.ErrHalted)
}

// crash is how a run ends.
type crash int

const (
	kill  crash = iota // SIGKILL: the kernel keeps what was written
	power              // a power cut: what was not synced may be gone
)

// crashed takes the machine away and puts another with its disk in its place.
func (w *world) crashed(how crash) {
	w.note("crash %d", how)
	w.replaceDisk(how)
	w.discard()
}

func (w *world) replaceDisk(how crash) {
	if how == kill {
		total.kills.Add(1)
		w.mem = w.mem.Kill()
	} else {
		total.powerCuts.Add(1)
		w.mem = w.mem.Crash(w.rnd.Uint64())
		if w.history.power != w.history.kill {
			w.ledger.lost()
		}
	}
	if w.o.memoryOnly {
		w.ledger.lost()
	}
	w.fs, w.faulty, w.full = vfs.NewFaulty(w.mem), false, false
	w.began = 0
	w.checkNamed()
}

// checkNamed looks for everything that the manifest names, whole: a start may
// make do with less, but has to find it all.
func (w *world) checkNamed() {
	w.t.Helper()
	m, err := engine.ReadManifest(w.mem, dataDir)
	if err != nil {
		w.fail("after a crash: %v", err)
	}
	if m == nil {
		return
	}
	for _, s := range m.Snapshots {
		name := path.Join(dataDir, engine.SnapshotDir, engine.SnapshotName(s.ID))
		if name == w.broken {
			continue
		}
		f, err := w.mem.Open(name)
		if err != nil {
			w.fail("the manifest names a snapshot that a crash took: %v", err)
		}
		r, err := snapshot.Open(f, name)
		if err == nil {
			err = r.Load(nothing{}, snapshot.LoadOptions{})
		}
		if err != nil {
			w.fail("the manifest names a snapshot that is not whole: %v", err)
		}
		_ = f.Close() // only read
	}
}

// nothing takes a snapshot's content and keeps none of it.
type nothing struct{}

func (nothing) Entries([]op.Op) error               { return nil }
func (nothing) Pieces([]snapshot.Piece) error       { return nil }
func (nothing) Record(wal.LSN, int64, *op.Op) error { return nil }

// recover starts the server after a crash and checks what it found.
func (w *world) recover(how crash) {
	w.t.Helper()
	if err := w.open(); err != nil {
		w.fail("the server does not start again: %v", err)
	}
	w.checkRecovered(how)
}

// restart is recover after a crash that was not told to the clients before.
func (w *world) restart(how crash) {
	w.t.Helper()
	w.crashed(how)
	w.recover(how)
}

// stop ends the server in order.
func (w *world) stop() error {
	w.note("stop")
	w.settleAll()
	now := w.now()
	err := w.eng.Close()
	w.eng, w.srv, w.clients = nil, nil, nil
	if err == nil {
		total.restarts.Add(1)
		if w.o.memoryOnly {
			w.ledger.lost()
		} else {
			if w.faulty || w.halted() {
				now = 0 // the manifest, which keeps T, may not have been written
			}
			w.history.kill = promise{w.history.top(), max(w.history.kill.t, now)}
			w.history.power = w.history.kill
		}
	}
	return err
}

// checkRecovered compares the store with the states that the crash may leave.
func (w *world) checkRecovered(how crash) {
	w.t.Helper()
	h := &w.history
	must := h.kill
	if how == power {
		must = h.power
	}
	now := w.now()
	w.note("recovered at T %d; steps %d to %d allowed, T %d", now-startMilli, must.step, h.top(), must.t-startMilli)
	if err := w.eng.Store.Check(); err != nil {
		w.fail("the store is not sound: %v", err)
	}
	if now < must.t {
		w.fail("T is %d, but clients were told of %d", now, must.t)
	}
	got := w.contents()
	var fits []step
	for i := must.step - h.first; i < len(h.steps); i++ {
		s := &h.steps[i]
		if s.t <= now && sameAlive(&s.state, &got, now) {
			if n := len(fits); n == 0 || !fits[n-1].state.equal(&s.state) {
				fits = append(fits, *s)
			}
		}
	}
	if len(fits) == 0 {
		w.fail("what was recovered is no state that may be left:\n%s", w.difference(&got, must.step, now))
	}
	if *showFlag {
		w.t.Logf("%d states fit, in the store:\n%s", len(fits), strings.Join(got.lines(0), "\n"))
	}
	h.restartAt(fits, must.t)
}

// contents is everything in the store, expired entries too.
func (w *world) contents() state {
	var out state
	tx := w.eng.Store.NewTx()
	for db := range databases {
		out[db] = map[string]entry{}
		for cursor := uint64(0); ; {
			tx.Begin(0, db) // at this time nothing has expired
			cursor = tx.Scan(cursor, 1000, func(key []byte, v shard.Value) {
				out[db][string(key)] = entry{string(v.Bytes), v.DeadlineMilli}
			})
			tx.End()
			if cursor == 0 {
				break
			}
		}
	}
	return out
}

// sameAlive says whether a and b hold the same at now.
func sameAlive(a, b *state, now int64) bool {
	for db := range a {
		n := 0
		for name, e := range a[db] {
			if e.deadline != 0 && e.deadline <= now {
				continue
			}
			if other, there := b[db][name]; !there || other != e {
				return false
			}
			n++
		}
		for _, e := range b[db] {
			if e.deadline == 0 || e.deadline > now {
				n--
			}
		}
		if n != 0 {
			return false
		}
	}
	return true
}

// difference shows got beside the first and the last state allowed.
func (w *world) difference(got *state, must int, now int64) string {
	h := &w.history
	found := got.lines(now)
	var b strings.Builder
	show := func(name string, s *state) {
		want := s.lines(now)
		fmt.Fprintf(&b, "beside %s:\n", name)
		for _, l := range want {
			if !slices.Contains(found, l) {
				fmt.Fprintf(&b, "  missing %s\n", l)
			}
		}
		for _, l := range found {
			if !slices.Contains(want, l) {
				fmt.Fprintf(&b, "  extra   %s\n", l)
			}
		}
	}
	show(fmt.Sprintf("step %d, the first that may be left", must), &h.steps[must-h.first].state)
	show(fmt.Sprintf("step %d, the last", h.top()), &h.steps[len(h.steps)-1].state)
	return b.String()
}

// copyOfClock stands where c stands. Only the wall clock counts in a world
// without a server.
func copyOfClock(c *clock.Manual) *clock.Manual { return clock.NewManual(c.WallMilli()) }
