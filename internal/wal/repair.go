package wal

import (
	"errors"
	"fmt"
	"io/fs"
)

// Repair, step by step. It is the only thing that cuts what is not a torn tail
// (I9), and an explicit command:
//
//  1. The log is read as Open does. If that succeeds, nothing is changed.
//  2. It is read once more, up to the first frame that cannot be read
//     (repairplan.go). What stays is what comes before.
//  3. What goes is copied into saveDir, durable: whole files, and the part of
//     the cut one.
//  4. Files are removed, newest first, and the directory is synced. Whatever
//     of that a crash leaves is a log that ends at the same place or is still
//     refused.
//  5. The segment that is cut is rewritten and takes its place at once. Where
//     nothing stays, a new log is begun at Options.FirstLSN.
//
// When what comes before the bad place ends before Options.FirstLSN, it is of
// no use. If whole frames that follow each other lead from the bad place over
// that record, the log begins with them instead (salvage.go): what is before
// goes, in the same steps.

// RepairReport tells what Repair did.
type RepairReport struct {
	Damage      *DamageError // what was wrong; nil when nothing was
	BeginsLSN   LSN          // what the log begins with now, if its beginning was cut off; else 0
	LastLSN     LSN          // the last record that is left
	LostRecords int64        // records behind it that could still be read; they are lost with the cut
	LostLastLSN LSN          // the last of them
	Unreadable  bool         // there may have been records behind LastLSN that nothing tells of
	CutBytes    int64        // copied, without the zeros behind
	Saved       []string     // files in saveDir
}

// Repair makes a log that Open refuses readable again by cutting it at the
// first bad place, or, when the snapshot makes up for what is before, in front
// of the first frame behind it. Everything it takes away is first copied into saveDir. It
// returns what the log was left with and what was lost. A log that Open
// accepts is left alone, and so are one that a newer Hapax wrote and one that
// Options.LogID says belongs elsewhere: they are the error that is returned.
//
// Open accepts the result with the same options, but for ReachLSN when that is
// behind LastLSN. After a crash, or an error, it can be repaired again; what
// was copied before stays.
func Repair(o Options, saveDir string) (RepairReport, error) {
	o.setDefaults()
	report, err := Inspect(o, func(*Found) error { return nil }, nil)
	if err == nil {
		// A repair before this one may have failed to sync the directory.
		if saveDir != "" {
			if err := o.FS.SyncDir(o.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return RepairReport{}, fmt.Errorf("log directory: %w", err)
			}
		}
		return RepairReport{LastLSN: max(report.LastLSN, o.FirstLSN-1)}, nil
	}
	var damage *DamageError
	if !errors.As(err, &damage) || damage.Kind == DamageVersion {
		return RepairReport{}, err
	}
	p := &repairPlan{damage: damage}
	p.o = o
	p.apply = func(LSN, int64, []byte) error { return nil }
	defer p.closeAll()
	if err := p.make(); err != nil {
		return RepairReport{}, err
	}
	out := RepairReport{Damage: damage, BeginsLSN: p.beginsLSN, LastLSN: p.last, LostRecords: p.lost,
		LostLastLSN: p.lostLast, Unreadable: p.unreadable}
	if saveDir == "" {
		return out, nil
	}
	if err := p.do(saveDir, &out); err != nil {
		return out, fmt.Errorf("repairing the log: %w", err)
	}
	return out, nil
}

// do does steps 3 to 5.
func (p *repairPlan) do(saveDir string, out *RepairReport) error {
	if len(p.cuts)+len(p.taken) > 0 {
		if err := p.o.FS.MkdirAll(saveDir); err != nil {
			return err
		}
	}
	for _, c := range p.cuts {
		if c.begin > segmentHeaderBytes {
			if err := p.saveWhole(c.file, saveDir, out); err != nil {
				return err
			}
		} else if c.to > c.from {
			if err := p.save(c.file, c.from, c.to, saveDir, cutName(c.file.name, c.from), out); err != nil {
				return err
			}
		}
	}
	for _, file := range p.taken {
		if err := p.saveWhole(file, saveDir, out); err != nil {
			return err
		}
	}
	if err := p.removeTaken(); err != nil {
		return err
	}
	for i := len(p.cuts) - 1; i >= 0; i-- {
		c := p.cuts[i]
		s, err := p.rewrite(c.file, c.begin, c.keepTo, c.want, c.ended)
		if err != nil {
			return err
		}
		if err := s.file.Close(); err != nil {
			return err
		}
	}
	if !p.fresh {
		return nil
	}
	fresh := recovery{o: p.o}
	s, err := fresh.createFirst()
	if err != nil {
		return err
	}
	return s.file.Close()
}

func (p *repairPlan) saveWhole(file *segmentFile, dir string, out *RepairReport) error {
	end, err := lastNonZero(file.file, 0, file.size)
	if err != nil {
		return p.readError(file, 0, err)
	}
	return p.save(file, 0, end+1, dir, file.name, out)
}

func (p *repairPlan) save(file *segmentFile, from, to int64, dir, base string, out *RepairReport) error {
	name, err := p.o.copyPart(file.file, from, to, dir, base)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, name)
	out.CutBytes += to - from
	return nil
}

func (p *repairPlan) removeTaken() error {
	if len(p.taken) == 0 {
		return nil
	}
	for i := len(p.taken) - 1; i >= 0; i-- {
		if err := p.o.FS.Remove(p.o.path(p.taken[i].name)); err != nil {
			return err
		}
	}
	return p.o.FS.SyncDir(p.o.Dir)
}
