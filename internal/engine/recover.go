package engine

import (
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// syncPeriod is what everysec means.
const syncPeriod = time.Second

// progressStep is how much of a long load goes by between two log lines.
const progressStep = 256 << 20 // bytes

// recovery is the state of one Recover.
type recovery struct {
	e      *Engine
	m      Manifest
	loaded *SnapshotRef  // of m; nil when none was
	info   snapshot.Info // of loaded
	older  error         // why loaded is not the newest, or none although there is one
	bad    []string      // names of snapshots that could not be loaded
	report wal.Report
	lastT  int64
}

// Recover loads what is on disk into the store and opens the log for
// appending. Call it once, before the first transaction.
//
//  1. The manifest says what there has to be. Where it is missing, only a new
//     directory or a log that is whole from its first record on will do.
//  2. The newest snapshot is loaded, every byte of it checked; if it is
//     damaged, the one before it.
//  3. The log checks its segments and replays what comes behind the snapshot;
//     each record is decoded and applied without a clock (I2). It has to reach
//     as far as it is known to have been synced.
//  4. T is raised to the greatest T that anything carried (I10).
//  5. The manifest is written anew: from here on it is surely on disk, and what
//     it does not name can go.
//  6. The store gets the log; transactions may begin.
//
// Up to 3, nothing on disk changes but the tail of the log (I9), and what never
// was finished goes.
func (e *Engine) Recover() error {
	startNano := e.Clock.MonoNano()
	r := recovery{e: e, m: e.manifest}
	if e.lock != nil { // else there is nothing and no log
		if err := r.fromDisk(); err != nil {
			return fmt.Errorf("recovery: %w", err)
		}
	}
	if e.log.Load() == nil {
		e.memory.begin(r.report.LastLSN, e.Clock.NowMilli())
		e.Store.SetLog(&e.memory)
	}
	if e.lock != nil {
		e.logRecovered(&r, e.Clock.MonoNano()-startNano)
	}
	e.loading.Store(false)
	return nil
}

// fromDisk does steps 1 to 6.
func (r *recovery) fromDisk() error {
	e := r.e
	if err := r.findManifest(); err != nil {
		return err
	}
	if err := r.loadNewest(); err != nil {
		return err
	}
	if e.opts.Log && !e.stopping.Load() {
		// A process that was killed may have given the manifest its name
		// without making that durable. A log that is begun by its word is
		// durable at once, so the word has to be first.
		if err := e.opts.FS.SyncDir(e.opts.Dir); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		e.removeUnfinished()
	}
	log, stopTick, err := r.replay()
	if err != nil {
		if r.older != nil && !errors.Is(err, ErrStopped) {
			err = fmt.Errorf("%w. The newest snapshot could have made up for it, but it cannot be used: %w", err, r.older)
		}
		return err
	}
	r.lastT = max(r.info.LastT, r.m.ReachT, r.report.LastT)
	e.Clock.Raise(r.lastT)
	e.manifest, e.bad = r.settled(log), r.bad
	e.snap.newest = r.info.LastLSN
	e.snap.status.LastSizeBytes, e.snap.status.LastKeys = r.info.SizeBytes, r.info.Keys
	if r.older != nil {
		e.snap.soon = CauseDamage
	}
	if log == nil {
		return nil
	}
	e.manifest.LogID, e.manifest.ReachLSN, e.manifest.ReachT = log.ID(), log.Synced(), r.lastT
	if err := e.takeOver(); err != nil {
		stopTick()
		return errors.Join(err, log.Close())
	}
	e.Store.SetLog(log)
	e.stopTick = stopTick
	e.log.Store(log)
	e.removeOldSegments()
	e.removeOldSnapshots()
	if !e.opts.Inline {
		e.stopWatch = e.startWatch(log)
	}
	return nil
}

// findManifest does step 1.
func (r *recovery) findManifest() error {
	e := r.e
	m, err := ReadManifest(e.opts.FS, e.opts.Dir)
	if err != nil {
		return err
	}
	if m != nil {
		e.hasManifest, r.m = true, *m
		if m.LogID == 0 && len(m.Snapshots) > 0 {
			// A log that begins behind a snapshot never has a first segment, so
			// that one from there on is whole by itself.
			r.m.FirstSegment = max(m.FirstSegment, 2)
		}
		return nil
	}
	segments, err := wal.Segments(e.opts.FS, e.walDir())
	if err != nil {
		return err
	}
	names, err := e.listSnapshots()
	if err != nil {
		return err
	}
	missing := ""
	if len(segments) > 0 && segments[0] != 1 {
		missing = "the log does not begin with its first segment"
	}
	for _, name := range names {
		if _, rest, ok := parseSnapshotName(name); ok && rest == "" {
			missing = fmt.Sprintf("there is %s", path.Join(SnapshotDir, name))
		}
	}
	if missing != "" {
		return &ManifestError{File: path.Join(e.opts.Dir, ManifestName),
			Reason: "it is missing, but the directory is not new: " + missing}
	}
	if len(segments) == 0 {
		e.opts.Logf("There is no store in %s yet: a new one begins", e.opts.Dir)
	} else {
		e.opts.Logf("There is no manifest in %s, but the log is there from its beginning on", e.opts.Dir)
	}
	return nil
}

// replay does step 3. Without a log to go on with, what is there is only read.
func (r *recovery) replay() (log *wal.Log, stopTick func(), err error) {
	e := r.e
	p := newReplayer(e.Store, e.loadWorkers(), e.stopping.Load)
	defer p.end()
	options := wal.Options{
		FS:           e.opts.FS,
		Dir:          e.walDir(),
		SegmentBytes: e.opts.SegmentBytes,
		DirectIO:     e.opts.DirectIO,
		Policy:       e.opts.Policy,
		Logf:         e.opts.Warnf,
		Notef:        e.opts.Logf,
		FirstLSN:     r.info.LastLSN + 1,
		FirstSegment: r.m.FirstSegment,
		LogID:        r.m.LogID,
		ReachLSN:     r.m.ReachLSN,
		MustExist:    r.m.LogID != 0,
		Applied:      p.settle,
		MonoNano:     e.opts.Clock.MonoNano,
		Inline:       e.opts.Inline,
		Salt:         e.opts.Salt,
	}
	startNano := e.Clock.MonoNano()
	progress := e.progress("log", r.info.SizeBytes)
	if !e.opts.Log {
		r.report, err = wal.Inspect(options, func(f *wal.Found) error {
			return p.apply(f.LSN, f.Payload)
		}, progress)
	} else {
		stopTick = func() {}
		if !e.opts.Inline {
			options.Tick, stopTick = clock.NewTicker(syncPeriod)
		}
		log, r.report, err = wal.Open(options, func(lsn wal.LSN, _ int64, payload []byte) error {
			return p.apply(lsn, payload)
		}, progress)
		if err != nil {
			stopTick()
		}
	}
	if err != nil {
		return nil, nil, p.locate(options, err)
	}
	r.report.LastLSN = max(r.report.LastLSN, r.info.LastLSN)
	e.logReport(&r.report, e.Clock.MonoNano()-startNano)
	return log, stopTick, nil
}

// settled is the manifest of what was loaded: a snapshot that was not whole is
// in it no more, and neither is one from which the log that is begun now does
// not lead on.
func (r *recovery) settled(log *wal.Log) Manifest {
	m := r.m
	m.Snapshots = nil
	for i := range r.m.Snapshots {
		if r.loaded != nil && r.m.Snapshots[i].ID <= r.loaded.ID {
			m.Snapshots = append(m.Snapshots, r.m.Snapshots[i])
		}
	}
	if log != nil && r.m.LogID == 0 && len(m.Snapshots) > 1 {
		m.Snapshots = m.Snapshots[:1]
	}
	return m
}

// takeOver does step 5. The bad snapshots get out of the way first: without a
// name in the manifest they would be removed.
func (e *Engine) takeOver() error {
	if err := e.keepBad(); err != nil {
		return err
	}
	if err := e.manifest.Write(e.opts.FS, e.opts.Dir); err != nil {
		return err
	}
	e.hasManifest = true
	return nil
}

// StopRecovery makes a Recover that still loads return ErrStopped. Nothing was
// changed on disk then. Safe from any goroutine.
func (e *Engine) StopRecovery() { e.stopping.Store(true) }

// Stopping says whether StopRecovery was called.
func (e *Engine) Stopping() bool { return e.stopping.Load() }

// progress records how far the load is, with what was loaded before, and logs
// a line per progressStep.
func (e *Engine) progress(what string, before int64) func(done, total int64) {
	var logged int64
	return func(done, total int64) {
		e.done.Store(before + done)
		e.total.Store(before + total)
		if done-logged >= progressStep {
			logged = done
			e.opts.Logf("Loading the %s: %d of %d MB read (%d%%)", what, done>>20, total>>20, done*100/max(total, 1))
		}
	}
}

func (e *Engine) logReport(r *wal.Report, tookNano int64) {
	records := fmt.Sprintf("%d records, LSN %d to %d", r.Records, r.FirstLSN, r.LastLSN)
	if r.Records == 0 {
		records = fmt.Sprintf("no record behind %d", r.LastLSN)
	}
	e.opts.Logf("Log loaded in %d ms: segments %d, frames %d, %s", tookNano/1e6, r.Segments, r.Frames, records)
	if r.CutBytes == 0 {
		return
	}
	if !e.opts.Log {
		e.opts.Logf("Log: a torn tail of %d bytes is not part of it, as frames may leave it that were not synced "+
			"when the last run ended; it stays, since appendonly is no", r.CutBytes)
		return
	}
	saved := "they were all zero"
	if r.CutSavedAs != "" {
		saved = "a copy is in " + r.CutSavedAs
	}
	e.opts.Logf("Log: cut a torn tail of %d bytes, as frames may leave it that were not synced when the last run ended; %s",
		r.CutBytes, saved)
}

// logRecovered sums a start up.
func (e *Engine) logRecovered(r *recovery, tookNano int64) {
	keys := int64(0)
	for db := range e.Store.Databases() {
		keys += e.Store.DBStats(db).Keys
	}
	snapshots := "no snapshot"
	if r.loaded != nil {
		snapshots = "snapshot " + SnapshotName(r.loaded.ID)
	}
	if r.older != nil {
		e.opts.Warnf("The newest snapshot was not whole; %s and the log made up for it, nothing is lost. "+
			"Another snapshot is made soon", snapshots)
	}
	e.opts.Logf("Store recovered in %d ms from %s and %d records of the log: %d keys, record %d, T %d",
		tookNano/1e6, snapshots, r.report.Records, keys, r.report.LastLSN, e.Clock.NowMilli())
}
