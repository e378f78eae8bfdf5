package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
)

// Segments go when a snapshot has taken their place. Which record each begins
// with is known from the start on (first frames) and kept up by rotation, so
// that nothing is read for it.

// segmentStart is what is remembered of a segment.
type segmentStart struct {
	seq   uint64
	first LSN   // the record that it begins with
	bytes int64 // of its frames; of the live one, see liveBytes
}

// keeper knows the segments that are there.
type keeper struct {
	mu     sync.Mutex
	starts []segmentStart // ascending; the last one is the live segment

	removing sync.Mutex // one RemoveBefore at a time; taken before mu
	obsolete []uint64   // files that Open did not look at
	unsynced bool       // a removal that no SyncDir has covered
}

// starts is what recovery learned of the segments up to the live one. Where a
// segment begins that could not be read is not known: it counts as holding
// nothing, so that rather one too many is kept.
func (r *recovery) starts(live *segment) []segmentStart {
	out := r.older
	for _, file := range r.files {
		if file.header.seq < live.header.seq {
			out = append(out, segmentStart{seq: file.header.seq, first: file.first, bytes: file.bytes})
		}
	}
	last := segmentStart{seq: live.header.seq, first: r.last + 1, bytes: r.end - segmentHeaderBytes}
	for _, file := range r.files {
		if file.header.seq == last.seq && file.frames > 0 {
			last.first = file.first
		}
	}
	out = append(out, last)
	for i := len(out) - 2; i >= 0; i-- {
		if out[i].first == 0 {
			out[i].first = out[i+1].first
		}
	}
	return out
}

// began notes that a segment is the live one now, which begins with first.
func (k *keeper) began(seq uint64, first LSN, beforeBytes int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starts[len(k.starts)-1].bytes = beforeBytes
	k.starts = append(k.starts, segmentStart{seq: seq, first: first})
}

// holding is the newest segment that begins with lsn or before, or the oldest.
func (k *keeper) holding(lsn LSN) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := len(k.starts) - 1; i > 0; i-- {
		if k.starts[i].first <= lsn {
			return k.starts[i].seq
		}
	}
	return k.starts[0].seq
}

// ID is the number that all segments of this log carry.
func (l *Log) ID() uint64 { return l.id }

// Sync makes everything appended so far durable on disk, whatever the policy,
// and returns when it is (or the log failed).
func (l *Log) Sync() error {
	if err := l.Commit(l.Last()); err != nil {
		return err
	}
	return l.syncWritten()
}

// SegmentFor is the oldest segment that has to stay so that a start can read
// on from record lsn. It holds the record before lsn, if one does, because
// that one is on disk: a segment whose first frame a power cut may still take
// away is no beginning. Give it as Options.FirstSegment with lsn as FirstLSN.
func (l *Log) SegmentFor(lsn LSN) uint64 {
	return l.keep.holding(min(max(lsn, 1)-1, l.Synced()))
}

// RemoveBefore removes segments below seq, oldest first, never one that is in
// use, never the newest that holds a synced record. What has been removed stays
// removed when it returns nil. Safe beside commits.
//
// Whoever calls it has made durable before that the next start gives seq or a
// later one as Options.FirstSegment: a crash may leave any of them.
func (l *Log) RemoveBefore(seq uint64) (removed int, err error) {
	k := &l.keep
	k.removing.Lock()
	defer k.removing.Unlock()
	for len(k.obsolete) > 0 && k.obsolete[0] < seq {
		if err := l.removeSegment(k.obsolete[0]); err != nil {
			return removed, err
		}
		k.obsolete = k.obsolete[1:]
		removed++
	}
	seq = min(seq, l.SegmentFor(math.MaxUint64))
	for {
		oldest := k.oldest()
		if oldest.seq >= seq {
			break
		}
		if err := l.removeSegment(oldest.seq); err != nil {
			return removed, err
		}
		k.forgetOldest()
		l.stats.sizeBytes.Add(-oldest.bytes)
		l.stats.segments.Add(-1)
		removed++
	}
	if !k.unsynced {
		return removed, nil
	}
	if err := l.o.FS.SyncDir(l.o.Dir); err != nil {
		return removed, fmt.Errorf("removing segments of the log: %w", err)
	}
	k.unsynced = false
	return removed, nil
}

// removeSegment is called with k.removing held.
func (l *Log) removeSegment(seq uint64) error {
	name := l.o.path(segmentName(seq))
	if err := l.o.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing %s: %w", name, err)
	}
	l.keep.unsynced = true
	return nil
}

func (k *keeper) oldest() segmentStart {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.starts[0]
}

func (k *keeper) forgetOldest() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.starts = k.starts[1:]
}

// BytesSince is about how much of the log the records from lsn on take: exact
// where a segment begins, within one in proportion to the records.
func (l *Log) BytesSince(lsn LSN) int64 {
	end := LSN(l.written.lsn.Load()) + 1
	k := &l.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	var sum int64
	for i := len(k.starts) - 1; i >= 0; i-- {
		s := k.starts[i]
		if i == len(k.starts)-1 {
			s.bytes = l.room.used.Load()
		}
		if s.first >= lsn {
			sum += s.bytes
			end = s.first
			continue
		}
		if lsn < end {
			sum += int64(float64(s.bytes) * float64(end-lsn) / float64(end-s.first))
		}
		break
	}
	return sum
}

// WritingSinceNano is when the write or sync that is under way, or the wait
// for a segment to go on in, began, on Options.MonoNano's clock; 0 when none
// is. Of several, the oldest. Safe from any goroutine.
func (l *Log) WritingSinceNano() int64 {
	var since int64
	for _, at := range []int64{l.busy.write.Load(), l.busy.sync.Load(), l.busy.wait.Load()} {
		if at != 0 && (since == 0 || at < since) {
			since = at
		}
	}
	return since
}
