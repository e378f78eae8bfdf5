package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

func inMemory(o *Options) { o.Log = false }
func withLog(o *Options)  { o.Log = true }

// saved notes that a snapshot holds the present state: without a log only that
// survives.
func (w *world) saved() {
	if w.err == nil && w.eng.SnapshotStatus().LastErr == nil {
		w.acked = len(w.states) - 1
	}
}

// leaveMemory ends a store without log, in order or not: what was not saved is
// gone.
func (w *world) leaveMemory() {
	w.try(func() error { return w.eng.Close() })
	if w.err == nil {
		w.eng, w.states = nil, w.states[:w.acked+1]
	}
}

// alternate is a life in which the log is switched off and on again.
func alternate(w *world) {
	w.try(w.open)
	for range 10 {
		w.random()
	}
	w.snapshot(nil)
	for range 10 {
		w.random()
	}
	w.restart(inMemory)
	for range 10 {
		w.random()
	}
	w.snapshot(w.random)
	w.snapshot(nil)
	w.saved()
	w.random()
	w.leaveMemory()
	w.opts.Log = true
	w.try(w.open)
	if w.err == nil {
		w.check("with a log again")
	}
	for range 10 {
		w.random()
	}
	w.commit()
	w.snapshot(w.random)
	w.restart()
	w.random()
	w.commit()
}

// Without a log, what a snapshot holds is acknowledged; its steps are the only
// operations on files. A crash before the manifest names it leaves the store
// as it was found, the log included.
func TestLogOffAndOnAgainAtEveryCrashPoint(t *testing.T) {
	const seed = 31
	whole := newWorld(t, seed)
	alternate(whole)
	require.NoError(t, whole.err)
	require.Zero(t, whole.failed)
	whole.leave()
	points := whole.fs.Changes()
	require.Greater(t, points, 60)
	for at := 0; at < points; at += crashStride {
		w := newWorld(t, seed)
		w.fs.HaltAfter(at)
		alternate(w)
		require.ErrorIs(t, w.err, vfs.ErrHalted, "point %d", at)
		w.leave()
		for crash := range uint64(4) {
			where := fmt.Sprintf("point %d, crash %d", at, crash)
			back := w.crashed(crash*1000+uint64(at), withLog)
			if crash%2 == 1 {
				back.opts.Log = false
			}
			require.NoError(t, back.open(), where)
			back.check(where)
			if back.opts.Log {
				back.goOn(where)
			}
			back.leave()
		}
	}
}

func TestWithoutLogWhatIsThereIsLoadedAndLeftAlone(t *testing.T) {
	w := twoSnapshots(t)
	before, changes := w.mem.Kill(), w.fs.Changes()
	w.opts.Log = false
	require.NoError(t, w.open())
	w.check("read only")
	w.random()
	_, err := Open(w.opts)
	require.ErrorIs(t, err, ErrInUse, "a directory with a store in it is locked")
	require.NoError(t, w.eng.Close())
	require.Equal(t, changes+2, w.fs.Changes(), "only the directory was made sure of, by each Open")
	for _, dir := range []string{"data", "data/wal", "data/snapshot"} {
		was, err := before.List(dir)
		require.NoError(t, err)
		is, err := w.mem.List(dir)
		require.NoError(t, err)
		require.Equal(t, was, is)
	}
}

// A log that is begun behind a snapshot leads nowhere from the one before it:
// that one is worth nothing from then on, and nobody may count on it.
func TestALogBegunBehindASnapshotMakesTheOneBeforeUseless(t *testing.T) {
	w := newWorld(t, 35, inMemory)
	require.NoError(t, w.open())
	for range 2 {
		w.random()
		w.snapshot(nil)
	}
	require.NoError(t, w.eng.Close())
	both := w.manifest().Snapshots
	require.Len(t, both, 2)

	back := w.killed(withLog)
	require.NoError(t, back.open())
	back.check("with a log")
	require.Equal(t, both[:1], back.manifest().Snapshots)
	require.Equal(t, []string{SnapshotName(both[0].ID)}, files(t, back.mem, "data/snapshot", ""))
	back.goOn("with a log")
	back.leave()
}

func TestFirstSnapshotWithoutLog(t *testing.T) {
	w := newWorld(t, 32, inMemory)
	require.NoError(t, w.open())
	for range 20 {
		w.random()
	}
	require.Zero(t, w.fs.Changes(), "nothing is touched before it is asked for")
	w.snapshot(w.random)
	w.snapshot(nil)
	w.saved()
	require.Zero(t, w.failed)
	w.random()
	w.leaveMemory()
	require.NoError(t, w.open())
	w.check("from the snapshot")
	require.NoError(t, w.eng.Close())
}

// Somebody else's store appeared in a directory that was empty.
func TestFirstSnapshotFindsAnotherStore(t *testing.T) {
	w := newWorld(t, 33, inMemory)
	require.NoError(t, w.open())
	w.random()
	other := w.opts
	other.Log = true
	e := opened(t, other)
	put(t, e, "theirs", "1", 0)
	start := func() error {
		_, err := w.eng.StartSnapshot("test")
		require.NoError(t, err)
		for !w.eng.StepSnapshot() {
		}
		return w.eng.SnapshotStatus().LastErr
	}
	require.ErrorIs(t, start(), ErrInUse)
	require.NoError(t, e.Close())
	require.ErrorContains(t, start(), "another server has put a store there")
	require.NoError(t, w.eng.Close())
	back := opened(t, other)
	_, _, ok := get(back, "theirs")
	require.True(t, ok)
	require.NoError(t, back.Close())
}

// Without a log an older snapshot is not as good as the newest, so it does not
// take its place by itself.
func TestWithoutLogADamagedSnapshotIsFinal(t *testing.T) {
	w := newWorld(t, 34, inMemory)
	require.NoError(t, w.open())
	w.put(0, "a", "1", 0)
	w.snapshot(nil)
	w.put(0, "a", "2", 0)
	w.snapshot(nil)
	require.NoError(t, w.eng.Close())
	m := w.manifest()
	w.edit(newestSnapshot(m), flip(int(m.Snapshots[0].SizeBytes)/2))
	for _, log := range []bool{false, true} {
		back := w.copied(t, func(o *Options) { o.Log = log })
		back.refused(SnapshotName(2), "no log leads from it", "repair")
	}
}

// A log that begins behind a snapshot is of no use without it, in whichever
// segment.
func TestDamagedSnapshotBeforeTheLogBeganIsFinal(t *testing.T) {
	w := newWorld(t, 38, inMemory)
	require.NoError(t, w.open())
	w.put(0, "a", "1", 0)
	w.snapshot(nil)
	w.saved()
	w.restart(withLog)
	w.put(0, "b", "1", 0)
	w.stop()
	m := w.manifest()
	w.edit(newestSnapshot(m), flip(int(m.Snapshots[0].SizeBytes)/2))
	w.refused(SnapshotName(1), "the log does not reach back to its first record", "hapax-server restore")
}

// The log that the store without a log leaves behind is never read again.
func TestTheOldLogStaysOut(t *testing.T) {
	w := newWorld(t, 35)
	require.NoError(t, w.open())
	for range 60 {
		w.random()
	}
	w.restart(inMemory)
	w.flushAll()
	w.put(0, "only", "this", 0)
	w.snapshot(nil)
	w.saved()
	w.leaveMemory()
	require.NoError(t, w.err)
	require.Empty(t, segments(t, w.mem))
	require.Zero(t, w.manifest().LogID)
	w.opts.Log = true
	require.NoError(t, w.open())
	w.check("only this")
	require.Len(t, found(w.eng), 1)
	require.NoError(t, w.eng.Close())
}

func TestGatheringIsBounded(t *testing.T) {
	w := newWorld(t, 36, inMemory)
	require.NoError(t, w.open())
	w.put(0, "a", "1", 0)
	_, err := w.eng.StartSnapshot("test")
	require.NoError(t, err)
	require.False(t, w.eng.StepSnapshot())
	w.eng.memory.limit = 4 << 20
	for i := range 10 {
		w.put(0, fmt.Sprint("key", i), strings.Repeat("x", 1<<20), 0)
		require.Less(t, w.eng.memory.size, int64(6<<20))
	}
	for !w.eng.StepSnapshot() {
	}
	require.ErrorIs(t, w.eng.SnapshotStatus().LastErr, errGatheredTooMuch)
	require.Empty(t, w.eng.memory.chunks)
	require.False(t, w.eng.memory.gathering)
	require.Empty(t, files(t, w.mem, "data/snapshot", ""))
	w.snapshot(nil)
	require.Zero(t, w.failed, "the next one is as good as any")
	require.NoError(t, w.eng.Close())
}

// A process is killed when the new manifest has its name, but not for good;
// the power goes while the next start acts on what it read there.
func TestPowerCutBehindAKillAroundTheManifest(t *testing.T) {
	const seed = 31
	whole := newWorld(t, seed)
	alternate(whole)
	require.NoError(t, whole.err)
	whole.leave()
	text := func(mem *vfs.Mem) string {
		m, err := ReadManifest(mem, "data")
		require.NoError(t, err)
		return fmt.Sprint(m)
	}
	tried := 0
	for at := 0; at < whole.fs.Changes(); at += crashStride {
		w := newWorld(t, seed)
		w.fs.HaltAfter(at)
		alternate(w)
		w.leave()
		certain := true
		for crash := range uint64(4) {
			certain = certain && text(w.mem.Crash(crash)) == text(w.mem)
		}
		for point := 0; !certain; point++ {
			where := fmt.Sprintf("point %d, then %d", at, point)
			back := w.killed(withLog)
			back.fs.HaltAfter(point)
			if back.open() == nil {
				back.leave()
				break
			}
			back.leave()
			for crash := range uint64(3) {
				tried++
				again := back.crashed(crash, withLog)
				require.NoError(t, again.open(), where)
				again.check(where)
				again.leave()
			}
		}
	}
	require.Greater(t, tried, 50)
}

func TestFirstSnapshotWithoutLogAtEveryCrashPoint(t *testing.T) {
	life := func(w *world) {
		w.try(w.open)
		for range 5 {
			w.random()
		}
		for range 2 {
			w.snapshot(nil)
			w.saved()
			w.random()
		}
	}
	const seed = 37
	whole := newWorld(t, seed, inMemory)
	life(whole)
	require.NoError(t, whole.err)
	require.Zero(t, whole.failed)
	whole.leave()
	for at := 0; at < whole.fs.Changes(); at += crashStride {
		w := newWorld(t, seed, inMemory)
		w.fs.HaltAfter(at)
		life(w)
		require.ErrorIs(t, w.err, vfs.ErrHalted, "point %d", at)
		w.leave()
		for crash := range uint64(8) {
			where := fmt.Sprintf("point %d, crash %d", at, crash)
			back := w.crashed(crash, withLog)
			back.opts.Log = crash%2 == 0
			require.NoError(t, back.open(), where)
			back.check(where)
			back.leave()
		}
	}
}
