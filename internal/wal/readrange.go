package wal

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// ReadRange hands the records from..to, which are written, of the log in dir
// to f, in order. The log may be in use: appended to, rotated, cut off at
// segments before the one that holds from. payload is borrowed.
//
// Whatever is wrong with a frame up to the one that holds record to is a
// DamageError; nothing behind that one is looked at.
func ReadRange(fsys vfs.FS, dir string, from, to LSN, f func(lsn LSN, tMilli int64, payload []byte) error) error {
	from = max(from, 1)
	if from > to {
		return nil
	}
	r := &rangeReader{from: from, to: to, f: f}
	r.o = Options{FS: fsys, Dir: dir}
	r.o.setDefaults()
	r.last = from - 1
	return r.run()
}

// rangeReader is one ReadRange.
type rangeReader struct {
	recovery // for its errors, and to open files
	from, to LSN
	f        func(lsn LSN, tMilli int64, payload []byte) error
}

func (r *rangeReader) run() error {
	found, err := r.listSegments()
	if err != nil {
		return err
	}
	start, err := r.start(found)
	if err != nil {
		return err
	}
	for seq := start; ; seq++ {
		done, err := r.segment(seq)
		if done || err != nil {
			return err
		}
	}
}

// start is the newest segment that begins with record from or before.
func (r *rangeReader) start(found []segmentFound) (uint64, error) {
	for _, s := range slices.Backward(found) {
		file, err := r.openFile(s.name)
		if err != nil {
			return 0, err
		}
		r.closeFiles()
		r.files = nil
		if file.first > 0 && file.first <= r.from {
			return s.seq, nil
		}
	}
	return 0, &DamageError{Kind: DamageMissing, Dir: r.o.Dir, Segment: segmentName(1), After: r.last,
		Reason: fmt.Sprintf("no segment holds record %d", r.from)}
}

// segment reads what is in the range of segment seq; done when that was the
// end of the range.
func (r *rangeReader) segment(seq uint64) (done bool, err error) {
	file, err := r.openFile(segmentName(seq))
	if err != nil {
		return false, err
	}
	defer func() {
		r.closeFiles()
		r.files = nil
	}()
	fr := frameReader{file: file.file, size: file.size, salt: file.header.salt,
		offset: segmentHeaderBytes, want: r.want}
	for {
		frame, err := fr.next()
		if chain := (*chainError)(nil); errors.As(err, &chain) {
			return false, r.damage(DamageChain, file, fr.offset, chain.reason)
		}
		if errors.Is(err, errNotAFrame) {
			return false, r.damage(DamageFrame, file, fr.offset, fmt.Sprintf(
				"no whole frame is here, but record %d was written behind it", r.to))
		}
		if err != nil {
			return false, r.readError(file, fr.offset, err)
		}
		done, err := r.frame(file, &frame)
		if done || err != nil {
			return done, err
		}
		if frame.control(frame.payload) == controlEnd {
			r.want = fr.want
			return false, nil
		}
	}
}

// frame hands on the records of fr that are in the range.
func (r *rangeReader) frame(file *segmentFile, fr *frame) (done bool, err error) {
	if fr.records == 0 || fr.firstLSN+LSN(fr.records) <= r.from {
		return false, nil
	}
	records := newRecordReader(&fr.frameHeader, fr.payload)
	for {
		lsn, t, payload, ok, err := records.next()
		if err != nil {
			return false, r.damage(DamageRecord, file, fr.offset, err.Error())
		}
		if !ok || lsn > r.to {
			return !ok && r.last == r.to || ok, nil
		}
		if lsn < r.from {
			continue
		}
		if err := r.f(lsn, t, payload); err != nil {
			return false, err
		}
		r.last = lsn
	}
}
