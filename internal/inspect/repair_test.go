package inspect

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// story is a directory whose every record is known.
type story struct {
	fs     *vfs.Mem
	writes []string // of record i+1: key=value
	m      *engine.Manifest
}

// tell writes a directory: rounds of 60 records with a snapshot after each but
// the last.
func tell(t *testing.T, rounds int) *story {
	t.Helper()
	return tellShort(t, rounds, 60)
}

func tellShort(t *testing.T, rounds, records int) *story {
	t.Helper()
	st := &story{fs: vfs.NewMem()}
	s := start(t, st.fs)
	for round := range rounds {
		for i := range records {
			key, value := fmt.Sprintf("key%d", i*7%50), fmt.Sprintf("%d-%d-%s", round, i, strings.Repeat("v", 90))
			s.set(0, key, value)
			s.sync()
			st.writes = append(st.writes, key+"="+value)
		}
		if round < rounds-1 {
			s.save(nil)
		}
	}
	require.Equal(t, wal.LSN(len(st.writes)), s.Last())
	s.stop()
	st.m = manifestOf(t, st.fs)
	return st
}

// at is the store as of a record.
func (st *story) at(lsn wal.LSN) map[string]string {
	out := map[string]string{}
	for _, w := range st.writes[:lsn] {
		key, value, _ := strings.Cut(w, "=")
		out[key] = value
	}
	return out
}

// holds starts a server on what is in fsys and wants the store as of lsn.
func (st *story) holds(t *testing.T, fsys vfs.FS, lsn wal.LSN) {
	t.Helper()
	s := start(t, fsys)
	want := st.at(lsn)
	for i := range 50 {
		key := fmt.Sprintf("key%d", i)
		value, ok := s.get(0, key)
		expected, there := want[key]
		require.Equal(t, there, ok, "%s as of record %d", key, lsn)
		require.Equal(t, expected, value, "%s as of record %d", key, lsn)
	}
	s.set(1, "written", "afterwards")
	s.sync()
	s.stop()
	requireGood(t, check(t, fsys, dir))
}

func (st *story) segments(t *testing.T, fsys vfs.FS) []string {
	t.Helper()
	names, err := fsys.List(path.Join(dir, engine.WALDir))
	require.NoError(t, err)
	return names
}

func (st *story) snapshot(i int) string { return path.Join(dir, snapshotFile(st.m.Snapshots[i].ID)) }

// last is how many records the whole story has.
func (st *story) last() wal.LSN { return wal.LSN(len(st.writes)) }

// breakage is a way to break a story, and what a repair has to keep of it.
type breakage struct {
	name  string
	harm  func(t *testing.T, st *story, fsys vfs.FS)
	kept  func(st *story) wal.LSN
	lost  string // in the report; "" is nothing
	empty bool   // nothing can be kept
	// starts: a server would start by itself.
	starts bool
	// snapshots are named afterwards; 0 is one.
	snapshots int
}

func everything(st *story) wal.LSN { return st.last() }

func damageRecord(lsn func(st *story) wal.LSN) func(t *testing.T, st *story, fsys vfs.FS) {
	return func(t *testing.T, st *story, fsys vfs.FS) {
		t.Helper()
		f := offsetOfRecord(t, fsys, st.m, lsn(st))
		damage(t, fsys, path.Join(dir, f.Segment), f.Offset+80)
	}
}

var breakages = []breakage{
	{name: "newest snapshot", harm: func(t *testing.T, st *story, fsys vfs.FS) { damage(t, fsys, st.snapshot(0), 300) },
		kept: everything, starts: true},
	{name: "older snapshot", harm: func(t *testing.T, st *story, fsys vfs.FS) { damage(t, fsys, st.snapshot(1), 300) },
		kept: everything, starts: true},
	{name: "newest snapshot missing", harm: func(t *testing.T, st *story, fsys vfs.FS) { require.NoError(t, fsys.Remove(st.snapshot(0))) },
		kept: everything, starts: true},
	{name: "both snapshots", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		damage(t, fsys, st.snapshot(0), 300)
		damage(t, fsys, st.snapshot(1), 300)
	}, kept: func(*story) wal.LSN { return 0 }, lost: "all keys", empty: true},
	{name: "manifest damaged", snapshots: 2, harm: func(t *testing.T, st *story, fsys vfs.FS) {
		damage(t, fsys, path.Join(dir, engine.ManifestName), 20)
	}, kept: everything},
	{name: "manifest missing", snapshots: 2, harm: func(t *testing.T, st *story, fsys vfs.FS) {
		require.NoError(t, fsys.Remove(path.Join(dir, engine.ManifestName)))
	}, kept: everything},
	{name: "manifest and newest snapshot", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		damage(t, fsys, path.Join(dir, engine.ManifestName), 20)
		damage(t, fsys, st.snapshot(0), 300)
	}, kept: everything},
	{name: "log between the snapshots", harm: damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[1].LastLSN + 5 }),
		kept: everything, starts: true},
	{name: "log behind the newest snapshot", harm: damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN + 5 }),
		kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN + 4 },
		lost: "records 125 to 180 at least, 55 of them can still be read", snapshots: 2},
	{name: "log before the newest snapshot", harm: damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN - 2 }),
		kept: everything},
	{name: "the newest snapshot's last record", harm: damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN }),
		kept: everything},
	{name: "log before the newest snapshot, and behind", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		before := offsetOfRecord(t, fsys, st.m, st.m.Snapshots[0].LastLSN-2)
		behind := offsetOfRecord(t, fsys, st.m, st.m.Snapshots[0].LastLSN+20)
		damage(t, fsys, path.Join(dir, before.Segment), before.Offset+80)
		damage(t, fsys, path.Join(dir, behind.Segment), behind.Offset+80)
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN + 19 },
		lost: "records 140 to 180 at least, 40 of them can still be read"},
	{name: "log before the newest snapshot, and manifest", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN - 2 })(t, st, fsys)
		damage(t, fsys, path.Join(dir, engine.ManifestName), 20)
	}, kept: everything},
	{name: "log and manifest are gone", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		for _, name := range st.segments(t, fsys) {
			require.NoError(t, fsys.Remove(path.Join(dir, engine.WALDir, name)))
		}
		require.NoError(t, fsys.Remove(path.Join(dir, engine.ManifestName)))
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN }, snapshots: 2,
		lost: "perhaps records behind record 120: it is not known how far the log got"},
	{name: "manifest, and all segments but an empty one", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		names := st.segments(t, fsys)
		for _, name := range names[:len(names)-1] {
			require.NoError(t, fsys.Remove(path.Join(dir, engine.WALDir, name)))
		}
		empty := path.Join(dir, engine.WALDir, names[len(names)-1])
		f, err := fsys.Open(empty)
		require.NoError(t, err)
		_, err = f.WriteAt(make([]byte, len(content(t, fsys, empty))-64), 64)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.NoError(t, f.Close())
		damage(t, fsys, path.Join(dir, engine.ManifestName), 20)
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN },
		lost: "perhaps records behind record 120: it is not known how far the log got"},
	{name: "log and newest snapshot", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		damageRecord(func(st *story) wal.LSN { return st.m.Snapshots[1].LastLSN + 5 })(t, st, fsys)
		damage(t, fsys, st.snapshot(0), 300)
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[1].LastLSN + 4 },
		lost: "records 65 to 180 at least, 115 of them can still be read"},
	{name: "a segment behind the newest snapshot is missing", snapshots: 2, harm: func(t *testing.T, st *story, fsys vfs.FS) {
		f := offsetOfRecord(t, fsys, st.m, st.m.Snapshots[0].LastLSN+20)
		require.NoError(t, fsys.Remove(path.Join(dir, f.Segment)))
	}, kept: func(st *story) wal.LSN { return 0 }, lost: "to 180 at least, "},
	{name: "the log is gone", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		for _, name := range st.segments(t, fsys) {
			require.NoError(t, fsys.Remove(path.Join(dir, engine.WALDir, name)))
		}
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN }, lost: "records 121 to 180 at least"},
	{name: "another log", harm: func(t *testing.T, st *story, fsys vfs.FS) {
		other := tell(t, 3)
		for _, name := range st.segments(t, fsys) {
			require.NoError(t, fsys.Remove(path.Join(dir, engine.WALDir, name)))
		}
		for _, name := range other.segments(t, other.fs) {
			require.NoError(t, copyFile(other.fs, path.Join(dir, engine.WALDir, name), fsys,
				path.Join(dir, engine.WALDir, name), func(int64, int64) {}))
		}
	}, kept: func(st *story) wal.LSN { return st.m.Snapshots[0].LastLSN }, lost: "behind record 120"},
	{name: "a foreign file", snapshots: 2, harm: func(t *testing.T, st *story, fsys vfs.FS) {
		f, err := fsys.Create(path.Join(dir, engine.WALDir, "wal-00000000000000ff.seg"))
		require.NoError(t, err)
		_, err = f.WriteAt([]byte("not a segment"), 0)
		require.NoError(t, err)
		require.NoError(t, f.Sync())
		require.NoError(t, f.Close())
	}, kept: everything},
}

func repairIn(fsys vfs.FS, o RepairOptions) (*RepairReport, error) {
	return Repair(target(fsys, dir), o)
}

// Each kind of damage: without a yes nothing changes; after the repair check
// finds nothing, a server starts, and it holds what the report says.
func TestRepair(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			fsys := st.fs.Kill()
			b.harm(t, st, fsys)
			require.False(t, check(t, fsys, dir).Good())
			if _, err := tryStart(t, fsys.Kill()); b.starts {
				require.NoError(t, err)
			} else {
				require.Error(t, err)
			}

			counting := vfs.NewFaulty(fsys)
			planned, err := repairIn(counting, RepairOptions{})
			require.Zero(t, counting.Changes(), "a plan changes nothing")
			require.True(t, planned.Needed)
			require.False(t, planned.Done)
			require.NotEmpty(t, planned.Found)
			o := RepairOptions{Yes: true}
			if b.empty {
				require.ErrorIs(t, err, errNothingLeft)
				_, err = repairIn(counting, o)
				require.ErrorIs(t, err, errNothingLeft)
				require.Zero(t, counting.Changes(), "an empty store needs more than a yes")
				o.Empty = true
			} else {
				require.NoError(t, err)
			}

			done, err := repairIn(fsys, o)
			require.NoError(t, err)
			require.True(t, done.Done)
			require.Equal(t, planned.Kept, done.Kept, "the plan was right")
			require.Equal(t, planned.Lost, done.Lost, "the plan was right")
			if text := textOf(t, done.WriteText); b.lost == "" {
				require.Contains(t, text, "lost: nothing\n")
			} else {
				require.Contains(t, text, "lost: ")
				require.Contains(t, done.Lost, b.lost)
			}
			requireGood(t, check(t, fsys, dir))
			if b.empty {
				require.Empty(t, manifestOf(t, fsys).Snapshots)
			} else {
				require.Len(t, manifestOf(t, fsys).Snapshots, max(b.snapshots, 1))
			}
			if names := st.segments(t, fsys); len(names) > 0 {
				require.Equal(t, fmt.Sprintf("wal-%016x.seg", manifestOf(t, fsys).FirstSegment), names[0])
			}
			kept := b.kept(st)
			if kept == 0 && !b.empty { // a segment is missing: as far as the one before it
				require.Regexp(t, `log up to record \d+$`, done.Kept)
				_, err := fmt.Sscanf(done.Kept[strings.LastIndex(done.Kept, " "):], "%d", &kept)
				require.NoError(t, err)
				require.GreaterOrEqual(t, kept, st.m.Snapshots[0].LastLSN)
				require.Less(t, kept, st.last())
			}
			again, err := repairIn(fsys, RepairOptions{Yes: true})
			require.NoError(t, err)
			require.False(t, again.Needed, "nothing is left to repair")
			st.holds(t, fsys, kept)
		})
	}
}

// Before a second snapshot the log is whole from its first record on: a
// damaged snapshot costs nothing.
func TestRepairWithTheLogAlone(t *testing.T) {
	t.Parallel()
	st := tell(t, 2)
	require.Len(t, st.m.Snapshots, 1)
	for _, manifest := range []bool{true, false} {
		fsys := st.fs.Kill()
		damage(t, fsys, st.snapshot(0), 300)
		if !manifest {
			require.NoError(t, fsys.Remove(path.Join(dir, engine.ManifestName)))
		}
		report, err := repairIn(fsys, RepairOptions{Yes: true})
		require.NoError(t, err)
		require.Empty(t, report.Lost)
		requireGood(t, check(t, fsys, dir))
		st.holds(t, fsys, st.last())
	}
}

func TestNothingToRepair(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	counting := vfs.NewFaulty(st.fs)
	report, err := repairIn(counting, RepairOptions{Yes: true, Empty: true})
	require.NoError(t, err)
	require.False(t, report.Needed)
	require.Equal(t, "data: nothing to repair\n", textOf(t, report.WriteText))
	require.Zero(t, counting.Changes())
	st.holds(t, st.fs, st.last())

	_, err = Repair(target(st.fs, "elsewhere"), RepairOptions{})
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, st.fs.MkdirAll("other"))
	_, err = Repair(target(st.fs, "other"), RepairOptions{})
	require.ErrorContains(t, err, "this is no data directory")
}

// A server that holds the directory keeps its files.
func TestRepairRefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	s := start(t, fsys)
	_, err := repairIn(fsys, RepairOptions{Yes: true})
	require.ErrorIs(t, err, engine.ErrInUse)
	s.stop()
}

// What is taken away has a copy, byte for byte.
func TestRepairKeepsWhatItTakesAway(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	fsys := st.fs.Kill()
	damage(t, fsys, st.snapshot(0), 300)
	bad := content(t, fsys, st.snapshot(0))
	manifest := content(t, fsys, path.Join(dir, engine.ManifestName))
	report, err := repairIn(fsys, RepairOptions{Yes: true})
	require.NoError(t, err)
	require.Equal(t, "repair-1", report.SaveDir)
	require.Equal(t, bad, content(t, fsys, path.Join(dir, "repair-1", path.Base(st.snapshot(0)))))
	require.Equal(t, manifest, content(t, fsys, path.Join(dir, "repair-1", engine.ManifestName)))
	damage(t, fsys, st.snapshot(1), 300)
	report, err = repairIn(fsys, RepairOptions{Yes: true, Empty: true})
	require.NoError(t, err)
	require.Equal(t, "repair-2", report.SaveDir)
}

func content(t *testing.T, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return b
}

// The machine stops after every single change of a repair, and a power cut
// takes what was not synced: the same repair leads to the same store.
func TestRepairCrashes(t *testing.T) {
	t.Parallel()
	st := tellShort(t, 3, 24)
	for _, b := range breakages {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			whole := st.fs.Kill()
			b.harm(t, st, whole)
			for _, d := range []string{"", engine.SnapshotDir, engine.WALDir} {
				require.NoError(t, whole.SyncDir(path.Join(dir, d)), "nothing is under way when the repair begins")
			}
			o := RepairOptions{Yes: true, Empty: true}
			plan, err := repairIn(vfs.NewFaulty(whole), RepairOptions{Empty: true})
			require.NoError(t, err)
			stops := 0
			for n := 0; ; n++ {
				fsys := whole.Kill()
				faulty := vfs.NewFaulty(fsys)
				faulty.HaltAfter(n)
				if _, err := repairIn(faulty, o); err == nil {
					break
				}
				stops++
				after := fsys.Crash(uint64(n))
				report, err := repairIn(after, o)
				require.NoError(t, err, "stopped after %d changes", n)
				if report.Needed {
					require.Equal(t, plan.Kept, report.Kept, "stopped after %d changes", n)
				}
				requireGood(t, check(t, after, dir))
				for i := range st.m.Snapshots {
					st.copied(t, whole, after, st.snapshot(i))
				}
			}
			require.Greater(t, stops, 5)
		})
	}
}

// copied wants a snapshot that was there before a repair to be in its place or
// among what was taken away.
func (st *story) copied(t *testing.T, before, after vfs.FS, name string) {
	t.Helper()
	if f, err := before.Open(name); err != nil {
		return // it was missing
	} else {
		require.NoError(t, f.Close())
	}
	want := content(t, before, name)
	places := []string{name}
	for n := 1; n < 4; n++ {
		places = append(places, path.Join(dir, fmt.Sprint(repairPrefix, n), path.Base(name)))
	}
	for _, place := range places {
		if f, err := after.Open(place); err == nil {
			require.NoError(t, f.Close())
			require.Equal(t, want, content(t, after, place))
			return
		}
	}
	t.Errorf("%s is gone, and has no copy", name)
}

// Where nothing is taken away there is no directory for it.
func TestRepairThatTakesNothingAway(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	fsys := st.fs.Kill()
	require.NoError(t, fsys.Remove(path.Join(dir, engine.ManifestName)))
	report, err := repairIn(fsys, RepairOptions{Yes: true})
	require.NoError(t, err)
	require.Empty(t, report.SaveDir)
	names, err := fsys.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		require.False(t, strings.HasPrefix(name, repairPrefix), name)
	}
}
