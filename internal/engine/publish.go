package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// publish does step 6: the manifest names the new snapshot and the one before
// it, and the segments that the one before needs. When this fails it is known
// that the old manifest is still the one, or it is not known at all which one
// is. Then nothing may be removed, as either may be what the next start finds;
// both are true of what is there. A store with a log ends then (I8): a kernel
// that could not write a directory may have forgotten that it had to, so no
// later success could be believed. One without a log goes on, since memory is
// the only place its data is in, and removes nothing any more.
func (r *run) publish() error {
	e := r.e
	m := Manifest{FirstSegment: e.manifest.FirstSegment, ReachLSN: r.last, ReachT: r.info.LastT}
	m.Snapshots = []SnapshotRef{{ID: r.id, LastLSN: r.info.LastLSN, SizeBytes: r.info.SizeBytes}}
	var before *SnapshotRef
	if len(e.manifest.Snapshots) > 0 {
		before = &e.manifest.Snapshots[0]
		m.Snapshots = append(m.Snapshots, *before)
	}
	if log := e.log.Load(); log != nil {
		m.LogID = log.ID()
		m.ReachLSN = max(m.ReachLSN, log.Synced())
		if before != nil {
			m.FirstSegment = max(m.FirstSegment, log.SegmentFor(before.LastLSN+1))
		}
	} else {
		// What was written since is in no log, so the one that is there must
		// never again be read behind this snapshot.
		segments, err := wal.Segments(e.opts.FS, e.walDir())
		if err != nil {
			return err
		}
		if n := len(segments); n > 0 {
			m.FirstSegment = max(m.FirstSegment, segments[n-1]+1)
		}
	}
	if err := m.Write(e.opts.FS, e.opts.Dir); err != nil {
		if uncertain := (*UncertainError)(nil); errors.As(err, &uncertain) {
			e.distrustDir(err)
		}
		return err
	}
	e.manifest, r.published = m, true
	r.step = r.removeSegments
	return nil
}

// distrustDir is for an error after which it is not known what the data
// directory holds once the machine was down.
func (e *Engine) distrustDir(err error) {
	e.keepAll = true
	log := e.log.Load()
	if log == nil {
		return
	}
	err = fmt.Errorf("the data directory %s cannot be trusted any more: %w", e.opts.Dir, err)
	e.failed.CompareAndSwap(nil, &failure{err})
	log.Kick() // wakes those who look at Err
}

// removeSegments does step 7 for the log, removeSnapshots for the rest. The
// snapshot is good whatever happens here: what stays is tried again at the end
// of the next one and at the next start.
func (r *run) removeSegments() error {
	r.step = r.removeSnapshots
	r.e.removeOldSegments()
	return nil
}

func (r *run) removeSnapshots() error {
	r.step = nil
	r.e.removeOldSnapshots()
	return nil
}

// removeOldSegments removes what the manifest, which is durable, says nobody
// needs.
func (e *Engine) removeOldSegments() {
	if e.keepAll {
		return
	}
	var removed int
	var err error
	if log := e.log.Load(); log != nil {
		removed, err = log.RemoveBefore(e.manifest.FirstSegment)
	} else {
		removed, err = wal.RemoveSegments(e.opts.FS, e.walDir(), e.manifest.FirstSegment)
	}
	if removed > 0 {
		e.opts.Logf("Log: what both snapshots hold was removed, segments: %d", removed)
	}
	if err != nil {
		e.opts.Warnf("Old segments of the log could not be removed, it is tried again later: %v", err)
	}
}

// removeOldSnapshots removes files that the manifest, which is durable, does
// not name, and what was never finished. Nobody else is at it.
func (e *Engine) removeOldSnapshots() {
	if e.keepAll {
		return
	}
	e.removeSnapshotFiles(func(id uint64, rest string) bool {
		named := slices.ContainsFunc(e.manifest.Snapshots, func(s SnapshotRef) bool { return s.ID == id })
		return rest == vfs.TempSuffix || rest == "" && !named
	})
}

// removeUnfinished removes snapshots that never got their name: nobody was
// ever promised anything of them. Before a start writes anything, as it may be
// them that fill the disk.
func (e *Engine) removeUnfinished() {
	e.removeSnapshotFiles(func(_ uint64, rest string) bool { return rest == vfs.TempSuffix })
}

// removeSnapshotFiles removes the files that which chooses by their number and
// the end of their name.
func (e *Engine) removeSnapshotFiles(which func(id uint64, rest string) bool) {
	names, err := e.listSnapshots()
	if err != nil {
		e.opts.Warnf("Old snapshots could not be looked for, it is tried again later: %v", err)
		return
	}
	for _, name := range names {
		if id, rest, ok := parseSnapshotName(name); !ok || !which(id, rest) {
			continue
		}
		if err := e.opts.FS.Remove(path.Join(e.snapshotDir(), name)); err != nil {
			e.opts.Warnf("An old snapshot could not be removed, it is tried again later: %v", err)
		}
	}
}

// listSnapshots is what is in the directory of snapshots; nothing when there
// is none.
func (e *Engine) listSnapshots() ([]string, error) {
	names, err := e.opts.FS.List(e.snapshotDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// nextSnapshot is a number that no file has, whatever became of it.
func (e *Engine) nextSnapshot() (uint64, error) {
	names, err := e.listSnapshots()
	if err != nil {
		return 0, err
	}
	id := uint64(0)
	for _, s := range e.manifest.Snapshots {
		id = max(id, s.ID)
	}
	for _, name := range names {
		if n, _, ok := parseSnapshotName(name); ok {
			id = max(id, n)
		}
	}
	return id + 1, nil
}

// prepareDir makes the directory ready for a snapshot. Without a log this may
// be the first time that anything is written to it.
func (e *Engine) prepareDir() error {
	if e.opts.FS == nil || e.opts.Dir == "" {
		return errors.New("there is no data directory to write it to")
	}
	if e.lock == nil {
		if err := e.claim(); err != nil {
			return err
		}
		// It was empty when this process started.
		if err := e.refuseStranger(); err != nil {
			return err
		}
	}
	if !e.hasManifest {
		// Without one, a snapshot that a crash left behind could not be told
		// from the rest of a store that lost its manifest.
		if err := e.manifest.Write(e.opts.FS, e.opts.Dir); err != nil {
			return err
		}
		e.hasManifest = true
	}
	if err := e.keepBad(); err != nil {
		return err
	}
	return e.opts.FS.MkdirAll(e.snapshotDir())
}

// refuseStranger is for a directory that had nothing in it: somebody else may
// have used it since.
func (e *Engine) refuseStranger() error {
	found, err := storeIn(e.opts.FS, e.opts.Dir)
	if err == nil && found {
		err = fmt.Errorf("data directory %s: another server has put a store there since this one started", e.opts.Dir)
	}
	if err != nil {
		err = errors.Join(err, e.lock.Close())
		e.lock = nil
	}
	return err
}

// keepBad gives snapshots that could not be loaded a name under which nobody
// removes them.
func (e *Engine) keepBad() error {
	for ; len(e.bad) > 0; e.bad = e.bad[1:] {
		names, err := e.listSnapshots()
		if err != nil {
			return err
		}
		name := e.bad[0]
		if !slices.Contains(names, name) {
			continue
		}
		to := name + badSuffix
		for i := 1; slices.Contains(names, to); i++ {
			to = fmt.Sprintf("%s%s-%d", name, badSuffix, i)
		}
		dir := e.snapshotDir()
		if err := e.opts.FS.Rename(path.Join(dir, name), path.Join(dir, to)); err != nil {
			return err
		}
		if err := e.opts.FS.SyncDir(dir); err != nil {
			return err
		}
		e.opts.Warnf("The snapshot that could not be loaded is kept as %s; remove it when you have looked at it",
			path.Join(dir, to))
	}
	return nil
}

// storeIn says whether dir holds a store, or part of one.
func storeIn(fsys vfs.FS, dir string) (bool, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if slices.Contains(names, ManifestName) {
		return true, nil
	}
	segments, err := wal.Segments(fsys, path.Join(dir, WALDir))
	if err != nil || len(segments) > 0 {
		return len(segments) > 0, err
	}
	names, err = fsys.List(path.Join(dir, SnapshotDir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, snapshotPrefix) && strings.HasSuffix(name, snapshotSuffix)
	}), err
}
