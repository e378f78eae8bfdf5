package inspect

import (
	"errors"
	"fmt"
	"path"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Source is what Dump shows of a directory.
type Source uint8

const (
	// SourceAll is what a start would load: the newest snapshot, then the log
	// behind it.
	SourceAll Source = iota
	// SourceLog is the log alone, from the oldest snapshot on.
	SourceLog
	// SourceSnapshot is the newest snapshot alone.
	SourceSnapshot
	// SourceSalvage is every record that can be read anywhere in the log, also
	// behind bad places.
	SourceSalvage
)

// Item is one entry of a snapshot or one record of a log. It borrows.
type Item struct {
	File   string  // below the directory
	Offset int64   // of the frame; 0 in a snapshot
	LSN    wal.LSN // 0 for an entry
	TMilli int64
	Op     *op.Op
}

// Dump hands what f takes of a directory or a snapshot file to show, in order.
// An error of show ends it. When something is damaged, all that comes before
// was shown, and the error says where it is.
func Dump(t *Target, source Source, f *Filter, show func(*Item) error) error {
	dir, err := t.isStoreDir()
	if err != nil {
		return err
	}
	if !dir {
		_, err := t.dumpSnapshot(t.Path, path.Base(t.Path), f, show)
		return err
	}
	m, err := engine.ReadManifest(t.FS, t.Path)
	if source == SourceSalvage {
		return t.dumpSalvage(m, f, show) // whatever the manifest is
	}
	if err != nil {
		return fmt.Errorf("%w; a snapshot can be shown by itself: hapax-server dump FILE", err)
	}
	var refs []engine.SnapshotRef
	if m != nil {
		refs = m.Snapshots
	}
	first := wal.LSN(0) // the record before the log's first that is shown
	if len(refs) > 0 {
		first = refs[len(refs)-1].LastLSN
	}
	if source != SourceLog && len(refs) > 0 {
		file := snapshotFile(refs[0].ID)
		info, err := t.dumpSnapshot(path.Join(t.Path, file), file, f, show)
		if err != nil {
			return err
		}
		first = info.LastLSN
	}
	if source == SourceSnapshot {
		if len(refs) == 0 {
			return errors.New("there is no snapshot yet")
		}
		return nil
	}
	return t.dumpLog(m, first, f, show)
}

func (t *Target) dumpLog(m *engine.Manifest, first wal.LSN, f *Filter, show func(*Item) error) error {
	o := t.logOptions(m, max(first, f.FirstLSN-min(f.FirstLSN, 1)))
	_, err := t.eachRecord(o, func(at *wal.Found, o *op.Op) error { return showRecord(at, o, f, show) })
	return err
}

func showRecord(at *wal.Found, o *op.Op, f *Filter, show func(*Item) error) error {
	if !f.record(at.LSN, o) {
		return nil
	}
	return show(&Item{File: path.Join(engine.WALDir, at.Segment), Offset: at.Offset, LSN: at.LSN, TMilli: at.TMilli, Op: o})
}

// dumpSalvage leaves out what says nothing that Hapax knows. m may be nil.
func (t *Target) dumpSalvage(m *engine.Manifest, f *Filter, show func(*Item) error) error {
	var record op.Op
	return wal.Salvage(t.logOptions(m, 0), func(at *wal.Found) error {
		if op.Decode(at.Payload, &record) != nil {
			return nil
		}
		return showRecord(at, &record, f, show)
	})
}

func (t *Target) dumpSnapshot(full, file string, f *Filter, show func(*Item) error) (snapshot.Info, error) {
	return t.readSnapshot(full, func(*snapshot.Info) snapshot.Sink {
		return &dumpSink{file: file, filter: f, show: show}
	})
}

// dumpSink shows a snapshot: its entries, and then its records.
type dumpSink struct {
	file   string
	filter *Filter
	show   func(*Item) error
}

// Entries implements snapshot.Sink; it is called from one goroutine.
func (s *dumpSink) Entries(ops []op.Op) error {
	for i := range ops {
		if !s.filter.entry(&ops[i]) {
			continue
		}
		if err := s.show(&Item{File: s.file, Op: &ops[i]}); err != nil {
			return err
		}
	}
	return nil
}

// Pieces implements snapshot.Sink.
func (s *dumpSink) Pieces([]snapshot.Piece) error { return nil }

// Record implements snapshot.Sink.
func (s *dumpSink) Record(lsn wal.LSN, tMilli int64, o *op.Op) error {
	if !s.filter.record(lsn, o) {
		return nil
	}
	return s.show(&Item{File: s.file, LSN: lsn, TMilli: tMilli, Op: o})
}
