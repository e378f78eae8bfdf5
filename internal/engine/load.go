package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"syscall"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// loadNewest fills the store from the newest snapshot that is whole. When that
// is not the newest one, the log brings the older one to the same state, so
// nothing is lost; with none at all, the log from its first record on does.
// Where the log does not reach back that far, damage is final (I9).
func (r *recovery) loadNewest() error {
	var why error // the newest is not the one that was loaded
	for i, ref := range r.m.Snapshots {
		if i > 0 && r.m.LogID == 0 {
			return fmt.Errorf("%w; the one before it is not as new, and no log leads from it to what was saved last; "+
				"hapax-server repair goes on with it, if it has to be", why)
		}
		info, err := r.load(ref)
		if err == nil {
			r.loaded, r.info, r.older = &r.m.Snapshots[i], info, why
			return nil
		}
		name := SnapshotName(ref.ID)
		if !replaceable(err) {
			return fmt.Errorf("snapshot %s: %w", path.Join(SnapshotDir, name), err)
		}
		r.e.opts.Warnf("The snapshot %s cannot be used: %s", path.Join(r.e.snapshotDir(), name), reason(err))
		r.bad = append(r.bad, name)
		r.e.Store.Reset()
		if why == nil {
			why = err
		}
	}
	if why != nil && (r.m.LogID == 0 || r.m.FirstSegment > 1) {
		return fmt.Errorf("%w; no other snapshot is complete and the log does not reach back to its first record. "+
			"Put a good copy of the file in its place, or restore a backup of it (hapax-server restore)", why)
	}
	r.older = why
	return nil
}

// replaceable tells whether something older may be loaded in place of a
// snapshot that failed with err: when the file is not what was written. What
// is not the file's fault would be no different with another.
func replaceable(err error) bool {
	var damage *snapshot.DamageError
	var impossible *shard.LoadError
	var unfit *shard.ApplyError
	switch {
	case errors.As(err, &damage):
		return !damage.Newer
	case errors.As(err, &unfit):
		return unfit.LSN != 0 // a record that does not fit; else a database that is not there
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || vfs.IsBusy(err) {
		return false
	}
	var file *fs.PathError // missing, or the device cannot read it
	return errors.As(err, &impossible) || errors.As(err, &file)
}

// reason is err without advice: the start may go on.
func reason(err error) string {
	if damage := (*snapshot.DamageError)(nil); errors.As(err, &damage) {
		return fmt.Sprintf("offset %d: %s", damage.Offset, damage.Reason)
	}
	return err.Error()
}

// load fills the store, which is empty, from one snapshot.
func (r *recovery) load(ref SnapshotRef) (info snapshot.Info, err error) {
	e := r.e
	startNano := e.Clock.MonoNano()
	name := path.Join(e.snapshotDir(), SnapshotName(ref.ID))
	f, err := e.opts.FS.OpenRead(name)
	if err != nil {
		return info, err
	}
	defer f.Close() // only read from
	size, err := f.Size()
	if err != nil {
		return info, err
	}
	if size != ref.SizeBytes {
		return info, &snapshot.DamageError{File: name, Offset: min(size, ref.SizeBytes), Reason: fmt.Sprintf(
			"the file has %d bytes, the manifest says %d", size, ref.SizeBytes)}
	}
	reader, err := snapshot.Open(f, name)
	if err != nil {
		return info, err
	}
	info = reader.Info()
	if info.ID != ref.ID || info.LastLSN != ref.LastLSN || info.SizeBytes != ref.SizeBytes {
		return info, &snapshot.DamageError{File: name, Reason: fmt.Sprintf(
			"this is snapshot %d with %d bytes up to record %d, the manifest names snapshot %d with %d bytes up to record %d",
			info.ID, info.SizeBytes, info.LastLSN, ref.ID, ref.SizeBytes, ref.LastLSN)}
	}
	sink := &loadSink{e: e, loader: e.Store.NewLoader(info.HashSecrets)}
	err = reader.Load(sink, snapshot.LoadOptions{
		Workers:  e.loadWorkers(),
		Progress: e.progress("snapshot", 0),
		Stopped:  e.stopping.Load,
	})
	if errors.Is(err, snapshot.ErrStopped) {
		err = ErrStopped
	}
	if err != nil {
		return info, err
	}
	e.opts.Logf("Snapshot loaded in %d ms: %s, %d keys, %d bytes, made of the store at record %d (T %d)",
		(e.Clock.MonoNano()-startNano)/1e6, name, info.Keys, info.SizeBytes, info.LastLSN, info.LastT)
	return info, nil
}

func (e *Engine) loadWorkers() int {
	switch {
	case e.opts.Inline:
		return 1
	case e.opts.LoadWorkers > 0:
		return e.opts.LoadWorkers
	}
	return runtime.GOMAXPROCS(0)
}

// loadSink is a store that takes a snapshot.
type loadSink struct {
	e      *Engine
	loader *shard.Loader
}

func (s *loadSink) Entries(ops []op.Op) error { return s.loader.Insert(ops) }

func (s *loadSink) Pieces(pieces []snapshot.Piece) error {
	out := make([]shard.Piece, len(pieces))
	for i, p := range pieces {
		out[i] = shard.Piece{End: shard.Place(p.End), LSN: p.LSN}
	}
	return s.loader.Pieces(out)
}

func (s *loadSink) Record(lsn wal.LSN, _ int64, o *op.Op) error {
	return s.loader.Apply(lsn, o)
}
