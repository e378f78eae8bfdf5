package wal

import (
	"errors"
	"fmt"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// A full disk must show before a record is appended, not when its frame is
// written: then it would be too late to refuse it, and the log would fail.
//
// What is sure to be written is what fits in space that was filled with zeros
// before: the rest of the live segment, and the prepared one whole. Whoever is
// about to append asks first:
//
//   - MayGrow, for what can be refused. It says no as soon as the next segment
//     could not be made, and it waits for one rather than begin on the last
//     part of a segment behind which there is none. So that part, the reserve,
//     is whole when the disk turns out to be full.
//   - MayAppend, for deletes and for what happens by itself. It says no when
//     the reserve is used up too.
//
// Both take the size of what will be appended, because a batch is written as
// one frame, and a frame is in one segment. For a batch larger than the
// prepared one, that is enlarged.

const (
	// reserveBytes is the reserve of segments of full size; smaller ones keep
	// a quarter of the room they had when they became the live one.
	reserveBytes = 16 << 20

	// spareBytes are for an end frame and a seal.
	spareBytes = 2 * controlFrameBytes
)

// SpaceError says why something may not be appended. Unwrap is what the file
// system said.
type SpaceError struct {
	Exhausted bool // the reserve is used up too
	Err       error
}

// Error implements error.
func (e *SpaceError) Error() string {
	if e.Exhausted {
		return fmt.Sprintf("the log has no room, its reserve is used up: %v", e.Err)
	}
	return fmt.Sprintf("the log cannot grow: %v", e.Err)
}

// Unwrap gives the cause.
func (e *SpaceError) Unwrap() error { return e.Err }

// roomLeft stores what is left of s behind end. The leader and recovery call it.
func (l *Log) roomLeft(s *segment, end int64) {
	l.room.used.Store(end - segmentHeaderBytes)
	l.room.live.Store(max(int64(s.header.sizeBytes)-end-spareBytes, 0))
}

// frameRoom is how many bytes of records fit in an empty segment of this size.
func frameRoom(sizeBytes uint64) int64 {
	return int64(sizeBytes) - segmentHeaderBytes - frameHeaderBytes - spareBytes
}

// reserve is how much of the live segment growth leaves alone.
func (l *Log) reserve() int64 { return min(l.room.capacity.Load()/4, reserveBytes) }

// ReserveBytes is what is left of the segment in use.
func (l *Log) ReserveBytes() int64 { return l.room.live.Load() }

// SpaceErr tells why the next segment could not be prepared, or nil.
func (l *Log) SpaceErr() error {
	l.prep.mu.Lock()
	defer l.prep.mu.Unlock()
	return l.prep.err
}

// MayGrow tells whether a write that can be refused may append sizeBytes, all
// its records with 16 bytes more for each. It returns a SpaceError while the
// log cannot grow; that ends when a segment can be made again. It may wait for
// a segment that is being made, or make one. Not between Lock and Unlock.
//
// The answer holds for one who asks, then appends. Others who do so at the
// same time share the reserve.
func (l *Log) MayGrow(sizeBytes int64) error { return l.ask(sizeBytes, true) }

// MayAppend tells the same for what has to go on while the log cannot grow:
// it may use the reserve.
func (l *Log) MayAppend(sizeBytes int64) error { return l.ask(sizeBytes, false) }

func (l *Log) ask(sizeBytes int64, grow bool) error {
	// As a rule it fits in the live segment. Only the locks that follow here
	// cost something.
	need := l.BufferBytes() + sizeBytes + 2*frameHeaderBytes
	if !l.prep.failing.Load() && need <= l.room.live.Load()-l.reserve() && l.failed.Load() == nil {
		return nil
	}
	err, broken := l.askPreparer(sizeBytes, grow)
	if broken != nil {
		return l.poison("next segment", broken)
	}
	return err
}

// askPreparer returns the answer, or what breaks the log.
func (l *Log) askPreparer(sizeBytes int64, grow bool) (no, broken error) {
	p := &l.prep
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.o.Inline && p.err != nil && p.next == nil {
		// No ticker tries again. What may be tried once more is in p.err.
		if err := l.makeNext(l.closing); err != nil && !retryable(err) {
			return nil, err
		}
	}
	for l.Err() == nil && !p.stopping {
		need := l.BufferBytes() + sizeBytes + 2*frameHeaderBytes
		switch {
		case grow && p.err != nil:
			return &SpaceError{Err: p.err}, nil
		case l.fits(need, grow):
			return nil, nil
		case p.err != nil:
			return &SpaceError{Exhausted: true, Err: p.err}, nil
		case p.making || p.after == nil:
			l.waitForPreparer()
			continue
		}
		var err error
		if p.next == nil {
			err = l.makeNext(l.closing)
		} else {
			err = l.enlargeNext(min(need+need/3+4, need+reserveBytes))
		}
		switch {
		case err == nil || errors.Is(err, errStopped):
		case !retryable(err):
			return nil, err
		default:
			return &SpaceError{Err: err}, nil
		}
	}
	return l.Err(), nil
}

// fits is called with prep.mu held.
func (l *Log) fits(need int64, grow bool) bool {
	live, ahead := l.room.live.Load(), l.prep.ahead
	if grow {
		live -= l.reserve()
		ahead -= min(ahead/4, reserveBytes)
	}
	return need <= max(live, ahead)
}

// enlargeNext gives the prepared segment room for a frame of roomBytes of
// records. The header on disk keeps the smaller size. Called and returns with
// prep.mu held, but lets go of it meanwhile.
func (l *Log) enlargeNext(roomBytes int64) error {
	p := &l.prep
	next := p.next
	had := int64(next.header.sizeBytes)
	size := had + roomBytes - frameRoom(next.header.sizeBytes)
	p.making = true
	p.mu.Unlock()
	w := &chunkWriter{f: next.file, off: had}
	err := w.zeroTo(size, l.closing)
	if err == nil {
		err = next.file.Sync()
	}
	if err != nil {
		_ = next.file.Truncate(had) // zeros do no harm, but take room
	}
	p.mu.Lock()
	p.making = false
	if err == nil {
		next.header.sizeBytes = uint64(size)
		p.ahead = frameRoom(next.header.sizeBytes)
	}
	p.idle.Broadcast()
	return err
}

// waitForPreparer waits until a segment was made, or is the live one. It is
// called and returns with prep.mu held.
func (l *Log) waitForPreparer() {
	l.busy.wait.CompareAndSwap(0, max(l.now(), 1))
	l.prep.idle.Wait()
	l.busy.wait.Store(0)
}

// closing is for makeNext.
func (l *Log) closing() bool {
	l.prep.mu.Lock()
	defer l.prep.mu.Unlock()
	return l.prep.stopping
}

// retryable tells whether making a segment may be tried again later: nothing
// of it was ever used, so that what failed is forgotten with the file. What
// says that the disk itself is broken ends the log (I8).
func retryable(err error) bool { return vfs.IsNoSpace(err) || vfs.IsBusy(err) }
