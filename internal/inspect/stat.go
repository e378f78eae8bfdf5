package inspect

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// StatReport is what Stat found.
type StatReport struct {
	Path      string            `json:"path"`
	InUse     bool              `json:"in_use"`
	Manifest  *engine.Manifest  `json:"-"`                   // see MarshalJSON
	Snapshots []SnapshotStat    `json:"snapshots,omitempty"` // newest first
	Segments  []wal.SegmentInfo `json:"-"`
	Log       *LogReport        `json:"log,omitempty"`
	Codes     []CodeStat        `json:"opcodes,omitempty"` // of the log, in the order of their numbers
	Disk      []DiskStat        `json:"disk,omitempty"`
	DiskBytes int64             `json:"disk_bytes"`
	Loads     string            `json:"a_start_loads,omitempty"`
	Error     string            `json:"error,omitempty"` // where the reading ended early
}

// SnapshotStat is one snapshot, of which only header, index and footer were
// read.
type SnapshotStat struct {
	File     string
	Info     snapshot.Info
	AgeMilli int64
	Error    string
}

// CodeStat counts the records of one opcode.
type CodeStat struct {
	Code    op.Code `json:"code"`
	Name    string  `json:"name"`
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"` // of their payloads
}

// DiskStat is what one directory takes.
type DiskStat struct {
	Dir   string `json:"dir"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Stat tells what a data directory or a snapshot file holds. What it cannot
// read it says in the report. nowMilli is for ages.
func Stat(t *Target, nowMilli int64) (*StatReport, error) {
	dir, err := t.isStoreDir()
	if err != nil {
		return nil, err
	}
	r := &StatReport{Path: t.Path}
	if !dir {
		s := t.statSnapshot(t.Path, t.Path, nowMilli)
		r.Snapshots, r.Error = []SnapshotStat{s}, s.Error
		r.DiskBytes = s.Info.SizeBytes
		return r, nil
	}
	r.InUse = t.inUse()
	t.statDisk(r)
	if r.Manifest, err = engine.ReadManifest(t.FS, t.Path); err != nil {
		r.Error = err.Error()
		return r, nil
	}
	if r.Manifest != nil {
		for _, ref := range r.Manifest.Snapshots {
			file := snapshotFile(ref.ID)
			s := t.statSnapshot(path.Join(t.Path, file), file, nowMilli)
			r.Snapshots = append(r.Snapshots, s)
		}
	}
	t.statLog(r)
	return r, nil
}

func (t *Target) statSnapshot(full, file string, nowMilli int64) SnapshotStat {
	s := SnapshotStat{File: file}
	info, err := t.openSnapshot(full)
	if err != nil {
		s.Error = err.Error()
		return s
	}
	s.Info, s.AgeMilli = info, max(nowMilli-info.LastT, 0)
	return s
}

func (t *Target) openSnapshot(file string) (info snapshot.Info, err error) {
	f, err := t.FS.Open(file)
	if err != nil {
		return info, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := snapshot.Open(f, file)
	if err != nil {
		return info, err
	}
	return r.Info(), nil
}

// statLog reads the log from the oldest snapshot on, and says what of it a
// start would read.
func (t *Target) statLog(r *StatReport) {
	first, newest := wal.LSN(0), -1
	for i := range r.Snapshots {
		if r.Snapshots[i].Error == "" {
			first = r.Snapshots[i].Info.LastLSN
			if newest < 0 {
				newest = i
			}
		}
	}
	base := wal.LSN(0)
	if newest >= 0 {
		base = r.Snapshots[newest].Info.LastLSN
	}
	counts := map[op.Code]*CodeStat{}
	log := LogReport{BaseLSN: first}
	behind := int64(0) // records that a start reads
	report, err := t.eachRecord(t.logOptions(r.Manifest, first), func(at *wal.Found, o *op.Op) error {
		c := counts[o.Code]
		if c == nil {
			c = &CodeStat{Code: o.Code, Name: CodeName(o.Code)}
			counts[o.Code] = c
		}
		c.Records++
		c.Bytes += int64(len(at.Payload))
		if log.FirstLSN == 0 {
			log.FirstLSN = at.LSN
		}
		if at.LSN > base {
			behind++
		}
		log.Records++
		log.LastLSN = at.LSN
		return nil
	})
	if err != nil {
		r.Error = err.Error()
	} else {
		log.LastLSN = max(report.LastLSN, base) // there may be no log yet
	}
	log.Segments, log.Frames, log.LastT, log.TornTail = report.Segments, report.Frames, report.LastT, report.CutBytes
	r.Log, r.Segments = &log, report.Files
	for _, c := range counts {
		r.Codes = append(r.Codes, *c)
	}
	slices.SortFunc(r.Codes, func(a, b CodeStat) int { return int(a.Code) - int(b.Code) })
	if err == nil {
		r.Loads = loads(r, newest, behind, log.LastLSN)
	}
}

// loads says what a start would load.
func loads(r *StatReport, newest int, behind int64, last wal.LSN) string {
	from := counted(behind, "record") + " of the log"
	if newest >= 0 {
		s := &r.Snapshots[newest]
		from = fmt.Sprintf("%s (%s, as of record %d), then %s", s.File, counted(s.Info.Keys, "key"), s.Info.LastLSN, from)
	}
	return fmt.Sprintf("%s, up to record %d", from, last)
}

// statDisk adds up the files. One that goes away meanwhile counts nothing.
func (t *Target) statDisk(r *StatReport) {
	for _, dir := range []string{"", engine.SnapshotDir, engine.WALDir} {
		names, err := list(t.FS, path.Join(t.Path, dir))
		if err != nil {
			continue
		}
		d := DiskStat{Dir: path.Join(".", dir)}
		for _, name := range names {
			file := path.Join(t.Path, dir, name)
			if _, err := t.FS.List(file); err == nil {
				continue // a directory
			}
			if size, err := t.size(file); err == nil {
				d.Files++
				d.Bytes += size
			}
		}
		r.DiskBytes += d.Bytes
		if d.Files > 0 {
			r.Disk = append(r.Disk, d)
		}
	}
}

func (t *Target) size(file string) (size int64, err error) {
	f, err := t.FS.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Size()
}
