package wal

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// preparer keeps one segment ready ahead of the live one, so that a frame
// goes to space that is already allocated and written: its sync changes no
// metadata, and a full disk shows before the log needs the room.
type preparer struct {
	mu   sync.Mutex
	idle *sync.Cond // making became false, or after changed
	// after is the live segment, nil while the log is between two: a segment
	// is prepared only when the one before its predecessor is ended for good,
	// so that recovery never finds two without frames behind one without end.
	after *segmentHeader
	// next is ready, with its name durable, or nil. making says that somebody
	// makes it. err is why the last try failed.
	next     *segment
	making   bool
	stopping bool
	err      error
	failing  atomic.Bool // err is not nil
	// ahead is the room in next, also while a rotation is about to make it the
	// live segment.
	ahead int64
	want  chan struct{}
}

// mustRotate tells whether a frame of this size belongs in the next segment.
// Room for the end frame is kept. A frame larger than a whole segment goes into
// an empty one, which grows, unless the next was made large enough for it.
func (l *Log) mustRotate(frameBytes int) bool {
	end := l.w.offset + int64(frameBytes) + controlFrameBytes
	switch {
	case end <= int64(l.w.live.header.sizeBytes):
		return false
	case l.w.offset > segmentHeaderBytes:
		return true
	}
	l.prep.mu.Lock()
	defer l.prep.mu.Unlock()
	return int64(frameBytes)-frameHeaderBytes <= l.prep.ahead
}

// rotate ends the live segment and goes on in the next:
//
//  1. The next segment is there, its name durable.
//  2. The end frame says so. A segment that ends with one and has no
//     successor has lost it.
//  3. The old segment is synced whole. From here on nothing in it may be cut.
//  4. Frames go to the new one. Its first byte proves that 3 happened.
func (l *Log) rotate() error {
	next, err := l.nextSegment()
	if err != nil {
		return l.poison("next segment", err)
	}
	if err := l.writeControl(controlEnd); err != nil {
		return errors.Join(err, next.file.Close())
	}
	if err := l.syncWritten(); err != nil {
		return errors.Join(err, next.file.Close())
	}
	l.syncMu.Lock() // the ticker syncs the live file
	old, usedBytes := l.w.live, l.w.offset-segmentHeaderBytes
	l.w.live, l.w.offset, l.w.direct.at = next, segmentHeaderBytes, 0
	l.syncMu.Unlock()
	l.keep.began(next.header.seq, LSN(l.written.lsn.Load())+1, usedBytes)
	l.stats.segments.Add(1)
	l.prepareAfter(&next.header)
	if err := old.close(); err != nil {
		l.logf("closing %s: %v; it was synced before, so nothing is lost", old.name, err)
	}
	return nil
}

// nextSegment takes the prepared segment, waits for it, or makes it.
func (l *Log) nextSegment() (*segment, error) {
	p := &l.prep
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.making {
		p.idle.Wait()
	}
	if p.next == nil {
		_ = l.makeNext(func() bool { return false }) // an error is in p.err
	}
	next := p.next
	if next == nil {
		return nil, p.err
	}
	p.next, p.after = nil, nil
	return next, nil
}

// prepareAfter says that live is the live segment now.
func (l *Log) prepareAfter(live *segmentHeader) {
	l.prep.mu.Lock()
	l.prep.after = live
	l.roomLeft(l.w.live, l.w.offset)
	l.room.capacity.Store(l.room.live.Load())
	l.prep.ahead = 0
	l.prep.idle.Broadcast()
	l.prep.mu.Unlock()
	l.wantSegment()
}

// makeNext prepares the segment after the live one. It is called and returns
// with prep.mu held, but lets go of it meanwhile.
func (l *Log) makeNext(stopped func() bool) error {
	p := &l.prep
	live := p.after
	size := min(l.o.SegmentBytes, int64(live.sizeBytes)*segmentGrowth)
	h := segmentHeader{
		version: formatVersion, logID: live.logID, seq: live.seq + 1,
		salt: l.o.salt(), sizeBytes: uint64(size),
	}
	p.making = true
	p.mu.Unlock()
	next, err := l.o.makeSegment(h, nil, stopped)
	p.mu.Lock()
	p.making, p.err = false, err
	p.failing.Store(err != nil)
	if err == nil {
		p.next, p.ahead = next, frameRoom(h.sizeBytes)
	}
	p.idle.Broadcast()
	return err
}

// wantSegment asks the goroutine that prepares segments for the next one.
func (l *Log) wantSegment() {
	select {
	case l.prep.want <- struct{}{}:
	default:
	}
}

// prepareSegments runs until the log is closed.
func (l *Log) prepareSegments() {
	for {
		select {
		case <-l.stop:
			return
		case <-l.prep.want:
			l.prepareOne()
		}
	}
}

func (l *Log) prepareOne() {
	if err := l.tryPrepare(); err != nil {
		_ = l.poison("next segment", err) // an error is in Err, where everybody looks for it
	}
}

// chunkRest is how long the making of a segment rests between two chunks. The
// commit beside a chunk takes several times as long as others; back to back, a
// hundredth of a lone client's commits would.
const chunkRest = 8 * time.Millisecond

// unhurried is closing for one who fills a segment with time to spare.
func (l *Log) unhurried() (stopped func() bool) {
	chunks := 0
	return func() bool {
		if chunks++; chunks > 1 && !l.hurried() {
			time.Sleep(chunkRest)
		}
		return l.closing()
	}
}

// hurried tells whether the next segment may soon be needed, or is already.
func (l *Log) hurried() bool {
	return l.o.Inline || l.busy.wait.Load() != 0 || l.room.live.Load() < l.room.capacity.Load()/2
}

// tryPrepare makes the next segment if there is none. An error is one that no
// further try can heal.
func (l *Log) tryPrepare() error {
	p := &l.prep
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.after == nil || p.next != nil || p.making || p.stopping || l.Err() != nil {
		return nil
	}
	failedBefore := p.err != nil
	err := l.makeNext(l.unhurried())
	switch {
	case err == nil || errors.Is(err, errStopped):
		return nil
	case !retryable(err):
		return err
	case !failedBefore:
		l.logf("the next segment of the log could not be prepared, what grows is refused: %v", err)
	}
	return nil
}
