package script

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// What snapshots must never change is what a script sees. Each of these runs
// every script while snapshots are taken, in steps between its commands, and
// compares the whole state with what a start makes of the disk.

// TestCrashBehindSnapshots cuts the power after every step, behind a snapshot
// or in the middle of one, and goes on with what the start recovered. So each
// start loads the work of many others: snapshots on top of snapshots, with the
// log behind them, or behind the one before.
func TestCrashBehindSnapshots(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		if s.NoCrash != "" {
			t.Skip("not with crashes: " + s.NoCrash)
		}
		for _, o := range under([]localOptions{{shards: 1}, {shards: 4, noLog: true}}) {
			t.Run(nameOf(&o), func(t *testing.T) {
				skipUnfit(t, s, &o)
				target := startMemory(t, o)
				seed := seedOf(t.Name())
				random := rand.New(rand.NewPCG(seed, 1))
				r := Runner{Target: target, Proto: protoOf(s), Crash: func() error {
					seed++
					target.stepSnapshots(random, 2)
					if o.noLog {
						target.finishSnapshot() // nothing else is on disk
					}
					// Another number of shards finds the same.
					target.o.shards = 1 << random.IntN(5)
					return target.crash(seed)
				}}
				require.NoError(t, r.Run(s))
			})
		}
	})
}

// TestSnapshotsBetweenSteps takes one snapshot after the other, so slowly that
// each goes on over several commands. After every step somebody else starts on
// what a power cut would leave; the script goes on undisturbed.
func TestSnapshotsBetweenSteps(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		for _, o := range under([]localOptions{{shards: 16}, {shards: 4, noLog: true}}) {
			t.Run(nameOf(&o), func(t *testing.T) {
				skipUnfit(t, s, &o)
				target := startMemory(t, o)
				seed := seedOf(t.Name())
				random := rand.New(rand.NewPCG(seed, 2))
				r := Runner{Target: target, Proto: protoOf(s), Between: func() error {
					seed++
					target.stepSnapshots(random, 0)
					if !o.noLog {
						return target.compare(target.fs.Crash(seed))
					}
					if random.IntN(4) > 0 {
						return nil
					}
					target.finishSnapshot()
					if target.eng.SnapshotStatus().Changes > 0 {
						// It holds an earlier state. One that begins now does not.
						target.finishSnapshot()
					}
					return target.compare(target.fs.Crash(seed))
				}}
				require.NoError(t, r.Run(s))
				require.NotZero(t, target.eng.SnapshotStatus().Started)
			})
		}
	})
}

func skipUnfit(t *testing.T, s *Script, o *localOptions) {
	if s.Alone != "" {
		t.Skip("not beside snapshots: " + s.Alone)
	}
	if o.noLog && s.Log != "" {
		t.Skip("not with appendonly no: " + s.Log)
	}
}

func nameOf(o *localOptions) string {
	if o.noLog {
		return fmt.Sprintf("shards%d/nolog", o.shards)
	}
	return fmt.Sprintf("shards%d", o.shards)
}

func protoOf(s *Script) int {
	if s.Resp != 0 {
		return s.Resp
	}
	return 3
}

// stepSnapshots does a few steps of the running snapshot, or of a new one. In
// one of wholeIn cases it goes to the end, never if that is 0.
func (m *memory) stepSnapshots(random *rand.Rand, wholeIn int) {
	m.t.Helper()
	m.startSnapshot()
	if wholeIn > 0 && random.IntN(wholeIn) == 0 {
		m.finishSnapshot()
		return
	}
	for range random.IntN(6) {
		if m.eng.StepSnapshot() {
			m.requireGood()
			m.startSnapshot()
		}
	}
}

func (m *memory) startSnapshot() {
	if m.eng.SnapshotStatus().Running {
		return
	}
	// A SAVE waits behind one that runs for the log's sake.
	_, err := m.eng.StartSnapshot(engine.CauseGrowth)
	require.NoError(m.t, err)
}

// finishSnapshot ends the running snapshot, or a new one.
func (m *memory) finishSnapshot() {
	m.startSnapshot()
	for !m.eng.StepSnapshot() {
	}
	m.requireGood()
}

func (m *memory) requireGood() {
	m.t.Helper()
	require.NoError(m.t, m.eng.SnapshotStatus().LastErr)
}

// compare opens what is on fs beside the running server: the state must be
// the same.
func (m *memory) compare(fs *vfs.Mem) error {
	other := &local{t: m.t, o: m.o, manual: m.manual}
	other.o.shards = 2
	e := other.openEngine(fs)
	defer e.Close()
	if err := sameState(m.dump(m.eng), m.dump(e)); err != nil {
		return err
	}
	return e.Store.Check()
}

// under leaves only the first of all under the race detector: these tests run
// on one goroutine, and take minutes there.
func under(all []localOptions) []localOptions {
	if raceEnabled {
		return all[:1]
	}
	return all
}
