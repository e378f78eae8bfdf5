package sim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Scripted runs with a crash after every single operation on the file system:
// those of the first start, of commits, rotations, snapshots, removals and
// restarts; and then, from some of these points, after every one of the
// recovery that follows.

// action is one thing that happens in a script. It need not look whether the
// machine has stopped.
type action func(w *world)

// script is a workload. Its first client exists always.
type script struct {
	name  string
	o     options
	steps []action
}

func cmd(args ...string) action {
	return func(w *world) { w.send(w.clients[0], args...) }
}

// by is a command of another client.
func by(client int, args ...string) action {
	return func(w *world) { w.send(w.clients[client], args...) }
}

func settled() action { return func(w *world) { w.settleAll() } }

// acked is a command whose reply arrives before anything else happens.
func acked(args ...string) action {
	return func(w *world) {
		w.send(w.clients[0], args...)
		_ = w.settle(w.clients[0]) // the run looks whether the machine has stopped
	}
}

func pass(milli int64) action {
	return func(w *world) { w.source.AdvanceMilli(milli) }
}

func begin() action { return func(w *world) { w.startSnapshot() } }

func steps(n int) action { return func(w *world) { w.stepSnapshot(n) } }

// untilDone finishes the snapshot that runs.
func untilDone() action {
	return func(w *world) {
		for !w.stepSnapshot(1) {
		}
	}
}

// restarted is an orderly stop and a start, with what change says.
func restarted(change func(w *world)) action {
	return func(w *world) {
		if w.stop() != nil {
			return
		}
		if change != nil {
			change(w)
		}
		if err := w.open(); err == nil {
			w.checkRecovered(kill)
		} else if !errors.Is(err, vfs.ErrHalted) {
			w.fail("the server does not start again: %v", err)
		}
	}
}

// between puts what between each two steps of a snapshot.
func between(what ...action) []action {
	all := []action{begin()}
	for _, a := range what {
		all = append(all, steps(1), a)
	}
	return append(all, untilDone())
}

func join(parts ...[]action) []action {
	var all []action
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// play runs the script until its end or until the machine stops.
func (w *world) play(s *script) {
	if err := w.open(); err != nil {
		if !errors.Is(err, vfs.ErrHalted) {
			w.fail("the first start: %v", err)
		}
		return
	}
	for _, a := range s.steps {
		if a(w); w.eng == nil || w.eng.Err() != nil || w.halted() {
			return
		}
		w.collectAll()
	}
}

func TestCrashEverywhere(t *testing.T) {
	for _, s := range scripts() {
		for _, way := range []struct {
			policy wal.Policy
			direct bool
		}{{wal.Always, false}, {wal.Always, true}, {wal.Never, false}} {
			s.o.policy, s.o.direct = way.policy, way.direct
			t.Run(fmt.Sprintf("%s/%d/%v", s.name, way.policy, way.direct), func(t *testing.T) {
				t.Parallel()
				crashEverywhere(t, s)
			})
		}
	}
}

// crashEverywhere tries every point, or in the ordinary run every stride-th
// with another beginning for each way to crash.
func crashEverywhere(t *testing.T, s script) {
	w := prepare(t, 1, s.o)
	w.play(&s)
	if w.eng == nil || w.eng.Err() != nil {
		w.fail("the script does not come to its end")
	}
	points := w.fs.Changes()
	w.discard()
	stride := ordinaryStride
	if *wholeFlag {
		stride = 1
	}
	for way := range 5 {
		for n := way * stride / 5; n <= points; n += stride {
			how := power
			if way == 0 {
				how = kill
			}
			crashAt(t, &s, n, uint64(1+way), how, stride)
		}
	}
}

// crashAt crashes after n operations, and then during recovery.
func crashAt(t *testing.T, s *script, n int, seed uint64, how crash, stride int) {
	w := prepare(t, seed<<32|uint64(n), s.o)
	w.note("script %s, the machine stops after %d operations", s.name, n)
	w.fs.HaltAfter(n)
	w.play(s)
	w.crashed(how)
	before := *w.fork()
	w.recover(how)
	w.probe()
	last := w.fs.Changes()
	w.discard()
	if n%(2*stride) != 0 {
		return
	}
	for m := int(seed) % stride; m < last; m += stride {
		again := before.fork()
		again.note("the machine stops again, after %d operations of recovery", m)
		again.fs.HaltAfter(m)
		if err := again.open(); err != nil && !errors.Is(err, vfs.ErrHalted) {
			again.fail("the server does not start again: %v", err)
		}
		total.recoveryCrashes.Add(1)
		again.crashed(power)
		again.recover(max(how, power))
		again.probe()
		again.discard()
	}
}

// fork is a copy of a world that has no server, to go on from more than once.
func (w *world) fork() *world {
	f := *w
	f.mem = w.mem.Kill()
	f.fs = vfs.NewFaulty(f.mem)
	f.source = copyOfClock(w.source)
	f.history = w.history.copy()
	f.ledger = newLedger() // knows no claim of before
	f.events = append([]string(nil), w.events...)
	f.t.Cleanup(f.discard)
	return &f
}

// probe is what clients look at and do after a recovery, to its end, and once
// more after another start.
func (w *world) probe() {
	w.t.Helper()
	c := w.clients[0]
	for _, db := range []string{"0", "1", "2", "3"} {
		w.do(c, "SELECT", db)
		w.do(c, "KEYS", "*")
	}
	w.do(c, "SELECT", "0")
	w.do(c, "MGET", "k0", "k1", "k2", "k3")
	w.do(c, "IDEM", "i0", "BEGIN", "f", "late", "60000")
	w.do(c, "INCR", "probe")
	w.snapshot()
	w.do(c, "INCR", "probe")
	if err := w.stop(); err != nil {
		w.fail("%v", err)
	}
	w.recover(power)
}
