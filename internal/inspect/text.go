package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/snapshot"
)

// lines gathers text, written at once.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) {
	fmt.Fprintf(&l.Builder, format, args...)
	l.WriteByte('\n')
}

func (l *lines) write(w io.Writer) error {
	_, err := io.WriteString(w, l.String())
	return err
}

// WriteText writes the report for people. Its last line begins with "good" or
// "damaged".
func (r *CheckReport) WriteText(w io.Writer) error {
	var l lines
	l.addManifest(r.Manifest, r.InUse)
	for _, s := range r.Snapshots {
		if s.Good {
			l.add("%s: whole, %s", s.File, snapshotText(&s.Info))
		}
	}
	if g := r.Log; g != nil {
		l.add("log: %s", logText(g))
	}
	if r.Idem != nil {
		l.addIdem(r.Idem)
	}
	for _, note := range r.Notes {
		l.add("note: %s", note)
	}
	for _, p := range r.Problems {
		l.add("DAMAGED: %s", p.text())
	}
	switch {
	case len(r.Problems) > 0:
		l.add("damaged: %s", counted(len(r.Problems), "problem"))
	case !r.Good():
		l.add("damaged: the files are whole, but %s of IDEM", counted(r.Idem.Broken, "broken rule"))
	default:
		l.add("good")
	}
	return l.write(w)
}

func (l *lines) addManifest(m *engine.Manifest, inUse bool) {
	if m != nil {
		log := "no log was begun"
		if m.LogID != 0 {
			log = fmt.Sprintf("log %016x from segment %d on", m.LogID, m.FirstSegment)
		}
		l.add("%s: %s, safe up to record %d", engine.ManifestName, log, m.ReachLSN)
	}
	if inUse {
		l.add("note: a server holds this directory; its last writes may be missing here or look torn")
	}
}

func (p *Problem) text() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s, line %d", p.File, p.Line)
	}
	if p.Offset >= 0 {
		where = fmt.Sprintf("%s, offset %d", p.File, p.Offset)
	}
	text := p.What
	if where != "" {
		text = where + ": " + text
	}
	if p.Do != "" {
		text += "\n  " + p.Do
	}
	return text
}

func snapshotText(i *snapshot.Info) string {
	return fmt.Sprintf("%s as of record %d, %s in it, %s, T %s", counted(i.Keys, "key"), i.LastLSN,
		counted(i.Records, "record"), sizeText(i.SizeBytes), milliTime(i.LastT))
}

func logText(g *LogReport) string {
	if g.Records == 0 {
		return fmt.Sprintf("%s, no record behind record %d", counted(g.Segments, "segment"), g.BaseLSN)
	}
	return fmt.Sprintf("%s, %s in %s, LSN %d to %d, T %s", counted(g.Segments, "segment"), counted(g.Records, "record"),
		counted(g.Frames, "frame"), g.FirstLSN, g.LastLSN, milliTime(g.LastT))
}

func (l *lines) addIdem(r *IdemReport) {
	l.add("IDEM: %d begun, %d completed, %d live at the end, %d removed or changed by other commands, %s",
		r.Begun, r.Completed, r.Live, r.Removed, counted(r.Broken, "broken rule"))
	for _, x := range r.Removals {
		if x.Key == nil {
			l.add("  removed: %s: db %d: %s", x.Place.text(), x.DB, x.How)
			continue
		}
		l.add("  removed: %s: db %d key %q: %s", x.Place.text(), x.DB, x.Key, x.How)
	}
	if len(r.Removals) == maxListed {
		l.add("  only the first %d are listed", maxListed)
	}
	for _, v := range r.Violations {
		before := ""
		if v.Before > 0 {
			before = fmt.Sprintf("; what was there is record %d", v.Before)
		}
		l.add("  BROKEN: %s: db %d key %q: %s%s", v.Place.text(), v.DB, v.Key, v.Rule, before)
	}
	if len(r.Violations) == maxListed {
		l.add("  only the first %d are listed", maxListed)
	}
}

func (p *Place) text() string {
	if p.Offset > 0 {
		return fmt.Sprintf("record %d at %s in %s, frame at offset %d", p.LSN, milliTime(p.TMilli), p.File, p.Offset)
	}
	return fmt.Sprintf("record %d at %s in %s", p.LSN, milliTime(p.TMilli), p.File)
}

// WriteText writes the report for people.
func (r *StatReport) WriteText(w io.Writer) error {
	var l lines
	l.addManifest(r.Manifest, r.InUse)
	for _, s := range r.Snapshots {
		if s.Error != "" {
			l.add("%s: %s", s.File, s.Error)
			continue
		}
		l.add("%s: %s, %s old", s.File, snapshotText(&s.Info), ageText(s.AgeMilli))
	}
	if g := r.Log; g != nil {
		l.add("log: %s", logText(g))
		for _, s := range r.Segments {
			if s.Skipped {
				l.add("  %s: from record %d, not needed, %s", s.Name, s.FirstLSN, sizeText(s.SizeBytes))
				continue
			}
			if s.Frames == 0 {
				l.add("  %s: empty, %s", s.Name, sizeText(s.SizeBytes))
				continue
			}
			l.add("  %s: from record %d, %s in %s, %s of %s", s.Name, s.FirstLSN, counted(s.Records, "record"),
				counted(s.Frames, "frame"), sizeText(s.UsedBytes), sizeText(s.SizeBytes))
		}
		for _, c := range r.Codes {
			l.add("  %s (%d): %s, %s", c.Name, c.Code, counted(c.Records, "record"), sizeText(c.Bytes))
		}
		if g.TornTail > 0 {
			l.add("  torn at its end: %s", sizeText(g.TornTail))
		}
	}
	for _, d := range r.Disk {
		l.add("disk: %s: %s in %s", d.Dir, sizeText(d.Bytes), counted(d.Files, "file"))
	}
	l.add("disk: %s in all", sizeText(r.DiskBytes))
	if r.Loads != "" {
		l.add("a start loads %s", r.Loads)
	}
	if r.Error != "" {
		l.add("DAMAGED: %s", r.Error)
	}
	return l.write(w)
}

func ageText(milli int64) string {
	return (time.Duration(milli) * time.Millisecond).Round(time.Second).String()
}
