package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// repairPlan is what a repair will do. It is a recovery that goes on where
// Open stops.
type repairPlan struct {
	recovery
	damage *DamageError

	all   []*repairFile  // every segment there is, oldest first
	start place          // where reading began
	cuts  []repairCut    // segments that are rewritten, oldest first
	open  *repairCut     // the last one that stays, if it was not ended
	taken []*segmentFile // that go whole, oldest first
	fresh bool           // nothing stays, a log is begun
	wrong bool           // the last frame was good by its checksum, but not the one that belongs there

	beginsLSN  LSN // RepairReport
	lost       int64
	lostLast   LSN
	unreadable bool
}

// place is where a frame begins.
type place struct {
	file   int // index in all
	offset int64
}

// repairFile is a segment as it is found.
type repairFile struct {
	*segmentFile
	seq uint64
	bad error // why it cannot be one of this log
}

// repairCut is a segment of which the frames in [begin, keepTo) stay. What
// stands in [from, to) is cut.
type repairCut struct {
	file     *segmentFile
	begin    int64
	keepTo   int64
	from, to int64
	want     position // of its first frame
	ended    bool     // the last frame that stays is an end frame
	must     bool     // Open would refuse it as it is
}

// make decides. An error is one that no repair is for.
func (p *repairPlan) make() error {
	if err := p.openAll(); err != nil {
		return err
	}
	begin := p.begin()
	if begin < len(p.all) {
		if first := p.all[begin]; p.o.LogID != 0 && first.bad == nil && first.header.logID != p.o.LogID {
			return p.damage
		}
	}
	next, err := p.keepGood(place{begin, segmentHeaderBytes})
	if err != nil {
		return err
	}
	if p.last < p.o.FirstLSN {
		if next, err = p.behindBadPlace(begin, next); err != nil {
			return err
		}
	}
	return p.settleRest(next)
}

// useless says whether what was kept, files begin to next, is no log for the
// records from FirstLSN on.
func (p *repairPlan) useless(begin, next int) bool {
	first := begin < next && p.o.FirstLSN == 1 && p.all[begin].seq == 1 // may be empty
	return p.report.Frames == 0 && !first || p.last+1 < p.o.FirstLSN
}

// openAll opens all segments, whatever they are.
func (p *repairPlan) openAll() error {
	found, err := p.listSegments()
	if err != nil {
		return err
	}
	for _, name := range p.strange {
		found = append(found, segmentFound{name: name})
	}
	for _, s := range found {
		file, err := p.openFile(s.name)
		damage := (*DamageError)(nil)
		switch {
		case err == nil && file.header.seq != s.seq:
			err = fmt.Errorf("it is segment %d by its header", file.header.seq)
		case errors.As(err, &damage) && damage.Kind == DamageVersion || err != nil && damage == nil:
			return err
		}
		// openFile keeps in files what it opened, good or bad.
		opened := p.files[len(p.files)-1]
		if s.seq == 0 {
			p.taken = append(p.taken, opened)
			continue
		}
		p.all = append(p.all, &repairFile{segmentFile: opened, seq: s.seq, bad: err})
	}
	return nil
}

// begin is where the log begins that is needed: the newest segment that holds
// a record before FirstLSN.
func (p *repairPlan) begin() int {
	for i := len(p.all) - 1; i > 0; i-- {
		f := p.all[i]
		if f.bad == nil && f.first > 0 && f.first < p.o.FirstLSN && (p.o.LogID == 0 || f.header.logID == p.o.LogID) {
			return i
		}
	}
	return 0
}

// keepGood reads segments from a place on for as long as they are good, and
// returns the first that is to go whole. A segment that can be mended without
// a loss is put on the list for that.
func (p *repairPlan) keepGood(from place) (next int, err error) {
	p.files = p.files[:0]
	for _, f := range p.all {
		p.files = append(p.files, f.segmentFile)
	}
	p.tail = -1
	begin := from.file
	p.start = from
	if begin < len(p.all) {
		p.want = p.firstPosition(p.files[begin])
	}
	for i := begin; i < len(p.all); i++ {
		if !p.continues(begin, i) {
			return i, p.dropEnd(begin, i-1)
		}
		if err := p.readGood(i); err != nil {
			return 0, err
		}
		if !p.ended {
			return i + 1, nil
		}
	}
	return len(p.all), p.dropEnd(begin, len(p.all)-1)
}

// continues tells whether file i is the one that belongs behind the one before.
func (p *repairPlan) continues(begin, i int) bool {
	f := p.all[i]
	if f.bad != nil || p.o.LogID != 0 && f.header.logID != p.o.LogID {
		return false
	}
	if i == begin {
		return p.o.FirstLSN > 1 || f.seq == p.o.FirstSegment
	}
	return f.seq == p.all[i-1].seq+1 && f.header.logID == p.all[i-1].header.logID
}

// readGood reads the frames of file i, up to the first that is bad.
func (p *repairPlan) readGood(i int) error {
	file := p.files[i]
	p.ended, p.tailWant = false, p.want
	fr := frameReader{file: file.file, size: file.size, salt: file.header.salt,
		offset: p.firstFrame(i), want: p.want}
	for !p.ended {
		if err := p.readFrame(i, &fr); errors.Is(err, errNotAFrame) {
			break
		} else if err != nil {
			return err
		}
	}
	p.want, p.end = fr.want, fr.offset
	last, err := lastNonZero(file.file, p.end, file.size)
	if err != nil {
		return p.readError(file, p.end, err)
	}
	rubbish, short := last >= p.end, file.size < int64(file.header.sizeBytes)
	c := repairCut{file: file, begin: p.firstFrame(i), keepTo: p.end, from: p.end, to: max(last+1, p.end), want: p.tailWant,
		ended: p.ended, must: rubbish || short || p.firstFrame(i) > segmentHeaderBytes}
	if p.ended {
		if c.must {
			p.cuts = append(p.cuts, c)
		}
		return nil
	}
	torn := false
	if rubbish && !short && !p.wrong {
		err := p.endOfTail(file, &fr)
		if err != nil && !isDamage(err) {
			return err
		}
		torn = err == nil
		c.must = !torn || c.begin > segmentHeaderBytes
	}
	p.unreadable = short || rubbish && !torn
	p.open = &c
	return nil
}

// firstFrame is the offset of the first frame of file i that is read.
func (p *repairPlan) firstFrame(i int) int64 {
	if i == p.start.file {
		return p.start.offset
	}
	return segmentHeaderBytes
}

// readFrame reads one frame of file i. Where a bad one stands it does not
// move, and returns errNotAFrame.
func (p *repairPlan) readFrame(i int, fr *frameReader) error {
	at, want, last, lastT, report := fr.offset, fr.want, p.last, p.lastT, p.report
	f, err := fr.next()
	if err == nil {
		err = p.replayFrame(i, &f)
	}
	p.wrong = isDamage(err) && !errors.Is(err, errNotAFrame)
	switch {
	case err == nil:
		return nil
	case !isDamage(err):
		return p.readError(p.files[i], at, err)
	}
	fr.offset, fr.want = at, want
	p.last, p.lastT, p.report, p.ended = last, lastT, report, false
	return errNotAFrame
}

// isDamage tells whether a frame is bad, rather than the disk.
func isDamage(err error) bool {
	var chain *chainError
	var damage *DamageError
	return errors.Is(err, errNotAFrame) || errors.As(err, &chain) || errors.As(err, &damage)
}

// dropEnd takes the end frame away from file i, whose successor is not there.
func (p *repairPlan) dropEnd(begin, i int) error {
	if i < begin || !p.ended {
		return nil
	}
	p.unreadable = true // there was a successor once
	file := p.files[i]
	keepTo := p.end - controlFrameBytes
	p.cuts = slices.DeleteFunc(p.cuts, func(c repairCut) bool { return c.file == file })
	last, err := lastNonZero(file.file, keepTo, file.size)
	if err != nil {
		return p.readError(file, keepTo, err)
	}
	p.cuts = append(p.cuts, repairCut{file: file, begin: p.firstFrame(i), keepTo: keepTo, from: keepTo, to: last + 1,
		want: p.tailWant})
	return nil
}

// settleRest decides about the segments from next on.
func (p *repairPlan) settleRest(next int) error {
	// One segment that is prepared may stay.
	if next+1 == len(p.all) && next > 0 && p.continues(p.start.file, next) && p.isEmpty(p.all[next]) {
		next++
	}
	if c := p.open; c != nil && (c.must || c.to > c.from && next < len(p.all)) {
		p.cuts = append(p.cuts, *c)
	}
	for _, f := range p.all[next:] {
		p.taken = append(p.taken, f.segmentFile)
	}
	return p.countLost(next)
}

func (p *repairPlan) isEmpty(f *repairFile) bool {
	last, err := lastNonZero(f.file, segmentHeaderBytes, f.size)
	return err == nil && last < 0 && f.size >= int64(f.header.sizeBytes)
}

// countLost counts the records behind the last one that could still be read,
// in what is cut and in the files from next on.
func (p *repairPlan) countLost(next int) error {
	seen := p.last
	for _, c := range p.cuts {
		if err := p.countIn(c.file, c.from, &seen); err != nil {
			return err
		}
	}
	for _, f := range p.all[next:] {
		if f.bad != nil {
			continue
		}
		if err := p.countIn(f.segmentFile, segmentHeaderBytes, &seen); err != nil {
			return err
		}
	}
	return nil
}

// countIn counts the records of good frames from offset on, wherever they
// begin, that are behind *seen.
func (p *repairPlan) countIn(file *segmentFile, offset int64, seen *LSN) error {
	err := eachWholeFrame(file, offset, func(f *frame, _ bool) bool {
		if last := f.firstLSN + LSN(f.records) - 1; f.records > 0 && last > *seen {
			p.lost += int64(last - max(*seen, f.firstLSN-1))
			*seen, p.lostLast = last, last
		}
		return true
	})
	if err != nil {
		return p.readError(file, offset, err)
	}
	return nil
}

// nextSalt is the first place from offset on where a frame may begin; 0 when
// there is none.
func nextSalt(file *segmentFile, offset int64) (at int64, err error) {
	var salt [8]byte
	binary.LittleEndian.PutUint64(salt[:], file.header.salt)
	err = scanFile(file.file, offset, file.size, len(salt)-1, func(chunkAt int64, chunk []byte) bool {
		n := bytes.Index(chunk, salt[:])
		if n >= 0 {
			at = chunkAt + int64(n)
		}
		return n < 0
	})
	return at, err
}

// closeAll closes what openAll opened.
func (p *repairPlan) closeAll() {
	for _, f := range p.all {
		_ = f.file.Close()
	}
	for _, f := range p.taken {
		_ = f.file.Close() // perhaps a second time, which does no harm
	}
}
