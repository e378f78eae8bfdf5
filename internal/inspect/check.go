package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// CheckReport is what Check found.
type CheckReport struct {
	Path      string           `json:"path"`
	InUse     bool             `json:"in_use"`              // a server holds the directory
	Manifest  *engine.Manifest `json:"-"`                   // see MarshalJSON
	Snapshots []SnapshotReport `json:"snapshots,omitempty"` // newest first
	Log       *LogReport       `json:"log,omitempty"`
	Idem      *IdemReport      `json:"idem"`
	Problems  []Problem        `json:"problems,omitempty"`
	Notes     []string         `json:"notes,omitempty"` // nothing that a start would mind
}

// Problem is something that is not as it has to be. Its first one is the one
// to look at.
type Problem struct {
	File   string `json:"file"`           // below the directory
	Line   int    `json:"line,omitempty"` // of the manifest, from 1
	Offset int64  `json:"offset"`         // of the first bad byte, or of the frame that holds it; -1 for the whole file
	What   string `json:"what"`
	Do     string `json:"do"`
}

// SnapshotReport is one snapshot that was read.
type SnapshotReport struct {
	File string
	Info snapshot.Info
	Good bool // every byte was checked

	proof    *snapshotProof
	compared bool // with the log that leads there
}

// LogReport is the log as far as it could be read.
type LogReport struct {
	BaseLSN  wal.LSN `json:"base_lsn"` // it was read from the record behind this one on
	Segments int     `json:"segments"`
	FirstLSN wal.LSN `json:"first_lsn"`
	LastLSN  wal.LSN `json:"last_lsn"`
	Records  int64   `json:"records"`
	Frames   int64   `json:"frames"`
	LastT    int64   `json:"last_t_ms"`
	TornTail int64   `json:"torn_tail_bytes"`
}

// Good says whether a start would find all that it needs, exact, and no rule
// of IDEM broken.
func (r *CheckReport) Good() bool {
	return len(r.Problems) == 0 && (r.Idem == nil || r.Idem.Broken == 0)
}

func (r *CheckReport) problem(file string, offset int64, what, do string) {
	r.Problems = append(r.Problems, Problem{File: file, Offset: offset, What: what, Do: do})
}

func (r *CheckReport) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// checkTries bounds how often a directory is read anew because a server that
// holds it replaced files meanwhile.
const checkTries = 5

// Check verifies a data directory or a snapshot file. The error is one of
// reaching it; what is wrong with it is in the report. While a server holds the
// directory, what is wrong is believed when it is so a second time.
func Check(t *Target) (*CheckReport, error) {
	dir, err := t.isDir()
	if err != nil {
		return nil, err
	}
	if !dir {
		return t.checkFile(), nil
	}
	var before *CheckReport
	for try := 1; ; try++ {
		r := &CheckReport{Path: t.Path, InUse: t.inUse()}
		t.checkDir(r)
		switch {
		case r.Good() || !r.InUse:
			return r, nil
		case try == checkTries || before != nil && slices.Equal(before.Problems, r.Problems):
			r.note("a server holds the directory and changes it: stop it before you act on what was found here")
			return r, nil
		}
		before = r
	}
}

// checkFile checks one snapshot by itself.
func (t *Target) checkFile() *CheckReport {
	r := &CheckReport{Path: t.Path}
	s := t.checkSnapshot(r, t.Path, "take another backup")
	r.Snapshots = []SnapshotReport{s}
	if s.Good {
		r.Idem = s.proof.finish()
	}
	return r
}

// checkDir verifies, in this order: the manifest, the snapshots that it names,
// the log behind the oldest of them that is good, and on the way the rules of
// IDEM and that snapshots and log agree on its records.
func (t *Target) checkDir(r *CheckReport) {
	m, err := engine.ReadManifest(t.FS, t.Path)
	if err != nil {
		t.manifestProblem(r, err)
		return
	}
	r.Manifest = m
	if m == nil && !t.withoutManifest(r) {
		return
	}
	if m != nil {
		t.checkSnapshots(r)
	}
	t.checkLog(r)
	t.findLeftovers(r)
}

// adviceToRepair is what is left to do when the right file cannot be had.
func (t *Target) adviceToRepair() string {
	return "restore a backup, or see what hapax-server repair " + t.Path + " can keep"
}

// manifestProblem is for a manifest that is refused.
func (t *Target) manifestProblem(r *CheckReport, err error) {
	p := Problem{File: engine.ManifestName, Offset: -1, What: err.Error(), Do: "make the file readable"}
	if refused := (*engine.ManifestError)(nil); errors.As(err, &refused) {
		p.Line, p.What, p.Do = refused.Line, refused.Reason, t.adviceToRepair()
		if refused.Newer {
			p.Do = "start the newer Hapax that wrote it"
		}
	}
	r.Problems = append(r.Problems, p)
}

// withoutManifest says whether there is a log that is complete by itself.
func (t *Target) withoutManifest(r *CheckReport) bool {
	segments, err := list(t.FS, t.walDir())
	if err != nil {
		r.problem(engine.WALDir, -1, err.Error(), "make the directory readable")
		return false
	}
	if published := t.published(); len(published) > 0 {
		r.problem(engine.ManifestName, -1, "the manifest is missing, but "+engine.SnapshotDir+" holds "+published[0],
			"put the manifest back, or "+t.adviceToRepair())
		return false
	}
	if !slices.ContainsFunc(segments, isSegment) {
		r.problem("", -1, "there is neither a manifest nor a snapshot nor a log: this is no data directory", "look for the right path")
		return false
	}
	r.note("there is no manifest yet: the log has to be complete from its first record on")
	return true
}

func isSegment(name string) bool {
	return strings.HasPrefix(name, "wal-") && strings.HasSuffix(name, ".seg")
}

// published are the names in the snapshot directory that look like snapshots.
func (t *Target) published() []string {
	names, err := list(t.FS, t.snapshotDir())
	if err != nil {
		return nil // whoever needs a snapshot says so
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, ok := snapshotID(name)
		return !ok
	})
}

func (t *Target) checkSnapshots(r *CheckReport) {
	for _, ref := range r.Manifest.Snapshots {
		s := t.checkSnapshot(r, snapshotFile(ref.ID), "")
		if s.Good && (s.Info.ID != ref.ID || s.Info.LastLSN != ref.LastLSN || s.Info.SizeBytes != ref.SizeBytes) {
			r.problem(s.File, -1, fmt.Sprintf("it is not the snapshot that the manifest names: number %d, record %d, %d bytes instead of number %d, record %d, %d bytes",
				s.Info.ID, s.Info.LastLSN, s.Info.SizeBytes, ref.ID, ref.LastLSN, ref.SizeBytes), "put the right file back")
			s.Good = false
		}
		r.Snapshots = append(r.Snapshots, s)
	}
	if len(r.Problems) == 0 {
		return
	}
	do := "restore a backup of a snapshot, or see what hapax-server repair " + t.Path + " can keep"
	if i := slices.IndexFunc(r.Snapshots, func(s SnapshotReport) bool { return s.Good }); i >= 0 {
		do = "a start goes on from " + r.Snapshots[i].File + " and the log behind it; hapax-server repair " + t.Path + " does so now"
	}
	for i := range r.Problems {
		if r.Problems[i].Do == "" {
			r.Problems[i].Do = do
		}
	}
}

// checkSnapshot reads one snapshot whole and follows its IDEM records.
func (t *Target) checkSnapshot(r *CheckReport, file, do string) SnapshotReport {
	s := SnapshotReport{File: file}
	full := file
	if file != t.Path {
		full = path.Join(t.Path, file)
	}
	info, err := t.readSnapshot(full, func(i *snapshot.Info) snapshot.Sink {
		s.proof = t.newSnapshotProof(file, i.Header)
		return s.proof
	})
	s.Info, s.Good = info, err == nil
	var damage *snapshot.DamageError
	switch {
	case errors.As(err, &damage):
		if damage.Newer {
			do = "start the newer Hapax that wrote it"
		}
		r.problem(file, damage.Offset, damage.Reason, do)
	case errors.Is(err, fs.ErrNotExist):
		r.problem(file, -1, "the snapshot is missing", do)
	case err != nil:
		r.problem(file, -1, err.Error(), do)
	}
	return s
}

// RecordError is a record of the log that says nothing that Hapax knows.
type RecordError struct {
	Segment string
	Offset  int64
	LSN     wal.LSN
	Err     error
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("record %d in the frame at offset %d of %s: %v", e.LSN, e.Offset, e.Segment, e.Err)
}

// Unwrap gives the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// eachRecord hands every record of a log to f, decoded. It makes the checks
// that a start makes, and changes nothing.
func (t *Target) eachRecord(o wal.Options, f func(at *wal.Found, o *op.Op) error) (wal.Report, error) {
	var record op.Op
	report, err := wal.Inspect(o, func(at *wal.Found) error {
		if err := op.Decode(at.Payload, &record); err != nil {
			return &RecordError{Segment: at.Segment, Offset: at.Offset, LSN: at.LSN, Err: err}
		}
		return f(at, &record)
	}, t.progress(engine.WALDir))
	var damage *wal.DamageError
	if errors.As(err, &damage) && t.moved(o, damage) {
		report.LastLSN, err = max(damage.After, o.FirstLSN-1), nil
	}
	return report, err
}

// moved says whether what looks like damage is a place that a server was just
// writing to: read again, it is not there any more.
func (t *Target) moved(o wal.Options, damage *wal.DamageError) bool {
	if !t.inUse() {
		return false
	}
	o.FirstLSN = max(o.FirstLSN, damage.After)
	_, err := wal.Inspect(o, skip, nil)
	var again *wal.DamageError
	return err == nil || errors.As(err, &again) && (again.Segment != damage.Segment || again.Offset != damage.Offset)
}

// findLeftovers notes what no start reads.
func (t *Target) findLeftovers(r *CheckReport) {
	named := map[string]bool{}
	if r.Manifest != nil {
		for _, ref := range r.Manifest.Snapshots {
			named[engine.SnapshotName(ref.ID)] = true
		}
	}
	var left []string
	for _, dir := range []string{engine.SnapshotDir, engine.WALDir} {
		names, err := list(t.FS, path.Join(t.Path, dir))
		if err != nil {
			continue
		}
		for _, name := range names {
			if !named[name] && !isSegment(name) && !(r.InUse && strings.HasSuffix(name, vfs.TempSuffix)) {
				left = append(left, path.Join(dir, name))
			}
		}
	}
	const most = 5
	switch {
	case len(left) > most:
		r.note("not part of the store: %s and %s", strings.Join(left[:most], ", "), counted(len(left)-most, "other file"))
	case len(left) > 0:
		r.note("not part of the store: %s", strings.Join(left, ", "))
	}
}
