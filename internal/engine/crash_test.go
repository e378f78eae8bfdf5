package engine

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// life is a workload with three snapshots, writes between all their steps, and
// an orderly restart. It stops at the first failure.
func life(w *world) {
	w.try(w.open)
	for range 30 {
		w.random()
	}
	w.commit()
	for range 3 {
		w.snapshot(func() {
			w.random()
			if w.rnd.IntN(2) == 0 {
				w.commit()
			}
		})
		for range 25 {
			w.random()
		}
		w.commit()
	}
	w.restart()
	w.random()
	w.commit()
	w.snapshot(w.random)
	w.commit()
}

// restart stops in order and starts again.
func (w *world) restart(change ...func(o *Options)) {
	w.try(func() error {
		defer func() { w.eng = nil }()
		return w.eng.Close()
	})
	if w.err != nil {
		return
	}
	w.acked = len(w.states) - 1
	for _, f := range change {
		f(&w.opts)
	}
	w.try(w.open)
	if w.err == nil {
		w.check("orderly restart")
	}
}

// goOn sees that a recovered store is as good as any: it takes a snapshot,
// stops in order, starts again.
func (w *world) goOn(where string) {
	w.t.Helper()
	w.random()
	w.snapshot(w.random)
	w.random()
	w.commit()
	w.restart()
	require.NoError(w.t, w.err, where)
}

// complete sees that everything the manifest names is there, before a start
// has put anything right: no file goes before nobody needs it.
func (w *world) complete(where string) {
	w.t.Helper()
	m, err := ReadManifest(w.mem, "data")
	require.NoError(w.t, err, where)
	if m == nil {
		return
	}
	for _, s := range m.Snapshots {
		name := "data/snapshot/" + SnapshotName(s.ID)
		f, err := w.mem.Open(name)
		require.NoError(w.t, err, where)
		r, err := snapshot.Open(f, name)
		require.NoError(w.t, err, where)
		require.NoError(w.t, r.Load(discard{}, snapshot.LoadOptions{}), where)
		require.Equal(w.t, s, SnapshotRef{r.Info().ID, r.Info().LastLSN, r.Info().SizeBytes}, where)
	}
	first := wal.LSN(1)
	if n := len(m.Snapshots); n > 0 && m.FirstSegment > 1 {
		first = m.Snapshots[n-1].LastLSN + 1
	}
	if m.LogID != 0 {
		_, err = wal.Inspect(wal.Options{FS: w.mem, Dir: "data/wal", FirstLSN: first, FirstSegment: m.FirstSegment,
			LogID: m.LogID, ReachLSN: m.ReachLSN, MustExist: true}, func(*wal.Found) error { return nil }, nil)
		require.NoError(w.t, err, where)
	}
}

// discard takes a snapshot and keeps nothing.
type discard struct{}

func (discard) Entries([]op.Op) error               { return nil }
func (discard) Pieces([]snapshot.Piece) error       { return nil }
func (discard) Record(wal.LSN, int64, *op.Op) error { return nil }

// loseNewest removes the newest snapshot: the one before it and the log have
// to do, whenever the crash came.
func (w *world) loseNewest() {
	w.t.Helper()
	m, err := ReadManifest(w.mem, "data")
	require.NoError(w.t, err)
	if m != nil && len(m.Snapshots) > 0 && m.LogID != 0 {
		w.remove(newestSnapshot(m))
	}
}

func TestEveryCrashPoint(t *testing.T) {
	for _, seed := range []uint64{11, 14} { // the second one writes its log directly
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			crashEverywhere(t, seed)
		})
	}
}

func crashEverywhere(t *testing.T, seed uint64) {
	whole := newWorld(t, seed)
	life(whole)
	require.NoError(t, whole.err)
	require.Zero(t, whole.failed)
	whole.leave()
	points := whole.fs.Changes()
	require.Greater(t, points, 150)
	require.Len(t, files(t, whole.mem, "data/snapshot", snapshotSuffix), 2)
	require.Greater(t, segments(t, whole.mem)[0], uint64(1), "old segments go")

	for at := 0; at < points; at += crashStride {
		w := newWorld(t, seed)
		w.fs.HaltAfter(at)
		life(w)
		require.ErrorIs(t, w.err, vfs.ErrHalted, "point %d", at)
		w.leave()
		for crash := range uint64(2) {
			where := fmt.Sprintf("point %d, crash %d", at, crash)
			back := w.crashed(crash*1000 + uint64(at))
			back.complete(where)
			if crash == 0 {
				back.loseNewest()
			}
			require.NoError(t, back.open(), where)
			back.check(where)
			if (at+int(crash))%3 == 0 {
				back.goOn(where)
			}
			back.leave()
		}
	}
}

// A power cut during the start after a power cut or a kill, at every operation
// of it.
func TestEveryCrashPointOfRecovery(t *testing.T) {
	const seed = 12
	whole := newWorld(t, seed)
	life(whole)
	require.NoError(t, whole.err)
	whole.leave()
	for at := 3; at < whole.fs.Changes(); at += 9 * crashStride {
		w := newWorld(t, seed)
		w.fs.HaltAfter(at)
		life(w)
		w.leave()
		for point := 0; ; point++ {
			where := fmt.Sprintf("point %d, then %d", at, point)
			back := w.killed()
			if at%2 == 0 {
				back = w.crashed(uint64(at))
			}
			back.fs.HaltAfter(point)
			err := back.open()
			if err == nil {
				back.check(where)
				back.leave()
				break
			}
			require.ErrorIs(t, err, vfs.ErrHalted, where)
			back.leave()
			again := back.crashed(uint64(point))
			again.complete(where)
			require.NoError(t, again.open(), where)
			again.check(where)
			require.NoError(t, again.eng.Close())
		}
	}
}

// Each changing operation of a life fails once. The server may end of it or go
// on; what was acknowledged is there either way, after a power cut too.
func TestEveryFailedOperation(t *testing.T) {
	const seed = 13
	whole := newWorld(t, seed)
	life(whole)
	require.NoError(t, whole.err)
	whole.leave()
	survived, failed := 0, 0
	for _, failure := range []error{syscall.EIO, syscall.ENOSPC} {
		for at := 1; at <= whole.fs.Changes(); at += crashStride {
			where := fmt.Sprintf("operation %d, %v", at, failure)
			w := newWorld(t, seed)
			w.fs.Inject(vfs.Fault{Op: vfs.OpChange, Nth: at, Err: failure})
			life(w)
			if w.err == nil {
				survived++
				failed += w.failed
			}
			w.leave()
			back := w.crashed(uint64(at))
			back.complete(where)
			require.NoError(t, back.open(), where)
			back.check(where)
			if at%3 == 0 {
				back.goOn(where)
			}
			back.leave()
		}
	}
	require.Positive(t, survived)
	require.Positive(t, failed, "snapshots that failed while the rest went on")
}
