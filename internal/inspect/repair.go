package inspect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// RepairOptions are what the operator agreed to.
type RepairOptions struct {
	Yes   bool // do it; otherwise only say what would be done
	Empty bool // also when nothing can be kept
}

// RepairReport tells what Repair did, or would do.
type RepairReport struct {
	Dir     string
	Needed  bool
	Done    bool
	Found   []string // what is damaged
	Kept    string   // what the store is after it
	Lost    string   // "" is nothing
	Did     []string // changes, in order
	SaveDir string   // below Dir; "" when nothing was taken away
}

// repairPrefix begins the names of directories that hold what repairs took
// away.
const repairPrefix = "repair-"

// errNothingLeft says that a repair would leave an empty store.
var errNothingLeft = errors.New("nothing of the store can be kept: restore a backup, " +
	"or add --empty to go on with an empty store (all files are kept in " + repairPrefix + "N)")

// repair is the state of one Repair.
type repair struct {
	*Target
	RepairReport
	manifest *engine.Manifest // as it was; nil when missing or damaged
	good     []engine.SnapshotRef
	infos    []snapshot.Info // of good
	bad      []string        // snapshot files that are there and of no use
	dropped  int             // good snapshots that are of no use any more
	log      logFate
	cutBase  wal.LSN // the log is cut for who reads it from behind this record
	last     wal.LSN // of the log after it
	next     engine.Manifest
	saveDir  string // where to put what is taken away
}

// logFate is what becomes of the log.
type logFate uint8

const (
	logKept  logFate = iota // as it is
	logCut                  // at its first bad place
	logTaken                // all of it is taken away, a new one begins
)

// Repair makes a directory that a start refuses one that it accepts, with as
// much of the store as can be proven to be exact. In order:
//
//  1. the directory is locked; manifest, snapshots and log are read whole, and
//     what to do is decided. Without Yes this is all.
//  2. The log is cut, or taken away, with a copy of all that goes.
//  3. Damaged snapshots are moved away.
//  4. The manifest is written.
//
// A crash in between leaves a directory that a start refuses or accepts as
// the repaired one, and that can be repaired again.
func Repair(t *Target, o RepairOptions) (report *RepairReport, err error) {
	names, err := t.FS.List(t.Path)
	if err != nil {
		return nil, err
	}
	if !isStore(names) {
		return nil, t.errNoStore()
	}
	lock, err := t.FS.Lock(path.Join(t.Path, lockName))
	if err != nil {
		return nil, lockError(t.Path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	own := *t
	own.held = true
	r := &repair{Target: &own}
	r.Dir = t.Path
	if err := r.plan(); err != nil {
		return nil, err
	}
	if !r.Needed {
		return &r.RepairReport, nil
	}
	if r.empty() && !o.Empty {
		return &r.RepairReport, errNothingLeft
	}
	if !o.Yes {
		return &r.RepairReport, nil
	}
	if err := r.do(); err != nil {
		return &r.RepairReport, fmt.Errorf("the repair stopped, run it again: %w", err)
	}
	r.Done = true
	return &r.RepairReport, nil
}

// empty says whether nothing is kept of a store that had something.
func (r *repair) empty() bool {
	switch {
	case len(r.next.Snapshots) > 0:
		return false
	case r.log == logKept && r.Lost == "" && len(r.bad) == 0: // there was nothing
		return false
	}
	return r.log == logTaken || r.last == 0
}

func (r *repair) found(format string, args ...any) {
	r.Needed = true
	r.Found = append(r.Found, fmt.Sprintf(format, args...))
}

func (r *repair) did(format string, args ...any) { r.Did = append(r.Did, fmt.Sprintf(format, args...)) }

// do carries the plan out. What it goes by was perhaps never synced by a server
// that was killed; it is on disk before anything changes on its word.
func (r *repair) do() error {
	for _, dir := range []string{r.Path, r.snapshotDir(), r.walDir()} {
		if err := r.FS.SyncDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := r.saveManifest(); err != nil {
		return err
	}
	if err := r.doLog(); err != nil {
		return err
	}
	useless := r.bad
	for _, ref := range r.good[len(r.good)-r.dropped:] {
		useless = append(useless, snapshotFile(ref.ID))
	}
	for _, name := range useless {
		if err := r.takeAway(name); err != nil {
			return err
		}
	}
	if err := r.next.Write(r.FS, r.Path); err != nil {
		return err
	}
	r.did("wrote %s", engine.ManifestName)
	r.Kept = r.kept()
	return nil
}

// saveManifest puts a copy of the manifest where what is taken away goes.
func (r *repair) saveManifest() error {
	names, err := r.FS.List(r.Path)
	if err != nil {
		return err
	}
	for n := 1; r.saveDir == ""; n++ {
		if name := fmt.Sprintf("%s%d", repairPrefix, n); !slices.Contains(names, name) {
			r.saveDir = name
		}
	}
	if !slices.Contains(names, engine.ManifestName) {
		return nil
	}
	if err := r.makeSaveDir(); err != nil {
		return err
	}
	saved := path.Join(r.Path, r.SaveDir, engine.ManifestName)
	r.did("copied %s to %s", engine.ManifestName, r.SaveDir)
	return copyFile(r.FS, path.Join(r.Path, engine.ManifestName), r.FS, saved, r.progress("copy of the manifest"))
}

// makeSaveDir makes the directory for what is taken away, once there is
// something to put there.
func (r *repair) makeSaveDir() error {
	r.SaveDir = r.saveDir
	return r.FS.MkdirAll(path.Join(r.Path, r.SaveDir))
}

func (r *repair) doLog() error {
	switch r.log {
	case logCut:
		return r.cutLog()
	case logTaken:
		names, err := list(r.FS, r.walDir())
		if err != nil {
			return err
		}
		for _, name := range names {
			if !isSegment(name) {
				continue
			}
			if err := r.takeAway(path.Join(engine.WALDir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutLog cuts, and takes from what is left how the next start has to open it.
func (r *repair) cutLog() error {
	report, err := wal.Repair(r.logOptionsFor(r.cutBase), path.Join(r.Path, r.saveDir))
	if err != nil {
		return err
	}
	if len(report.Saved) > 0 {
		r.SaveDir = r.saveDir
	}
	r.did("%s", cutText(&report, r.SaveDir))
	r.cutLost(&report)
	o := r.logOptionsFor(r.cutBase)
	o.LogID = 0 // where nothing was left another log was begun
	left, err := wal.Inspect(o, skip, nil)
	if err != nil {
		return err
	}
	r.next.LogID, r.next.ReachT = left.LogID, max(r.next.ReachT, left.LastT)
	if report.BeginsLSN > 0 {
		r.next.FirstSegment = left.Files[0].Seq
	}
	r.next.ReachLSN = report.LastLSN
	if m := r.manifest; m != nil {
		r.next.ReachLSN = min(m.ReachLSN, report.LastLSN)
	}
	return nil
}

// cutText says what a cut of the log did.
func cutText(report *wal.RepairReport, saveDir string) string {
	where := fmt.Sprintf("behind record %d", report.LastLSN)
	if report.BeginsLSN > 0 {
		where = fmt.Sprintf("before record %d", report.BeginsLSN)
		if report.LostRecords > 0 || report.Unreadable {
			where += fmt.Sprintf(" and behind record %d", report.LastLSN)
		}
	}
	if len(report.Saved) == 0 {
		return "cut the log " + where + ": there was nothing in what is taken away"
	}
	return fmt.Sprintf("cut the log %s: %s copied to %s", where, sizeText(report.CutBytes), saveDir)
}

// takeAway moves a file below Path to the directory for what is taken away.
func (r *repair) takeAway(name string) error {
	if err := r.makeSaveDir(); err != nil {
		return err
	}
	to := path.Join(r.Path, r.SaveDir)
	if err := r.FS.Rename(path.Join(r.Path, name), path.Join(to, path.Base(name))); err != nil {
		return err
	}
	r.did("moved %s to %s", name, r.SaveDir)
	if err := r.FS.SyncDir(to); err != nil {
		return err
	}
	return r.FS.SyncDir(path.Join(r.Path, path.Dir(name)))
}

// WriteText writes the report for people.
func (r *RepairReport) WriteText(w io.Writer) error {
	var l lines
	if !r.Needed {
		l.add("%s: nothing to repair", r.Dir)
		return l.write(w)
	}
	for _, s := range r.Found {
		l.add("DAMAGED: %s", s)
	}
	would := "would be "
	if r.Done {
		would = ""
	}
	for _, s := range r.Did {
		l.add("%s", s)
	}
	l.add("%skept: %s", would, r.Kept)
	if r.Lost == "" {
		l.add("lost: nothing")
	} else {
		l.add("%slost: %s", would, r.Lost)
	}
	return l.write(w)
}
