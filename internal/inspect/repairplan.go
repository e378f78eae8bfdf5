package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// plan reads everything and decides; it changes nothing.
func (r *repair) plan() error {
	if err := r.planManifest(); err != nil {
		return err
	}
	if err := r.planSnapshots(); err != nil {
		return err
	}
	if err := r.planLog(); err != nil {
		return err
	}
	if r.dropped > 0 {
		r.found("%s cannot be used any more: the log behind it is damaged", snapshotFile(r.good[len(r.good)-1].ID))
	}
	r.next.Snapshots = r.good[:len(r.good)-r.dropped]
	for _, i := range r.infos[:len(r.next.Snapshots)] {
		r.next.ReachT = max(r.next.ReachT, i.LastT)
	}
	r.Kept = r.kept()
	return nil
}

// planManifest reads the manifest. Without one, what is there tells.
func (r *repair) planManifest() error {
	m, err := engine.ReadManifest(r.FS, r.Path)
	var refused *engine.ManifestError
	switch {
	case errors.As(err, &refused) && !refused.Newer:
		p := Problem{File: engine.ManifestName, Line: refused.Line, Offset: -1, What: refused.Reason}
		r.found("%s", p.text())
	case err != nil:
		return err
	case m == nil && len(r.published()) > 0:
		r.found("%s is missing", engine.ManifestName)
	}
	r.manifest = m
	return nil
}

// planSnapshots reads the snapshots that the manifest names, or all that are
// there, and keeps the newest good ones.
func (r *repair) planSnapshots() error {
	var refs []engine.SnapshotRef // newest first
	if r.manifest != nil {
		refs = r.manifest.Snapshots
	} else {
		names := r.published()
		slices.Reverse(names)
		for _, name := range names {
			id, _ := snapshotID(name)
			refs = append(refs, engine.SnapshotRef{ID: id})
		}
	}
	for _, ref := range refs {
		if err := r.planSnapshot(ref); err != nil {
			return err
		}
	}
	return nil
}

// keptSnapshots is how many snapshots a manifest names.
const keptSnapshots = 2

func (r *repair) planSnapshot(ref engine.SnapshotRef) error {
	name := snapshotFile(ref.ID)
	info, err := r.verify(r.FS, path.Join(r.Path, name))
	var damage *snapshot.DamageError
	switch {
	case errors.As(err, &damage) && damage.Newer:
		return err
	case errors.As(err, &damage):
		r.found("%s, offset %d: %s", name, damage.Offset, damage.Reason)
	case errors.Is(err, fs.ErrNotExist):
		r.found("%s is missing", name)
		return nil
	case errors.Is(err, fs.ErrPermission):
		return err
	case err != nil:
		r.found("%s: %v", name, err)
	case r.manifest != nil && (info.ID != ref.ID || info.LastLSN != ref.LastLSN || info.SizeBytes != ref.SizeBytes):
		r.found("%s is not the snapshot that the manifest names", name)
	case len(r.good) < keptSnapshots && info.ID == ref.ID && (len(r.good) == 0 || info.LastLSN <= r.good[len(r.good)-1].LastLSN):
		r.good = append(r.good, engine.SnapshotRef{ID: info.ID, LastLSN: info.LastLSN, SizeBytes: info.SizeBytes})
		r.infos = append(r.infos, info)
		return nil
	}
	r.bad = append(r.bad, name)
	return nil
}

// planLog finds the oldest good snapshot that the log fits, or how to make it
// fit the newest.
func (r *repair) planLog() error {
	if len(r.good) == 0 {
		if !r.fromBeginning() {
			r.planNext()
			r.planTake()
			return nil
		}
		report, err := r.inspectLog(0)
		if err != nil {
			return r.planCut(err)
		}
		r.keepLog(&report, 0)
		return nil
	}
	oldest := len(r.good) - 1
	if r.withoutLog() {
		oldest = 0
	}
	var err error
	for i := oldest; i >= 0; i-- {
		var report wal.Report
		report, err = r.inspectLog(r.good[i].LastLSN)
		// From an older snapshot the log has to lead to the newest.
		if err == nil && (i == 0 || report.LastLSN >= r.newestLSN()) {
			r.dropped = oldest - i
			r.keepLog(&report, r.good[i].LastLSN)
			return nil
		}
	}
	return r.planCut(err)
}

// withoutLog says whether the store was kept in snapshots alone.
func (r *repair) withoutLog() bool {
	if r.manifest != nil {
		return r.manifest.LogID == 0
	}
	return len(r.segments()) == 0
}

// fromBeginning says whether the log may be the store by itself, though there
// were snapshots.
func (r *repair) fromBeginning() bool {
	if m := r.manifest; m != nil {
		return len(m.Snapshots) == 0 || m.LogID != 0 && m.FirstSegment == 1
	}
	return len(r.segments()) > 0 && r.oldestSegment() == 1 || len(r.bad) == 0
}

// newestLSN is what the store is as of without a log.
func (r *repair) newestLSN() wal.LSN {
	if len(r.good) == 0 {
		return 0
	}
	return r.good[0].LastLSN
}

// options is how the repaired log is opened: that it reaches as far as it once
// did is not asked for.
func (r *repair) logOptionsFor(base wal.LSN) wal.Options {
	o := r.logOptions(r.manifest, base)
	o.ReachLSN, o.MustExist = 0, false
	if r.manifest == nil {
		o.FirstSegment = r.oldestSegment()
	}
	return o
}

func (r *repair) inspectLog(base wal.LSN) (wal.Report, error) {
	return r.eachRecord(r.logOptionsFor(base), func(*wal.Found, *op.Op) error { return nil })
}

// segments are the numbers of the segments that are there, ascending.
func (r *repair) segments() []uint64 {
	names, err := list(r.FS, r.walDir())
	if err != nil {
		return nil // reading the log says so
	}
	var out []uint64
	for _, name := range names {
		var seq uint64
		if _, err := fmt.Sscanf(name, "wal-%016x.seg", &seq); err == nil && isSegment(name) {
			out = append(out, seq)
		}
	}
	return out
}

func (r *repair) oldestSegment() uint64 {
	if seqs := r.segments(); len(seqs) > 0 {
		return max(seqs[0], 1)
	}
	return 1
}

// keepLog is for a log that is whole, as far as it goes.
func (r *repair) keepLog(report *wal.Report, base wal.LSN) {
	r.log = logKept
	last := max(report.LastLSN, base)
	r.last = last
	r.next = engine.Manifest{LogID: report.LogID, FirstSegment: r.oldestSegment(), ReachLSN: last, ReachT: report.LastT}
	if m := r.manifest; m != nil {
		r.next.FirstSegment, r.next.ReachT = m.FirstSegment, max(m.ReachT, report.LastT)
		r.next.ReachLSN = min(m.ReachLSN, last)
		if m.LogID != 0 && report.LogID == 0 {
			r.found("the log is gone")
		}
	}
	reach := r.reach()
	if reach > last {
		r.found("the log ends with record %d, but the store was safe up to record %d", last, reach)
	}
	r.lost(last, reach, 0, r.manifest == nil && report.LogID == 0)
}

// reach is the last record that the manifest knows to have been on disk, in
// the log or in a snapshot.
func (r *repair) reach() wal.LSN {
	m := r.manifest
	switch {
	case m == nil:
		return 0
	case len(m.Snapshots) == 0:
		return m.ReachLSN
	}
	return max(m.ReachLSN, m.Snapshots[0].LastLSN)
}

// lost says what is lost behind record last of a log that is known to have got
// as far as reach, when so many records of that could still be read. perhaps:
// nobody knows how far it got.
func (r *repair) lost(last, reach wal.LSN, readable int64, perhaps bool) {
	if reach <= last {
		r.Lost = ""
		if perhaps {
			r.Lost = fmt.Sprintf("perhaps records behind record %d: it is not known how far the log got", last)
		}
		return
	}
	r.Lost = fmt.Sprintf("records %d to %d", last+1, reach)
	if reach == last+1 {
		r.Lost = fmt.Sprintf("record %d", reach)
	}
	r.Lost += " at least"
	if readable > 0 {
		r.Lost += fmt.Sprintf(", %d of them can still be read", readable)
	}
}

// planCut is for a log that does not fit any good snapshot. It is cut where that
// keeps most, and then for the oldest snapshot for which it keeps as much.
func (r *repair) planCut(err error) error {
	var damage *wal.DamageError
	if !errors.As(err, &damage) {
		return fmt.Errorf("this cannot be repaired: %w", err)
	}
	r.found("%s: %s", path.Join(engine.WALDir, damage.Where()), damage.Reason)
	r.planNext()
	best, err := wal.Repair(r.logOptionsFor(r.newestLSN()), "")
	switch {
	case errors.As(err, &damage) && damage.Kind == wal.DamageForeign:
		r.dropped = max(len(r.good)-1, 0)
		r.planTake()
		return nil
	case err != nil:
		return err
	}
	r.log, r.cutBase = logCut, r.newestLSN()
	for i := len(r.good) - 1; i > 0; i-- {
		if report, err := wal.Repair(r.logOptionsFor(r.good[i].LastLSN), ""); err == nil && report.LastLSN == best.LastLSN {
			best, r.cutBase = report, r.good[i].LastLSN
			r.dropped = len(r.good) - 1 - i
			r.cutLost(&best)
			return nil
		}
	}
	r.dropped = max(len(r.good)-1, 0)
	r.cutLost(&best)
	return nil
}

// cutLost says what a cut of the log loses.
func (r *repair) cutLost(report *wal.RepairReport) {
	r.last = report.LastLSN
	r.lost(r.last, max(r.reach(), report.LostLastLSN), report.LostRecords, report.Unreadable)
}

// planNext begins the manifest of a store whose log changes.
func (r *repair) planNext() {
	r.next = engine.Manifest{FirstSegment: r.oldestSegment()}
	if m := r.manifest; m != nil {
		r.next = engine.Manifest{LogID: m.LogID, FirstSegment: m.FirstSegment, ReachT: m.ReachT}
	}
}

// planTake is for a log of which nothing is of use: a new one begins.
func (r *repair) planTake() {
	r.log = logTaken
	seqs := r.segments()
	last := r.next.FirstSegment
	if len(seqs) > 0 {
		last = max(last, seqs[len(seqs)-1])
	}
	r.next.LogID, r.next.FirstSegment, r.next.ReachLSN = 0, last+1, r.newestLSN()
	if len(r.good) == 0 {
		r.Lost = "all keys: no snapshot is left, and the log cannot be read from its first record on"
		return
	}
	r.Lost = fmt.Sprintf("all records behind record %d: the log cannot be read from there on", r.newestLSN())
}

// kept describes the store after the repair.
func (r *repair) kept() string {
	text := "an empty store"
	if len(r.next.Snapshots) > 0 {
		text = fmt.Sprintf("%s (%s, as of record %d)", snapshotFile(r.good[0].ID), counted(r.infos[0].Keys, "key"), r.good[0].LastLSN)
	}
	switch {
	case r.log == logTaken, r.last == r.newestLSN():
	case len(r.next.Snapshots) == 0:
		text = fmt.Sprintf("the log up to record %d", r.last)
	default:
		text += fmt.Sprintf(" and the log up to record %d", r.last)
	}
	return text
}
