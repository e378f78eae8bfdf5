package inspect

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// mayBeThere are names that don't make a directory anything but empty: the
// lock file, and what the file system itself keeps in its root.
var mayBeThere = []string{lockName, "lost+found"}

// ErrNotEmpty says that a restore would mix a snapshot with something else.
var ErrNotEmpty = errors.New("the directory is not empty")

// Restore makes a data directory in dir that holds the store of one snapshot;
// the log begins behind it. In order, so that a crash leaves a directory that
// no server takes for a store, or the whole store:
//
//  1. every byte of the snapshot is checked;
//  2. dir is made, locked, and found empty;
//  3. the snapshot is copied, synced, and the copy checked;
//  4. the manifest is written.
//
// What an interrupted restore of the same snapshot left counts as empty.
func Restore(t *Target, to vfs.FS, dir string) (info snapshot.Info, err error) {
	if info, err = t.verify(t.FS, t.Path); err != nil {
		return info, err
	}
	if err := emptyFor(to, dir, info.ID); err != nil {
		return info, err
	}
	if err := to.MkdirAll(path.Join(dir, engine.SnapshotDir)); err != nil {
		return info, err
	}
	lock, err := to.Lock(path.Join(dir, lockName))
	if err != nil {
		return info, lockError(dir, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := emptyFor(to, dir, info.ID); err != nil { // nobody came first
		return info, err
	}
	copied := path.Join(dir, snapshotFile(info.ID))
	if err := copyFile(t.FS, t.Path, to, copied, t.progress("copy of "+path.Base(t.Path))); err != nil {
		return info, err
	}
	if again, err := t.verify(to, copied); err != nil {
		return info, fmt.Errorf("the copy cannot be read back: %w", err)
	} else if again != info {
		return info, fmt.Errorf("the copy in %s is not what was copied: did the file change meanwhile?", copied)
	}
	m := engine.Manifest{
		FirstSegment: 1, ReachLSN: info.LastLSN, ReachT: info.LastT,
		Snapshots: []engine.SnapshotRef{{ID: info.ID, LastLSN: info.LastLSN, SizeBytes: info.SizeBytes}},
	}
	return info, m.Write(to, dir)
}

func lockError(dir string, err error) error {
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("%s: %w; stop it first", dir, engine.ErrInUse)
	}
	return err
}

// emptyFor says whether nothing is in dir that a restore of snapshot id did
// not leave.
func emptyFor(fsys vfs.FS, dir string, id uint64) error {
	names, err := list(fsys, dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case name == engine.SnapshotDir, name == engine.ManifestName+vfs.TempSuffix, slices.Contains(mayBeThere, name):
		default:
			return fmt.Errorf("%s: %w: there is %s", dir, ErrNotEmpty, name)
		}
	}
	if names, err = list(fsys, path.Join(dir, engine.SnapshotDir)); err != nil {
		return err
	}
	own := engine.SnapshotName(id)
	for _, name := range names {
		if name != own && name != own+vfs.TempSuffix {
			return fmt.Errorf("%s: %w: there is %s", dir, ErrNotEmpty, path.Join(engine.SnapshotDir, name))
		}
	}
	return nil
}

// verify reads a snapshot whole.
func (t *Target) verify(fsys vfs.FS, file string) (snapshot.Info, error) {
	other := Target{FS: fsys, Path: file, Progress: t.Progress}
	return other.readSnapshot(file, func(*snapshot.Info) snapshot.Sink { return ignore{} })
}

// ignore is a Sink for a snapshot of which only the checksums matter.
type ignore struct{}

func (ignore) Entries([]op.Op) error               { return nil }
func (ignore) Pieces([]snapshot.Piece) error       { return nil }
func (ignore) Record(wal.LSN, int64, *op.Op) error { return nil }

// copyChunkBytes is how much is copied at a time.
const copyChunkBytes = 1 << 20

// copyFile copies a file to a name that gets it whole or not at all, synced.
func copyFile(from vfs.FS, name string, to vfs.FS, copied string, progress func(done, total int64)) (err error) {
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return vfs.Replace(to, copied, func(w vfs.File) error {
		buf := make([]byte, min(size, copyChunkBytes))
		for at := int64(0); at < size; {
			n := min(int64(len(buf)), size-at)
			if got, err := f.ReadAt(buf[:n], at); err != nil && !(errors.Is(err, io.EOF) && int64(got) == n) {
				return err
			}
			if _, err := w.WriteAt(buf[:n], at); err != nil {
				return err
			}
			at += n
			progress(at, size)
		}
		return nil
	})
}
