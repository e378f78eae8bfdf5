package engine

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/vfs"
)

func TestSnapshotStatus(t *testing.T) {
	w := newWorld(t, 41)
	require.Equal(t, int64(startMilli), w.clock.WallMilli())
	_, err := func() (int64, error) {
		e, err := Open(w.opts)
		require.NoError(t, err)
		defer e.Close()
		return e.StartSnapshot("too early")
	}()
	require.ErrorIs(t, err, ErrNotReady)
	require.NoError(t, w.open())
	st := w.eng.SnapshotStatus()
	require.False(t, st.Running)
	require.EqualValues(t, -1, st.LastTookMilli)
	require.EqualValues(t, startMilli, st.LastSaveMilli)

	for i := range 50 {
		w.put(0, fmt.Sprint("key", i), "value", 0)
	}
	w.commit()
	require.EqualValues(t, 50, w.eng.SnapshotStatus().Changes)
	ended := 0
	w.eng.OnSnapshotEnd(func() { ended++ })
	number, err := w.eng.StartSnapshot("because")
	require.NoError(t, err)
	require.EqualValues(t, 1, number)
	_, err = w.eng.StartSnapshot("again")
	require.ErrorIs(t, err, ErrSnapshotRunning)
	w.clock.AdvanceMilli(1500)
	for range 5 {
		require.False(t, w.eng.StepSnapshot())
	}
	st = w.eng.SnapshotStatus()
	require.True(t, st.Running)
	require.Equal(t, "because", st.Cause)
	require.EqualValues(t, 50, st.KeysTotal)
	require.Positive(t, st.KeysDone)
	require.Less(t, st.KeysDone, int64(50))
	require.EqualValues(t, 1500, st.RunningMilli)
	require.Zero(t, st.Ended)
	require.Zero(t, ended)
	for !w.eng.StepSnapshot() {
	}
	require.Equal(t, 1, ended)
	w.put(0, "one", "more", 0)
	w.commit()
	st = w.eng.SnapshotStatus()
	require.NoError(t, st.LastErr)
	require.False(t, st.Running)
	require.EqualValues(t, 1, st.Ended)
	require.EqualValues(t, 1, st.LastGood)
	require.EqualValues(t, startMilli+1500, st.LastSaveMilli)
	require.EqualValues(t, 1500, st.LastTookMilli)
	require.EqualValues(t, 50, st.LastKeys)
	require.EqualValues(t, 1, st.Changes)
	require.Equal(t, w.manifest().Snapshots[0].SizeBytes, st.LastSizeBytes)
	require.Positive(t, st.LogBytes)
	require.True(t, w.eng.StepSnapshot(), "none runs")
	require.False(t, w.eng.CancelSnapshot())
	require.NoError(t, w.eng.Close())
}

// A snapshot that is cancelled at any step leaves nothing behind, or was
// published already.
func TestCancelAtEveryStep(t *testing.T) {
	for at := 0; ; at++ {
		w := newWorld(t, 42)
		require.NoError(t, w.open())
		for range 20 {
			w.random()
		}
		w.snapshot(nil)
		before := w.manifest()
		_, err := w.eng.StartSnapshot("test")
		require.NoError(t, err)
		over := false
		for range at {
			w.random()
			over = w.eng.StepSnapshot()
		}
		if over {
			require.Greater(t, at, 10)
			require.NoError(t, w.eng.Close())
			return
		}
		published := w.manifest().Snapshots[0] != before.Snapshots[0]
		require.True(t, w.eng.CancelSnapshot())
		for !w.eng.StepSnapshot() {
		}
		st := w.eng.SnapshotStatus()
		require.EqualValues(t, 2, st.Ended)
		if published {
			require.NoError(t, st.LastErr)
		} else {
			require.ErrorIs(t, st.LastErr, ErrSnapshotCancelled)
			require.EqualValues(t, 1, st.LastGood)
			require.Equal(t, before, w.manifest())
			require.Len(t, files(t, w.mem, "data/snapshot", ""), 1)
		}
		w.goOn(fmt.Sprint("cancelled at ", at))
		w.leave()
	}
}

func TestRulesStartSnapshots(t *testing.T) {
	rules := func(r CheckpointRules) func(o *Options) { return func(o *Options) { o.Rules = r } }
	cron := func(w *world) string {
		w.eng.Cron(w.eng.Clock.NowMilli())
		return w.eng.SnapshotStatus().Cause
	}
	finish := func(w *world) {
		for !w.eng.StepSnapshot() {
		}
	}
	t.Run("none", func(t *testing.T) {
		w := newWorld(t, 43)
		require.NoError(t, w.open())
		for range 100 {
			w.random()
		}
		w.clock.AdvanceMilli(1 << 40)
		require.Empty(t, cron(w))
	})
	t.Run("save", func(t *testing.T) {
		w := newWorld(t, 44, rules(CheckpointRules{Save: []SaveRule{{Seconds: 60, Changes: 1}, {Seconds: 10, Changes: 5}}}))
		require.NoError(t, w.open())
		w.clock.AdvanceMilli(3_600_000)
		require.Empty(t, cron(w), "nothing has changed")
		w.put(0, "a", "1", 0)
		require.Equal(t, CauseRule, cron(w))
		finish(w)
		w.put(0, "a", "1", 0)
		w.clock.AdvanceMilli(59_000)
		require.Empty(t, cron(w))
		w.clock.AdvanceMilli(2_000)
		require.Equal(t, CauseRule, cron(w))
		finish(w)
		for range 5 {
			w.put(0, "a", "1", 0)
		}
		w.clock.AdvanceMilli(11_000)
		require.Equal(t, CauseRule, cron(w))
		finish(w)
		w.eng.SetCheckpointRules(CheckpointRules{})
		w.put(0, "a", "1", 0)
		w.clock.AdvanceMilli(3_600_000)
		require.Empty(t, cron(w))
	})
	t.Run("growth", func(t *testing.T) {
		w := newWorld(t, 45, rules(CheckpointRules{LogMinBytes: 10_000, LogGrowthPercent: 100}))
		require.NoError(t, w.open())
		write := func(bytes int) {
			for ; bytes > 0; bytes -= 1000 {
				w.put(0, fmt.Sprint("key", w.rnd.IntN(1<<30)), strings.Repeat("x", 1000), 0)
			}
			w.commit()
		}
		write(9_000)
		require.Empty(t, cron(w))
		write(40_000)
		require.Equal(t, CauseGrowth, cron(w))
		finish(w)
		write(30_000)
		require.Empty(t, cron(w), "not as much as the snapshot has")
		write(25_000)
		require.Equal(t, CauseGrowth, cron(w))
		finish(w)
		require.NoError(t, w.eng.SnapshotStatus().LastErr)
		require.NoError(t, w.eng.Close())

		// A start goes on counting where the last run was.
		require.NoError(t, w.open())
		require.Empty(t, cron(w))
		write(120_000)
		require.Equal(t, CauseGrowth, cron(w))
		require.NoError(t, w.eng.Close())
	})
}

func TestFailedRulePausesLongerEachTime(t *testing.T) {
	w := newWorld(t, 46, func(o *Options) { o.Rules.Save = []SaveRule{{Seconds: 0, Changes: 1}} })
	require.NoError(t, w.open())
	w.put(0, "a", "1", 0)
	w.clock.AdvanceMilli(1000)
	w.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "data/snapshot", Sticky: true, Err: syscall.ENOSPC})
	for _, pauseMilli := range []int64{5_000, 10_000, 20_000, 40_000} {
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.True(t, w.eng.SnapshotStatus().Running)
		for !w.eng.StepSnapshot() {
		}
		require.ErrorIs(t, w.eng.SnapshotStatus().LastErr, syscall.ENOSPC)
		require.Empty(t, files(t, w.mem, "data/snapshot", ""))
		w.clock.AdvanceMilli(pauseMilli - 1)
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.False(t, w.eng.SnapshotStatus().Running)
		w.clock.AdvanceMilli(1)
	}
	w.fs.Clear()
	w.snapshot(nil)
	require.Zero(t, w.failed)
	w.put(0, "a", "2", 0)
	w.clock.AdvanceMilli(1000)
	w.eng.Cron(w.eng.Clock.NowMilli())
	require.True(t, w.eng.SnapshotStatus().Running, "a good one ends the pause")
	require.NoError(t, w.eng.Close())
}

// With save rules, writes may be refused until a snapshot succeeds. Then no
// rule ever starts one, so one that was asked for and failed is tried again.
func TestFailedSnapshotIsTriedAgainIfThereAreSaveRules(t *testing.T) {
	for _, rules := range []bool{true, false} {
		w := newWorld(t, 48, func(o *Options) {
			if rules {
				o.Rules.Save = []SaveRule{{Seconds: 3600, Changes: 1}}
			}
		})
		require.NoError(t, w.open())
		w.put(0, "a", "1", 0)
		w.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "data/snapshot", Err: syscall.ENOSPC})
		_, err := w.eng.StartSnapshot("test")
		require.NoError(t, err)
		for !w.eng.StepSnapshot() {
		}
		require.ErrorIs(t, w.eng.SnapshotStatus().LastErr, syscall.ENOSPC)
		w.clock.AdvanceMilli(4_999)
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.False(t, w.eng.SnapshotStatus().Running)
		w.clock.AdvanceMilli(1)
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.Equal(t, rules, w.eng.SnapshotStatus().Running)
		if rules {
			require.Equal(t, CauseRetry, w.eng.SnapshotStatus().Cause)
			for !w.eng.StepSnapshot() {
			}
			require.NoError(t, w.eng.SnapshotStatus().LastErr)
			w.clock.AdvanceMilli(60_000)
			w.eng.Cron(w.eng.Clock.NowMilli())
			require.False(t, w.eng.SnapshotStatus().Running)
		}
		require.NoError(t, w.eng.Close())
	}
}

// A manifest that may or may not have been replaced: the server ends, and
// either of the two is true of the files.
func TestUncertainManifestEndsTheServer(t *testing.T) {
	for _, fault := range []vfs.Fault{
		{Op: vfs.OpRename, Path: "data/MANIFEST", Err: syscall.EIO},
		{Op: vfs.OpSyncDir, Path: "data", Nth: 2, Err: syscall.EIO}, // the first is that of data/snapshot
	} {
		for crash := range uint64(6) {
			w := newWorld(t, 47)
			require.NoError(t, w.open())
			for range 3 {
				for range 30 {
					w.random()
				}
				w.snapshot(nil)
			}
			for range 30 {
				w.random()
			}
			w.commit()
			notified := false
			w.eng.Log().OnDurable(func() { notified = w.eng.Err() != nil })
			w.fs.Inject(fault)
			w.snapshot(nil)
			require.ErrorIs(t, w.err, syscall.EIO)
			require.ErrorContains(t, w.err, "cannot be trusted")
			require.True(t, notified)
			_, err := w.eng.StartSnapshot("another")
			require.ErrorIs(t, err, syscall.EIO)
			require.Len(t, files(t, w.mem, "data/snapshot", snapshotSuffix), 3, "nothing is removed")
			w.leave()
			back := w.crashed(crash)
			require.NoError(t, back.open())
			back.check("after an uncertain manifest")
			back.goOn("after that")
			back.leave()
		}
	}
}

func TestFailedSnapshotLeavesTheServerAlone(t *testing.T) {
	for _, fault := range []vfs.Fault{
		{Op: vfs.OpCreate, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpWrite, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpSync, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpClose, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpRename, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpSyncDir, Path: "data/snapshot", Err: syscall.EIO},
		{Op: vfs.OpWrite, Path: "data/MANIFEST", Err: syscall.EIO},
		{Op: vfs.OpRename, Path: "data/MANIFEST", Err: syscall.ENOSPC},
	} {
		w := newWorld(t, 48)
		require.NoError(t, w.open())
		for range 30 {
			w.random()
		}
		w.snapshot(nil)
		before := w.manifest()
		w.fs.Inject(fault)
		w.snapshot(nil)
		require.NoError(t, w.err)
		require.Equal(t, 1, w.failed)
		require.Equal(t, before, w.manifest())
		require.Len(t, files(t, w.mem, "data/snapshot", ""), 1, "%v", fault)
		require.Contains(t, w.log.text(), "Snapshot 2 (test) failed")
		w.goOn("after it")
		w.leave()
	}
}

// Transactions on several shards are whole in the file itself, not only with
// the log behind it: a backup is a copy of one file.
func TestFileAloneHoldsWholeTransactions(t *testing.T) {
	o := options(vfs.NewMem(), clock.System())
	o.SegmentBytes = 1 << 20
	e := opened(t, o)
	// None in the last shard: its lock, which the last piece takes, would keep
	// a transaction from being in the middle then.
	var keys []shard.Key
	for i := 0; len(keys) < 16; i++ {
		if k := shard.MakeKey(fmt.Append(nil, "key", i)); k.Slot < slot.Count/2 {
			keys = append(keys, k)
		}
	}
	var stop atomic.Bool
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			tx := e.Store.NewTx()
			for i := 0; !stop.Load(); i++ {
				tx.Begin(e.Clock.NowMilli(), 0)
				tx.LockKeys(keys)
				tx.Atomic()
				for k := range keys {
					_ = tx.Put(&keys[k], shard.Value{Bytes: fmt.Appendf(nil, "%d.%d", n, i)})
				}
				tx.End()
				if i%8 == 0 {
					_ = e.Log().Commit(tx.Observed())
				}
			}
		})
	}
	for range 20 {
		takeSnapshot(t, e)
		m, err := ReadManifest(o.FS, o.Dir)
		require.NoError(t, err)
		alone := vfs.NewMem()
		require.NoError(t, alone.MkdirAll("data/snapshot"))
		copyFile(t, o.FS, newestSnapshot(m), alone, "data/snapshot/"+SnapshotName(1))
		ref := m.Snapshots[0]
		restored := restoreAlone(t, alone, ref, o)
		values := map[string]bool{}
		for _, h := range found(restored) {
			values[h.value] = true
		}
		require.LessOrEqual(t, len(values), 1, "half a transaction")
		require.NoError(t, restored.Close())
	}
	stop.Store(true)
	writers.Wait()
	require.NoError(t, e.Close())
}

// restoreAlone starts a store from one snapshot, whose number it keeps.
func restoreAlone(t *testing.T, fs *vfs.Mem, ref SnapshotRef, o Options) *Engine {
	t.Helper()
	require.NoError(t, fs.Rename("data/snapshot/"+SnapshotName(1), "data/snapshot/"+SnapshotName(ref.ID)))
	m := Manifest{FirstSegment: 1, ReachLSN: ref.LastLSN, Snapshots: []SnapshotRef{ref}}
	require.NoError(t, m.Write(fs, "data"))
	o.FS = fs
	return opened(t, o)
}

func copyFile(t *testing.T, from vfs.FS, name string, to vfs.FS, as string) {
	t.Helper()
	f, err := from.Open(name)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, vfs.Replace(to, as, func(f vfs.File) error {
		_, err := f.WriteAt(b, 0)
		return err
	}))
}

// takeSnapshot takes one in the background and waits for its end.
func takeSnapshot(t *testing.T, e *Engine) {
	t.Helper()
	ended := make(chan struct{}, 1)
	var once sync.Once
	e.OnSnapshotEnd(func() { once.Do(func() { close(ended) }) })
	_, err := e.StartSnapshot("test")
	require.NoError(t, err)
	<-ended
	require.NoError(t, e.SnapshotStatus().LastErr)
}

// A stop does not wait for a snapshot, and leaves no goroutine behind.
func TestCloseEndsARunningSnapshot(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, log := range []bool{true, false} {
		fs := vfs.NewFaulty(vfs.NewMem())
		o := options(fs, clock.System())
		o.Log = log
		e := opened(t, o)
		for i := range 1000 {
			put(t, e, fmt.Sprint("key", i), "x", 0)
		}
		reached, goOn := make(chan struct{}), make(chan struct{})
		fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "data/snapshot", Before: func() { close(reached); <-goOn }})
		_, err := e.StartSnapshot("test")
		require.NoError(t, err)
		<-reached
		closed := make(chan error, 1)
		go func() { closed <- e.Close() }()
		for !e.snapshotsClosed() {
			runtime.Gosched()
		}
		close(goOn)
		require.NoError(t, <-closed)
		_, err = e.StartSnapshot("late")
		require.ErrorIs(t, err, ErrNotReady)
		require.Empty(t, files(t, fs, "data/snapshot", ""))
	}
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

func (e *Engine) snapshotsClosed() bool {
	e.snap.mu.Lock()
	defer e.snap.mu.Unlock()
	return e.snap.closed
}

func TestEmptyStoreHasASnapshotToo(t *testing.T) {
	w := newWorld(t, 49)
	require.NoError(t, w.open())
	w.snapshot(nil)
	require.Zero(t, w.failed)
	w.goOn("empty")
	require.NoError(t, w.eng.Close())
}

// What a snapshot holds is dead at its deadline whatever the clock says after
// the start.
func TestExpiryStaysDeadAfterASnapshot(t *testing.T) {
	for _, log := range []bool{true, false} {
		w := newWorld(t, 50)
		w.opts.Log = log
		require.NoError(t, w.open())
		w.put(0, "short", "1", startMilli+1000)
		w.put(0, "long", "1", startMilli+60_000)
		w.clock.AdvanceMilli(5000)
		require.NotContains(t, found(w.eng), cell{0, "short"})
		w.put(0, "late", "1", startMilli+5001)
		w.put(0, "during", "1", startMilli+5011)
		w.clock.AdvanceMilli(10)
		steps := 0
		w.snapshot(func() {
			if steps++; steps == 3 {
				w.clock.AdvanceMilli(10)
			}
		})
		require.Greater(t, steps, 3)
		require.NoError(t, w.eng.Close())

		back := w.crashed(1) // a second before the beginning
		back.opts.Log = log
		// Only what the file says counts here, not the log's or the manifest's T.
		m := back.manifest()
		m.ReachT = 0
		if log {
			for _, seq := range segments(t, back.mem) {
				back.remove(fmt.Sprintf("data/wal/wal-%016x.seg", seq))
			}
			m.LogID, m.ReachLSN = 0, m.Snapshots[0].LastLSN
		}
		require.NoError(t, m.Write(back.mem, "data"))
		require.NoError(t, back.open())
		require.GreaterOrEqual(t, back.eng.Clock.NowMilli(), int64(startMilli+5020))
		got := found(back.eng)
		require.NotContains(t, got, cell{0, "during"})
		require.NotContains(t, got, cell{0, "short"})
		require.NotContains(t, got, cell{0, "late"})
		require.Contains(t, got, cell{0, "long"})
		require.NoError(t, back.eng.Close())
	}
}

func TestSnapshotOfAFailedLog(t *testing.T) {
	w := newWorld(t, 51)
	require.NoError(t, w.open())
	w.random()
	_, err := w.eng.StartSnapshot("test")
	require.NoError(t, err)
	require.False(t, w.eng.StepSnapshot())
	w.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "data/wal", Sticky: true, Err: syscall.EIO})
	for !w.eng.StepSnapshot() {
	}
	require.ErrorIs(t, w.eng.SnapshotStatus().LastErr, syscall.EIO)
	require.Empty(t, w.manifest().Snapshots)
	require.True(t, errors.Is(w.eng.Err(), syscall.EIO))
	w.leave()
}
