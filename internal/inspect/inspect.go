// Package inspect reads data directories and snapshot files for the
// subcommands of the server binary: check, dump, stat, repair, restore.
//
// It promises that Check, Dump and Stat change nothing, and read a log or a
// snapshot as a stream: memory grows with the number of IDEM records at most,
// never with the size of a file. Repair and Restore are crash safe: after a
// crash they can be run again, and nothing that was taken away is without a
// copy.
//
// It assumes that what it reads may be damaged in any way: every byte comes
// through the checks of wal and snapshot. It never opens a store for serving,
// and reads no clock.
package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// lockName is the file that a server holds locked.
const lockName = "hapax.lock"

// snapshotSuffix ends the name of a published snapshot.
const snapshotSuffix = ".hsnap"

// Target is what is looked at: a data directory, or the file of one snapshot.
// For what only reads, FS is vfs.ReadOnly.
type Target struct {
	FS   vfs.FS
	Path string
	// PlaceOf is shard.PlaceOf: where a snapshot made under secrets has a key.
	PlaceOf func(key []byte, secrets *[4]uint64) uint64
	// Progress is told now and then how much of a file or a log is done; nil
	// is not.
	Progress func(what string, done, total int64)

	held bool // the lock is ours
}

// isDir says whether the target is a directory. An error when nothing is there.
func (t *Target) isDir() (bool, error) {
	if _, err := t.FS.List(t.Path); err == nil {
		return true, nil
	}
	f, err := t.FS.Open(t.Path)
	if err != nil {
		return false, err
	}
	return false, f.Close()
}

// isStoreDir is isDir, with an error for a directory that is no data directory.
func (t *Target) isStoreDir() (bool, error) {
	names, err := t.FS.List(t.Path)
	if err == nil && !isStore(names) {
		return true, t.errNoStore()
	}
	return t.isDir()
}

// isStore says whether a directory with these names in it is a data directory.
func isStore(names []string) bool {
	return slices.Contains(names, engine.ManifestName) || slices.Contains(names, engine.WALDir) ||
		slices.Contains(names, engine.SnapshotDir)
}

func (t *Target) errNoStore() error {
	return fmt.Errorf("%s: there is neither a manifest nor a snapshot nor a log: this is no data directory", t.Path)
}

func (t *Target) progress(what string) func(done, total int64) {
	if t.Progress == nil {
		return func(int64, int64) {}
	}
	return func(done, total int64) { t.Progress(what, done, total) }
}

// inUse says whether a server holds the directory now. The lock is given back
// at once: a server may start beside whoever only reads.
func (t *Target) inUse() bool {
	if t.held {
		return false
	}
	lock, err := t.FS.Lock(path.Join(t.Path, lockName))
	if err != nil {
		return errors.Is(err, vfs.ErrLocked) // anything else: no server was ever here
	}
	_ = lock.Close() // nothing was written to it
	return false
}

func (t *Target) walDir() string      { return path.Join(t.Path, engine.WALDir) }
func (t *Target) snapshotDir() string { return path.Join(t.Path, engine.SnapshotDir) }

// snapshotFile is a snapshot's name below the directory.
func snapshotFile(id uint64) string {
	return path.Join(engine.SnapshotDir, engine.SnapshotName(id))
}

// list is List, with nothing for a directory that is not there.
func list(fsys vfs.FS, dir string) ([]string, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// logOptions is how a start would open the log behind a snapshot at base; m
// may be nil.
func (t *Target) logOptions(m *engine.Manifest, base wal.LSN) wal.Options {
	o := wal.Options{FS: t.FS, Dir: t.walDir(), FirstLSN: base + 1}
	if m != nil {
		o.FirstSegment, o.LogID, o.ReachLSN = m.FirstSegment, m.LogID, m.ReachLSN
		o.MustExist = m.LogID != 0
	}
	return o
}

// readSnapshot opens the snapshot in file, checks every byte of it and hands
// its content to the sink that it asks for.
func (t *Target) readSnapshot(file string, sink func(i *snapshot.Info) snapshot.Sink) (info snapshot.Info, err error) {
	f, err := t.FS.Open(file)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := snapshot.Open(f, file)
	if err != nil {
		return info, err
	}
	info = r.Info()
	return info, r.Load(sink(&info), snapshot.LoadOptions{Progress: t.progress(path.Base(file))})
}

// milliTime writes a Unix time in milliseconds.
func milliTime(milli int64) string {
	return time.UnixMilli(milli).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// sizeText is a number of bytes for people.
func sizeText(n int64) string {
	const unit = 1 << 10
	if n < unit {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	value, names := float64(n)/unit, "KMGTPE"
	for value >= unit {
		value, names = value/unit, names[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, names[0])
}

// counted is "1 record", "2 records".
func counted[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(int64(n), 10) + " " + what + "s"
}

// snapshotID is the number in the name of a published snapshot.
func snapshotID(name string) (id uint64, ok bool) {
	digits, ok := strings.CutSuffix(strings.TrimPrefix(name, "snap-"), snapshotSuffix)
	if !ok {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 16, 64)
	return id, err == nil && engine.SnapshotName(id) == name
}
