package inspect

import (
	"errors"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// base is where a reading of the log begins.
type base struct {
	lsn   wal.LSN
	proof *proof // the IDEM records at lsn
	// guess: the log goes back that far only if nothing was removed of it yet.
	guess bool
}

// bases are where the log may be read from, best first: the first record, when
// no snapshot came before the only one; the oldest good snapshot.
func (r *CheckReport) bases() []base {
	var out []base
	if r.Manifest == nil || len(r.Manifest.Snapshots) == 0 {
		return []base{{proof: newProof()}}
	}
	if len(r.Manifest.Snapshots) == 1 && r.Manifest.FirstSegment <= 1 {
		out = append(out, base{proof: newProof(), guess: true})
	}
	good := slices.DeleteFunc(slices.Clone(r.Snapshots), func(s SnapshotReport) bool { return !s.Good })
	if len(good) == 0 {
		return out
	}
	s := good[len(good)-1]
	if r.Manifest.LogID == 0 {
		s = good[0] // no log leads from an older one to it
	}
	return append(out, base{lsn: s.Info.LastLSN, proof: s.proof.proof})
}

// checkLog reads the log from the first base that it reaches back to.
func (t *Target) checkLog(r *CheckReport) {
	for _, b := range r.bases() {
		log, err := t.followLog(r, &b)
		if b.guess && !r.reaches(&log, err) {
			continue
		}
		r.Log, r.Idem = &log, b.proof.finish()
		if err != nil {
			t.logProblem(r, &b, err)
			return
		}
		if log.TornTail > 0 {
			r.note("the last %s of the log are a torn write; the next start cuts them off and keeps a copy", sizeText(log.TornTail))
		}
		return
	}
}

// reaches says whether a log that was read from record 1 on leads to the only
// snapshot. One that begins behind it is of a store that was restored, or of
// one that had no log before.
func (r *CheckReport) reaches(log *LogReport, err error) bool {
	if err == nil {
		return log.LastLSN >= r.Manifest.Snapshots[0].LastLSN
	}
	var damage *wal.DamageError
	begins := !errors.As(err, &damage) || damage.Kind != wal.DamageMissing && damage.Kind != wal.DamageChain
	return begins || log.Records > 0
}

// followLog leads b's proof through the log and compares it with each good
// snapshot that it comes by.
func (t *Target) followLog(r *CheckReport, b *base) (LogReport, error) {
	out := LogReport{BaseLSN: b.lsn}
	pass := func(next wal.LSN) { // called with ascending LSNs: all records below were seen
		for i := len(r.Snapshots) - 1; i >= 0; i-- {
			s := &r.Snapshots[i]
			if s.Good && s.proof.proof != b.proof && !s.compared && s.Info.LastLSN >= b.lsn && s.Info.LastLSN < next {
				s.compared = true
				b.proof.compare(s.proof, s.Info.LastT)
				s.proof.dbs = nil // it is not needed any more
			}
		}
	}
	report, err := t.eachRecord(t.logOptions(r.Manifest, b.lsn), func(at *wal.Found, o *op.Op) error {
		pass(at.LSN)
		b.proof.record(Place{
			File: path.Join(engine.WALDir, at.Segment), Offset: at.Offset, LSN: at.LSN, TMilli: at.TMilli,
		}, o)
		out.Records++
		if out.FirstLSN == 0 {
			out.FirstLSN = at.LSN
		}
		out.LastLSN = at.LSN
		return nil
	})
	if err == nil {
		pass(max(report.LastLSN, b.lsn) + 1)
		out.LastLSN = max(report.LastLSN, b.lsn) // there may be no log yet
	}
	out.Segments, out.Frames, out.LastT, out.TornTail = report.Segments, report.Frames, report.LastT, report.CutBytes
	return out, err
}

// logProblem says what is wrong with the log, and whether a start minds.
func (t *Target) logProblem(r *CheckReport, b *base, err error) {
	var damage *wal.DamageError
	do := t.adviceToRepair()
	if errors.As(err, &damage) {
		do = damage.Advice()
		if damage.Kind != wal.DamageVersion && damage.Kind != wal.DamagePrepared {
			do += ", or " + t.adviceToRepair()
		}
	}
	if len(r.Snapshots) > 0 && r.Snapshots[0].Good && r.Snapshots[0].Info.LastLSN > b.lsn {
		if _, err := wal.Inspect(t.logOptions(r.Manifest, r.Snapshots[0].Info.LastLSN), skip, nil); err == nil {
			do = "a start does not need this part, it goes on behind " + r.Snapshots[0].File +
				"; but the snapshot before it is worth nothing now: take another one soon"
		}
	}
	var record *RecordError
	switch {
	case damage != nil:
		r.problem(path.Join(engine.WALDir, damage.Segment), damage.Offset, damage.Reason, do)
	case errors.As(err, &record):
		r.problem(path.Join(engine.WALDir, record.Segment), record.Offset, record.Error(), do)
	default:
		r.problem(engine.WALDir, -1, err.Error(), do)
	}
}

// skip is for a log of which only the checks matter.
func skip(*wal.Found) error { return nil }
