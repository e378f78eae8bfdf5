package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// twoSnapshots is a world that stopped in order after two snapshots and some
// writes; its state is checked by every start.
func twoSnapshots(t *testing.T) *world {
	w := newWorld(t, 21)
	w.try(w.open)
	for range 2 {
		for range 20 {
			w.random()
		}
		w.snapshot(w.random)
	}
	for range 10 {
		w.random()
	}
	w.stop()
	return w
}

// stop is an orderly stop: everything counts as acknowledged.
func (w *world) stop() {
	w.t.Helper()
	w.try(func() error { return w.eng.Close() })
	require.NoError(w.t, w.err)
	require.Zero(w.t, w.failed)
	w.acked = len(w.states) - 1
}

// copied is a second world with the same files and history.
func (w *world) copied(t *testing.T, change ...func(o *Options)) *world {
	next := w.after(w.mem.Kill(), change...)
	next.t = t
	return next
}

// edit changes the bytes of a file behind everybody's back.
func (w *world) edit(name string, change func(b []byte) []byte) {
	w.t.Helper()
	f, err := w.mem.Open(name)
	require.NoError(w.t, err)
	size, err := f.Size()
	require.NoError(w.t, err)
	b := make([]byte, size)
	_, err = f.ReadAt(b, 0)
	require.NoError(w.t, err)
	b = change(b)
	require.NoError(w.t, f.Truncate(0))
	_, err = f.WriteAt(b, 0)
	require.NoError(w.t, err)
	require.NoError(w.t, f.Sync())
	require.NoError(w.t, f.Close())
}

func (w *world) remove(name string) {
	w.t.Helper()
	require.NoError(w.t, w.mem.Remove(name))
}

func (w *world) read(name string) string {
	w.t.Helper()
	var text string
	w.edit(name, func(b []byte) []byte { text = string(b); return b })
	return text
}

func flip(at int) func(b []byte) []byte {
	return func(b []byte) []byte { b[at%len(b)] ^= 0x10; return b }
}

// refused opens a store that must not start, and sees that nothing changed.
func (w *world) refused(contains ...string) {
	w.t.Helper()
	w.fs.Inject(vfs.Fault{Op: vfs.OpChange &^ (vfs.OpMkdir | vfs.OpSyncDir), Sticky: true, Err: errors.New("changed something")})
	err := w.open()
	require.Error(w.t, err)
	for _, text := range contains {
		require.ErrorContains(w.t, err, text)
	}
	if w.eng != nil {
		require.True(w.t, w.eng.Loading(), "a store that is not whole never serves")
		require.NoError(w.t, w.eng.Close())
	}
}

func newestSnapshot(m *Manifest) string { return "data/snapshot/" + SnapshotName(m.Snapshots[0].ID) }

func (w *world) manifest() *Manifest {
	w.t.Helper()
	m, err := ReadManifest(w.mem, "data")
	require.NoError(w.t, err)
	require.NotNil(w.t, m)
	return m
}

func TestDamagedSnapshotFallsBackToTheOneBefore(t *testing.T) {
	whole := twoSnapshots(t)
	m := whole.manifest()
	require.Len(t, m.Snapshots, 2)
	newest := newestSnapshot(m)
	for at := 0; int64(at) < m.Snapshots[0].SizeBytes; at += 1 + at%29 {
		w := whole.copied(t)
		w.edit(newest, flip(at))
		warned := &lines{}
		w.opts.Warnf = warned.logf
		require.NoError(t, w.open(), "byte %d", at)
		w.check("after the fallback")
		require.Contains(t, warned.text(), newest+" cannot be used: offset ")
		require.NotContains(t, warned.text(), "To go on", "it does go on")
		require.Contains(t, warned.text(), SnapshotName(m.Snapshots[1].ID)+" and the log made up for it")
		require.Equal(t, []string{SnapshotName(m.Snapshots[0].ID) + ".bad"}, files(t, w.mem, "data/snapshot", ".bad"))
		require.Equal(t, m.Snapshots[1:], w.manifest().Snapshots)

		// Another one is made soon, and it is not made in vain.
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.Equal(t, CauseDamage, w.eng.SnapshotStatus().Cause)
		for !w.eng.StepSnapshot() {
		}
		require.NoError(t, w.eng.SnapshotStatus().LastErr)
		w.eng.Cron(w.eng.Clock.NowMilli())
		require.False(t, w.eng.SnapshotStatus().Running)
		require.Equal(t, m.Snapshots[0].ID+1, w.manifest().Snapshots[0].ID)
		require.Equal(t, m.Snapshots[1], w.manifest().Snapshots[1])
		w.restart()
		require.NoError(t, w.err)
		require.Len(t, files(t, w.mem, "data/snapshot", ".bad"), 1, "what could not be loaded stays")
		require.NoError(t, w.eng.Close())
	}
}

func TestMissingOrUnreadableSnapshotFallsBack(t *testing.T) {
	whole := twoSnapshots(t)
	newest := newestSnapshot(whole.manifest())
	t.Run("missing", func(t *testing.T) {
		w := whole.copied(t)
		w.remove(newest)
		require.NoError(t, w.open())
		w.check("missing")
		require.NoError(t, w.eng.Close())
	})
	t.Run("input/output error", func(t *testing.T) {
		w := whole.copied(t)
		w.fs.Inject(vfs.Fault{Op: vfs.OpRead, Path: newest, Nth: 3, Err: syscall.EIO})
		require.NoError(t, w.open())
		w.check("unreadable")
		require.NoError(t, w.eng.Close())
	})
	t.Run("cut off", func(t *testing.T) {
		w := whole.copied(t)
		w.edit(newest, func(b []byte) []byte { return b[:len(b)-1] })
		require.NoError(t, w.open())
		w.check("cut off")
		require.NoError(t, w.eng.Close())
	})
	t.Run("the older in its place", func(t *testing.T) {
		w := whole.copied(t)
		older := w.read("data/snapshot/" + SnapshotName(whole.manifest().Snapshots[1].ID))
		w.edit(newest, func([]byte) []byte { return []byte(older) })
		require.NoError(t, w.open())
		w.check("the older in its place")
		require.NoError(t, w.eng.Close())
	})
}

func TestBothSnapshotsDamaged(t *testing.T) {
	t.Run("the log does not reach back", func(t *testing.T) {
		w := newWorld(t, 22)
		w.try(w.open)
		for range 4 {
			for range 40 {
				w.random()
			}
			w.snapshot(nil)
		}
		w.stop()
		m := w.manifest()
		require.Greater(t, m.FirstSegment, uint64(1))
		for _, s := range m.Snapshots {
			w.edit("data/snapshot/"+SnapshotName(s.ID), flip(int(s.SizeBytes)/2))
		}
		w.refused(SnapshotName(m.Snapshots[0].ID)+", offset", "restore")
	})
	t.Run("the log is whole from its beginning", func(t *testing.T) {
		w := newWorld(t, 23, func(o *Options) { o.SegmentBytes = 1 << 20 })
		w.try(w.open)
		for range 2 {
			for range 20 {
				w.random()
			}
			w.snapshot(w.random)
		}
		w.stop()
		for _, s := range w.manifest().Snapshots {
			w.edit("data/snapshot/"+SnapshotName(s.ID), flip(int(s.SizeBytes)/2))
		}
		require.NoError(t, w.open())
		w.check("from the log alone")
		require.Empty(t, w.manifest().Snapshots)
		require.Len(t, files(t, w.mem, "data/snapshot", ".bad"), 2)
		w.goOn("after that")
	})
}

// What is not the file's fault is no reason to take an older one.
func TestSnapshotRefusedForOtherReasons(t *testing.T) {
	whole := twoSnapshots(t)
	t.Run("fewer databases", func(t *testing.T) {
		w := newWorld(t, 24)
		w.try(w.open)
		w.put(2, "a", "1", 0)
		w.snapshot(nil)
		w.stop()
		w = w.copied(t, func(o *Options) { o.Databases = 1 })
		w.refused("databases")
	})
	t.Run("a newer version", func(t *testing.T) {
		w := whole.copied(t)
		w.edit(newestSnapshot(w.manifest()), func(b []byte) []byte {
			b[8]++
			binary.LittleEndian.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
			return b
		})
		w.refused("newer")
	})
}

func TestManifestLostOrForeign(t *testing.T) {
	whole := twoSnapshots(t)
	other := newWorld(t, 99)
	other.try(other.open)
	for range 5 {
		other.random()
	}
	other.stop()
	t.Run("lost", func(t *testing.T) {
		w := whole.copied(t)
		w.remove("data/MANIFEST")
		w.refused("MANIFEST", "is missing", "snapshot/"+SnapshotName(2), "repair")
	})
	t.Run("lost with a log whose beginning is gone", func(t *testing.T) {
		w := whole.copied(t)
		w.remove("data/MANIFEST")
		for _, name := range files(t, w.mem, "data/snapshot", snapshotSuffix) {
			w.remove("data/snapshot/" + name)
		}
		if segments(t, w.mem)[0] == 1 {
			w.remove("data/wal/wal-0000000000000001.seg")
		}
		w.refused("MANIFEST", "does not begin with its first segment")
	})
	t.Run("lost with a log alone", func(t *testing.T) {
		w := other.copied(t)
		w.remove("data/MANIFEST")
		require.NoError(t, w.open())
		w.check("an earlier version wrote it")
		require.NoError(t, w.eng.Close())
	})
	t.Run("of another store", func(t *testing.T) {
		w := whole.copied(t)
		text := other.read("data/MANIFEST")
		w.edit("data/MANIFEST", func([]byte) []byte { return []byte(text) })
		w.refused("it belongs to log", "put the right one back")
	})
	t.Run("every byte", func(t *testing.T) {
		text := whole.read("data/MANIFEST")
		for at := range len(text) {
			w := whole.copied(t)
			w.edit("data/MANIFEST", flip(at))
			w.refused("MANIFEST")
		}
	})
	t.Run("every truncation", func(t *testing.T) {
		text := whole.read("data/MANIFEST")
		for n := range len(text) {
			w := whole.copied(t)
			w.edit("data/MANIFEST", func(b []byte) []byte { return b[:n] })
			w.refused("MANIFEST")
		}
	})
}

func TestLogLostOrShort(t *testing.T) {
	whole := twoSnapshots(t)
	reach := whole.manifest().ReachLSN
	t.Run("removed", func(t *testing.T) {
		w := whole.copied(t)
		for _, name := range files(t, w.mem, "data/wal", "") {
			w.remove("data/wal/" + name)
		}
		w.refused("there is no log")
	})
	t.Run("removed, without any snapshot", func(t *testing.T) {
		w := newWorld(t, 25)
		w.try(w.open)
		w.random()
		w.stop()
		for _, name := range files(t, w.mem, "data/wal", "") {
			w.remove("data/wal/" + name)
		}
		w.refused("there is no log")
	})
	t.Run("begun only, then removed", func(t *testing.T) {
		w := newWorld(t, 26)
		w.try(w.open)
		w.stop()
		for _, name := range files(t, w.mem, "data/wal", "") {
			w.remove("data/wal/" + name)
		}
		w.refused("there is no log")
	})
	t.Run("its end zeroed after an orderly stop", func(t *testing.T) {
		seqs := segments(t, whole.mem)
		for _, keep := range []int{64, 200, 900} {
			w := whole.copied(t)
			for _, seq := range seqs[max(len(seqs)-2, 0):] {
				w.edit(fmt.Sprintf("data/wal/wal-%016x.seg", seq), func(b []byte) []byte {
					clear(b[min(keep, len(b)):])
					return b
				})
			}
			w.refused("log damaged")
		}
	})
	t.Run("its last segments removed", func(t *testing.T) {
		w := whole.copied(t)
		seqs := segments(t, w.mem)
		for _, seq := range seqs[1:] {
			w.remove(fmt.Sprintf("data/wal/wal-%016x.seg", seq))
		}
		w.refused("log damaged")
	})
	t.Run("short by one record", func(t *testing.T) {
		w := whole.copied(t)
		m := w.manifest()
		m.ReachLSN = reach + 1
		require.NoError(t, m.Write(w.mem, "data"))
		w.refused(fmt.Sprintf("the log ends after record %d, but was known to be synced to record %d", reach, reach+1))
	})
	t.Run("a segment from the middle", func(t *testing.T) {
		w := newWorld(t, 27)
		w.try(w.open)
		for range 200 {
			w.random()
			w.commit()
		}
		w.stop()
		seqs := segments(t, w.mem)
		require.Greater(t, len(seqs), 3)
		w.remove(fmt.Sprintf("data/wal/wal-%016x.seg", seqs[len(seqs)/2]))
		w.refused("log damaged", "put the missing file back")
	})
}

// A snapshot that says one record more or less than it holds would lose or
// repeat one.
func TestSnapshotAndLogOffByOne(t *testing.T) {
	whole := twoSnapshots(t)
	for _, off := range []wal.LSN{1, ^wal.LSN(0)} {
		w := whole.copied(t)
		m := w.manifest()
		m.Snapshots[0].LastLSN += off
		require.NoError(t, m.Write(w.mem, "data"))
		// The file says otherwise, so it is not the one that is meant; the one
		// before it is.
		require.NoError(t, w.open())
		w.check("off by one")
		require.Contains(t, w.log.text(), "the manifest names snapshot")
		require.NoError(t, w.eng.Close())
	}
}

func TestUnknownOpcodeBehindASnapshot(t *testing.T) {
	w := twoSnapshots(t)
	require.NoError(t, w.open())
	l := w.eng.Log()
	l.Lock()
	lsn := l.Done(append(l.Next(startMilli), 250, 0))
	l.Unlock()
	require.NoError(t, l.Commit(lsn))
	require.NoError(t, w.eng.Close())
	w.start()
	err := w.open()
	require.ErrorContains(t, err, "unknown opcode 250")
	require.ErrorContains(t, err, fmt.Sprintf("log record %d", lsn))
	require.NoError(t, w.eng.Close())
}

func TestStopDuringALoad(t *testing.T) {
	whole := twoSnapshots(t)
	for at := 1; ; at++ {
		w := whole.copied(t)
		w.fs.Inject(vfs.Fault{Op: vfs.OpRead, Nth: at, Before: func() { w.eng.StopRecovery() }})
		w.fs.Inject(vfs.Fault{Op: vfs.OpChange &^ (vfs.OpMkdir | vfs.OpSyncDir), Sticky: true, Err: errors.New("changed something")})
		err := w.open()
		if err == nil || strings.Contains(err.Error(), "changed something") {
			require.Greater(t, at, 8, "the stop came behind the last record")
			w.leave()
			return
		}
		require.ErrorIs(t, err, ErrStopped, "read %d", at)
		require.True(t, w.eng.Loading())
		w.leave()
	}
}

// forbidding lets nobody write to snapshots, nor read them if read is set.
type forbidding struct {
	vfs.FS
	read bool
}

func (f forbidding) Open(name string) (vfs.File, error) {
	if strings.HasSuffix(name, snapshotSuffix) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

func (f forbidding) OpenRead(name string) (vfs.File, error) {
	if f.read && strings.HasSuffix(name, snapshotSuffix) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.OpenRead(name)
}

// A snapshot copied back by somebody else may only be readable; that is enough.
// One that may not even be read, or for which the machine has no room now, is
// no damaged one: nothing older is loaded in its place, nothing is renamed.
func TestSnapshotThatMayNotBeOpened(t *testing.T) {
	whole := twoSnapshots(t)
	t.Run("for writing", func(t *testing.T) {
		w := whole.copied(t)
		warned := &lines{}
		w.opts.FS, w.opts.Warnf = forbidding{FS: w.fs}, warned.logf
		require.NoError(t, w.open())
		w.check("read only")
		require.Empty(t, warned.text())
		w.leave()
	})
	for _, cause := range []error{fs.ErrPermission, syscall.EMFILE, syscall.EROFS, syscall.ENOMEM} {
		t.Run(cause.Error(), func(t *testing.T) {
			w := whole.copied(t)
			if cause == fs.ErrPermission {
				w.opts.FS = forbidding{w.fs, true}
			} else {
				w.fs.Inject(vfs.Fault{Op: vfs.OpOpen, Path: snapshotSuffix, Err: cause, Sticky: true})
			}
			require.ErrorIs(t, w.open(), cause)
			require.Empty(t, files(t, w.mem, "data/snapshot", badSuffix))
			require.NoError(t, w.eng.Close())

			w = w.killed()
			require.NoError(t, w.open())
			w.check("later")
			require.Len(t, w.manifest().Snapshots, 2)
			w.leave()
		})
	}
}
