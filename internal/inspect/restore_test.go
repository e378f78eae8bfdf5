package inspect

import (
	"errors"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
)

var errNoRoom = errors.New("no room")

// backup is a copy of one snapshot file, on a file system of its own.
func (st *story) backup(t *testing.T) *vfs.Mem {
	t.Helper()
	fsys := vfs.NewMem()
	require.NoError(t, copyFile(st.fs, st.snapshot(0), fsys, "backup", func(int64, int64) {}))
	return fsys
}

func TestRestore(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	from := st.backup(t)
	requireGood(t, check(t, from, "backup"))
	to := vfs.NewMem()
	info, err := Restore(target(from, "backup"), to, dir)
	require.NoError(t, err)
	require.Equal(t, st.m.Snapshots[0].LastLSN, info.LastLSN)
	requireGood(t, check(t, to, dir))
	require.Equal(t, info.LastLSN, check(t, to, dir).Log.LastLSN)
	report := stat(t, to, dir) // no log was begun yet
	require.Equal(t, info.LastLSN, report.Log.LastLSN)
	require.Equal(t, snapshotFile(info.ID)+" (50 keys, as of record 120), then 0 records of the log, up to record 120", report.Loads)
	st.holds(t, to, info.LastLSN)
	st.holdsMore(t, to)

	_, err = Restore(target(from, "backup"), to, dir)
	require.ErrorIs(t, err, ErrNotEmpty)
}

// holdsMore writes on in a restored directory, over snapshots and restarts.
func (st *story) holdsMore(t *testing.T, fsys vfs.FS) {
	t.Helper()
	s := start(t, fsys)
	s.begin(2, "order", "f", "me", 100_000)
	s.sync()
	s.save(nil)
	s.complete(2, "order", "f", "me", "done")
	s.sync()
	s.save(nil)
	s.stop()
	r := check(t, fsys, dir)
	requireGood(t, r)
	require.Equal(t, int64(1), r.Idem.Live)
	start(t, fsys).stop()
}

func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	from := st.backup(t)

	to := vfs.NewMem()
	require.NoError(t, to.MkdirAll(dir))
	f, err := to.Create(path.Join(dir, "letter"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = Restore(target(from, "backup"), to, dir)
	require.ErrorIs(t, err, ErrNotEmpty)
	require.ErrorContains(t, err, "letter")
	names, err := to.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"letter"}, names, "nothing is added to a directory that is refused")

	damage(t, from, "backup", 400)
	to = vfs.NewMem()
	_, err = Restore(target(from, "backup"), to, dir)
	var bad *snapshot.DamageError
	require.ErrorAs(t, err, &bad)
	_, err = to.List(dir)
	require.Error(t, err, "nothing is made for a snapshot that is damaged")

	other := tell(t, 3)
	require.NoError(t, other.fs.Remove(path.Join(dir, engine.ManifestName)))
	_, err = Restore(target(st.backup(t), "backup"), other.fs, dir)
	require.ErrorIs(t, err, ErrNotEmpty, "a directory that only lost its manifest is not empty")
}

// Without room, and with every other failure of a change, a restore says so,
// and works when it is run again.
func TestRestoreFailsAndRunsAgain(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	from := st.backup(t)
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		to := vfs.NewFaulty(mem)
		to.Inject(vfs.Fault{Op: vfs.OpChange, Nth: n, Err: errNoRoom})
		_, err := Restore(target(from, "backup"), to, dir)
		if err == nil {
			require.Greater(t, n, 8)
			return
		}
		require.ErrorIs(t, err, errNoRoom)
		to.Clear()
		if m, err := engine.ReadManifest(mem, dir); err == nil && m != nil {
			requireGood(t, check(t, mem, dir)) // it only failed to sync the manifest's name
			continue
		}
		_, err = Restore(target(from, "backup"), to, dir)
		require.NoError(t, err, "change %d had failed", n)
		requireGood(t, check(t, mem, dir))
	}
}

// The machine stops after every change: what is there then is the whole store,
// or something that a server refuses or takes for a new directory, and the
// restore can be run again.
func TestRestoreCrashes(t *testing.T) {
	t.Parallel()
	st := tellShort(t, 3, 24)
	from := st.backup(t)
	want := st.m.Snapshots[0].LastLSN
	for n := 0; ; n++ {
		mem := vfs.NewMem()
		to := vfs.NewFaulty(mem)
		to.HaltAfter(n)
		if _, err := Restore(target(from, "backup"), to, dir); err == nil {
			st.holds(t, mem.Crash(uint64(n)), want)
			require.Greater(t, n, 8)
			return
		}
		for seed := range uint64(3) {
			after := mem.Crash(seed)
			if m, err := engine.ReadManifest(after, dir); err == nil && m != nil {
				st.holds(t, after, want)
				continue
			}
			if s, err := tryStart(t, after.Kill()); err == nil {
				_, ok := s.get(0, "key1")
				require.False(t, ok, "half of a store was served")
				s.stop()
			}
			_, err := Restore(target(from, "backup"), after, dir)
			require.NoError(t, err, "stopped after %d changes, seed %d", n, seed)
			st.holds(t, after, want)
		}
	}
}
