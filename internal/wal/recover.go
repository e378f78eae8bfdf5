package wal

import (
	"errors"
	"fmt"
	"sync"
)

// Recovery, step by step:
//
//  1. List the segments, read their headers, check that none that is needed
//     is missing, foreign or of another version (files.go).
//  2. Find the tail: the last segment that anything was written to. All before
//     it were synced whole when they were ended; all after it are empty.
//  3. Replay every frame in order, checking the chain across segments.
//  4. Where the tail stops being valid, decide: clean end, torn, or damaged
//     (tail.go). Only torn bytes are cut, and copied to a file of their own.
//  5. Rewrite the tail to a new file, sync it, put it in place (I8): bytes
//     that read back may never have reached the disk.
//  6. Seal, so that damage to anything recovered is known as such from now on.
//
// Nothing on disk changes before all checks of 1 to 4 are passed.

// recovery is the state of one Open.
type recovery struct {
	o        Options
	apply    func(lsn LSN, tMilli int64, payload []byte) error
	progress func(done, total int64)
	report   Report

	files      []*segmentFile // that are read, oldest first
	older      []segmentStart // of those before them
	unfinished []string       // names of files that never were segments
	strange    []string       // names that only look like a segment's
	obsolete   []uint64       // numbers of those before FirstSegment
	tail       int            // index of the last file with frames or rubbish, -1 for none

	want  position // of the frame that comes next
	last  LSN
	lastT int64
	read  int64 // for progress, of files done
	told  int64 // when progress was last called within a file
	total int64

	ended, sealed  bool     // what the last good frame is
	end            int64    // offset behind it
	tailWant       position // of the first frame of the tail
	cutFrom, cutTo int64    // torn bytes of the tail, without the zeros behind

	// Where the record is that apply gets: index in files, offset of the frame.
	at       int
	atOffset int64
}

// Open replays every record in LSN order to apply, then makes the log ready
// for appending. payload is borrowed. progress (may be nil) is called now and
// then with bytes read and bytes in all.
func Open(o Options, apply func(lsn LSN, tMilli int64, payload []byte) error, progress func(done, total int64)) (*Log, Report, error) {
	o.setDefaults()
	if progress == nil {
		progress = func(int64, int64) {}
	}
	r := &recovery{o: o, apply: apply, progress: progress, tail: -1}
	defer r.closeFiles()
	live, next, err := r.run()
	if err != nil {
		return nil, r.report, err
	}
	l := r.newLog(live, next)
	if err := l.seal(); err != nil {
		return nil, r.report, errors.Join(err, l.closeFiles())
	}
	l.start()
	return l, r.report, nil
}

func (o *Options) setDefaults() {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	o.SegmentBytes = max(o.SegmentBytes, segmentHeaderBytes+2*controlFrameBytes)
	o.FirstLSN = max(o.FirstLSN, 1)
	o.FirstSegment = max(o.FirstSegment, 1)
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Notef == nil {
		o.Notef = o.Logf
	}
	if o.MonoNano == nil {
		o.MonoNano = func() int64 { return 0 }
	}
	if o.Salt == nil {
		o.Salt = systemSalt
	}
}

// run does steps 1 to 5 and returns the segment to append to and, when it is
// there already, the one after it.
func (r *recovery) run() (live, next *segment, err error) {
	if err := r.o.FS.MkdirAll(r.o.Dir); err != nil {
		return nil, nil, fmt.Errorf("log directory: %w", err)
	}
	if err := r.readAll(); err != nil {
		return nil, nil, err
	}
	if err := r.removeUnfinished(); err != nil {
		return nil, nil, err
	}
	if len(r.files) == 0 {
		live, err = r.createFirst()
		return live, nil, err
	}
	return r.settle()
}

// readAll does steps 1 to 4 and changes nothing.
func (r *recovery) readAll() error {
	if err := r.findSegments(); err != nil {
		return err
	}
	if len(r.files) == 0 {
		return r.checkNothing()
	}
	r.report.LogID = r.files[0].header.logID
	if err := r.findTail(); err != nil {
		return err
	}
	if first := r.files[0]; r.tail < 0 && (first.header.seq > 1 || r.o.FirstLSN > 1) {
		// Such a log is made with a seal in it (create.go).
		if err := r.missingFirst(); err != nil {
			return err
		}
		return r.damage(DamageMissing, first, segmentHeaderBytes, "there is no frame in the whole log, but it had one")
	}
	r.want = r.firstPosition(r.files[0])
	for i := range r.files[:r.tail+1] {
		if err := r.replayFile(i); err != nil {
			return err
		}
	}
	r.report.LastLSN = r.last
	if err := r.checkReach(); err != nil {
		return err
	}
	r.progress(r.total, r.total)
	if err := r.checkSuccessors(); err != nil || r.o.Applied == nil {
		return err
	}
	return r.o.Applied()
}

// firstPosition is what a log has to begin with whose oldest file is first. One
// that is complete by itself begins with frame 1; one behind a snapshot, with
// any: its predecessors were removed, or cut off by a repair.
func (r *recovery) firstPosition(first *segmentFile) position {
	if first.header.seq == 1 && r.o.FirstLSN == 1 {
		return position{frame: 1, lsn: 1}
	}
	return position{}
}

// missingFirst names the segment that the log begins with, when whoever knows
// the log says which that is, and it is not there.
func (r *recovery) missingFirst() error {
	if r.o.LogID == 0 || r.report.Skipped > 0 || r.files[0].header.seq == r.o.FirstSegment {
		return nil
	}
	return &DamageError{Kind: DamageMissing, Dir: r.o.Dir, Segment: segmentName(r.o.FirstSegment), Offset: -1,
		After: r.last, Reason: "the log begins with this file, which is not there"}
}

// replayFile does step 3 and, for the tail, step 4.
func (r *recovery) replayFile(i int) error {
	file := r.files[i]
	fr := frameReader{file: file.file, size: file.size, salt: file.header.salt,
		offset: segmentHeaderBytes, want: r.want}
	r.ended, r.tailWant = false, r.want
	for !r.ended {
		f, err := fr.next()
		if err != nil {
			err = r.stopped(i, &fr, err)
			if err != nil {
				return err
			}
			break
		}
		if err := r.replayFrame(i, &f); err != nil {
			return err
		}
		r.tell(r.read + fr.offset)
	}
	r.want, r.end = fr.want, fr.offset
	r.read += file.size
	r.progress(r.read, r.total)
	if r.ended {
		return r.checkEnded(i)
	}
	return nil
}

// tell reports progress, but not for every small frame.
func (r *recovery) tell(done int64) {
	if done-r.told >= readChunkBytes {
		r.told = done
		r.progress(done, r.total)
	}
}

// stopped decides what it means that frames stop being valid; nil goes on.
func (r *recovery) stopped(i int, fr *frameReader, err error) error {
	file := r.files[i]
	if chain := (*chainError)(nil); errors.As(err, &chain) {
		return r.damage(DamageChain, file, fr.offset, chain.reason)
	}
	if !errors.Is(err, errNotAFrame) {
		return r.readError(file, fr.offset, err)
	}
	if i == r.tail {
		return r.endOfTail(file, fr)
	}
	return r.lostEnd(i, fr)
}

// replayFrame hands the records of f, which is in file i, to apply.
func (r *recovery) replayFrame(i int, f *frame) error {
	file := r.files[i]
	if r.report.Frames == 0 && f.firstLSN > r.o.FirstLSN {
		if err := r.missingFirst(); err != nil {
			return err
		}
		return r.damage(DamageMissing, file, f.offset, fmt.Sprintf(
			"the log begins at record %d, but is needed from record %d on", f.firstLSN, r.o.FirstLSN))
	}
	kind := f.control(f.payload)
	r.ended, r.sealed = kind == controlEnd, kind == controlSeal
	if f.records == 0 && kind != controlEnd && kind != controlSeal {
		return r.damage(DamageRecord, file, f.offset, "a control frame of an unknown kind")
	}
	if f.firstT < r.lastT {
		return r.damage(DamageChain, file, f.offset, "time runs backwards")
	}
	r.report.Frames++
	file.frames++
	file.bytes += int64(len(f.raw))
	file.records += int64(f.records)
	r.report.LastT = f.firstT
	r.last = max(r.last, f.firstLSN-1)
	r.lastT = f.firstT
	if f.records == 0 {
		return nil
	}
	r.at, r.atOffset = i, f.offset
	records := newRecordReader(&f.frameHeader, f.payload)
	for {
		lsn, t, payload, ok, err := records.next()
		if err != nil {
			return r.damage(DamageRecord, file, f.offset, err.Error())
		}
		if !ok {
			return nil
		}
		r.last, r.lastT = lsn, t
		r.report.LastT = t
		if lsn < r.o.FirstLSN {
			continue
		}
		if r.report.Records == 0 {
			r.report.FirstLSN = lsn
		}
		if err := r.apply(lsn, t, payload); err != nil {
			return fmt.Errorf("log record %d (T %d), in the frame at offset %d of %s, cannot be applied: %w",
				lsn, t, f.offset, r.o.path(file.name), err)
		}
		r.report.Records++
	}
}

// checkEnded is for a segment that ends with an end frame: nothing was written
// behind it, and its successor existed before it.
func (r *recovery) checkEnded(i int) error {
	file := r.files[i]
	rubbish, err := lastNonZero(file.file, r.end, file.size)
	if err != nil {
		return r.readError(file, r.end, err)
	}
	if rubbish >= r.end {
		return r.damage(DamageFrame, file, rubbish, "something is written behind the end of the segment")
	}
	if i+1 == len(r.files) {
		return r.damage(DamageMissing, file, r.end, fmt.Sprintf(
			"the log goes on in %s, which is not there", segmentName(file.header.seq+1)))
	}
	return nil
}

// checkReach compares the end of the log with what is known of it.
func (r *recovery) checkReach() error {
	file := r.files[max(r.tail, 0)]
	end := max(r.end, segmentHeaderBytes)
	if r.last+1 < r.o.FirstLSN {
		return r.damage(DamageMissing, file, end, fmt.Sprintf(
			"the log ends before record %d, which a snapshot is followed by", r.o.FirstLSN))
	}
	if r.last < r.o.ReachLSN {
		return r.damage(DamageMissing, file, end, fmt.Sprintf(
			"the log ends after record %d, but was known to be synced to record %d", r.last, r.o.ReachLSN))
	}
	return nil
}

// checkNothing tells whether a directory without a segment may be a log that
// was not begun yet.
func (r *recovery) checkNothing() error {
	reason := ""
	switch {
	case r.o.MustExist && r.o.FirstLSN > 1:
		reason = fmt.Sprintf("there is no log, but a snapshot needs it from record %d on", r.o.FirstLSN)
	case r.o.MustExist:
		reason = "there is no log"
	case r.o.ReachLSN >= r.o.FirstLSN:
		reason = fmt.Sprintf("there is no log, but it was known to be synced to record %d", r.o.ReachLSN)
	default:
		return nil
	}
	return &DamageError{Kind: DamageMissing, Dir: r.o.Dir, Segment: segmentName(r.o.FirstSegment), Offset: -1,
		After: r.o.FirstLSN - 1, Reason: reason}
}

func (r *recovery) damage(kind Damage, file *segmentFile, offset int64, reason string) error {
	return &DamageError{Kind: kind, Dir: r.o.Dir, Segment: file.name, Offset: offset, After: r.last, Reason: reason}
}

func (r *recovery) readError(file *segmentFile, offset int64, err error) error {
	at := DamageError{Segment: r.o.path(file.name), Offset: offset, After: r.last}
	return fmt.Errorf("reading the log at %s: %w", at.Where(), err)
}

func (r *recovery) closeFiles() {
	for _, f := range r.files {
		_ = f.file.Close() // only read from
	}
}

// newLog makes the log that goes on where recovery ended.
func (r *recovery) newLog(live, next *segment) *Log {
	l := &Log{
		o: r.o, id: r.report.LogID, logf: r.o.Logf, now: r.o.MonoNano,
		kick: make(chan struct{}, 1),
		stop: make(chan struct{}),
	}
	l.covered, l.waiting = sync.NewCond(&l.commitMu), sync.NewCond(&l.commitMu)
	l.prep.idle = sync.NewCond(&l.prep.mu)
	l.prep.want = make(chan struct{}, 1)
	l.prep.next, l.prep.after = next, &live.header
	if next != nil {
		l.prep.ahead = frameRoom(next.header.sizeBytes)
	}
	l.policy.Store(uint32(r.o.Policy))
	l.w = writer{live: live, offset: r.end, nextFrame: max(r.want.frame, 1), prevCRC: r.want.crc,
		lastT: r.lastT, sealed: r.sealed}
	l.open.reset(nil)
	l.last.Store(uint64(r.last))
	l.lastT.Store(r.lastT)
	l.durable.Store(uint64(r.last))
	for _, p := range []*lsnAndFrame{&l.written, &l.synced} {
		p.lsn.Store(uint64(r.last))
		p.frame.Store(l.w.nextFrame - 1)
	}
	l.keep.starts, l.keep.obsolete = r.starts(live), r.obsolete
	for _, s := range l.keep.starts {
		l.stats.sizeBytes.Add(s.bytes)
	}
	l.roomLeft(live, r.end)
	l.room.capacity.Store(l.room.live.Load())
	l.stats.frames.Store(r.report.Frames)
	l.stats.segments.Store(int64(r.report.Segments))
	if next != nil {
		l.stats.segments.Add(-1) // counted when it is used
	}
	return l
}
