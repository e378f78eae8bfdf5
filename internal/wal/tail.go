package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// endOfTail does step 4: no whole frame begins at fr.offset of the tail.
//
// Zeros to the end of the file are a clean end. Anything else is a torn tail
// unless a later frame header is there that says the bytes here were synced
// when it was written, or they are not what a torn write leaves (torn.go).
// Under Always every later frame says so. Under EverySec and Never several
// frames may have been on their way when the power went, and the disk may have
// kept a later one and lost an earlier; then none of them was ever known to be
// synced, and all of it may go.
func (r *recovery) endOfTail(file *segmentFile, fr *frameReader) error {
	last, err := lastNonZero(file.file, fr.offset, file.size)
	if err != nil {
		return r.readError(file, fr.offset, err)
	}
	if last < fr.offset {
		return nil
	}
	proof, at, err := proofBehind(fr)
	if err != nil {
		return r.readError(file, fr.offset, err)
	}
	if at > 0 && proof.syncedFrame >= max(fr.want.frame, 1) {
		return r.damage(DamageFrame, file, fr.offset, fmt.Sprintf(
			"frame %d should be here and is not whole, but frame %d at offset %d proves that it was synced",
			fr.want.frame, proof.seq, at))
	}
	reason, err := notTorn(file, fr)
	if err != nil {
		return r.readError(file, fr.offset, err)
	}
	if reason != "" {
		return r.damage(DamageFrame, file, fr.offset, reason)
	}
	r.cutFrom, r.cutTo = fr.offset, last+1
	return nil
}

// lostEnd is for a segment before the tail whose frames stop being valid at
// fr.offset without an end frame. The end frame is synced before the first
// byte of the next segment is written. So when the frames stop cleanly, and
// the next segment is the last one written to and has no frame in it, then
// that one was only prepared, and what stands in it is the damage.
func (r *recovery) lostEnd(i int, fr *frameReader) error {
	file, next := r.files[i], r.files[i+1]
	last, err := lastNonZero(file.file, fr.offset, file.size)
	if err != nil {
		return r.readError(file, fr.offset, err)
	}
	if i+1 == r.tail && last < fr.offset {
		first, err := rubbishInPrepared(next)
		if err != nil {
			return r.readError(next, segmentHeaderBytes, err)
		}
		if first > 0 {
			return r.damage(DamagePrepared, next, first, fmt.Sprintf(
				"something is written in a segment that was only prepared: no frame is in it, and %s was not ended",
				file.name))
		}
	}
	return r.damage(DamageFrame, file, fr.offset,
		"no whole frame is here, but the segment was synced to its end before the next one was begun")
}

// rubbishInPrepared is the offset of the first byte that is not zero in a file
// without any frame header; 0 when there is a header.
func rubbishInPrepared(file *segmentFile) (first int64, err error) {
	fr := frameReader{file: file.file, size: file.size, salt: file.header.salt, offset: segmentHeaderBytes - 1}
	_, at, err := proofBehind(&fr)
	if err != nil || at > 0 {
		return 0, err
	}
	err = scanFile(file.file, segmentHeaderBytes, file.size, 0, func(at int64, chunk []byte) bool {
		n := slices.IndexFunc(chunk, func(c byte) bool { return c != 0 })
		if n >= 0 {
			first = at + int64(n)
		}
		return n < 0
	})
	return first, err
}

// proofBehind looks behind fr.offset for the frame header that knows of the
// most synced frames; at is 0 when there is none. A header is enough: its own
// checksum and the segment's random salt say that the log wrote it, and a
// header that a value happens to carry is older than what is missing here.
func proofBehind(fr *frameReader) (proof frameHeader, at int64, err error) {
	var salt [8]byte
	binary.LittleEndian.PutUint64(salt[:], fr.salt)
	from := fr.offset + 1
	err = scanFile(fr.file, from, fr.size, frameHeaderBytes-1, func(chunkAt int64, chunk []byte) bool {
		for i := 0; ; i++ {
			n := bytes.Index(chunk[i:], salt[:])
			if n < 0 {
				return true
			}
			i += n
			h, ok := decodeFrameHeader(chunk[i:], fr.salt)
			if ok && h.seq > fr.want.frame && (at == 0 || h.syncedFrame > proof.syncedFrame) {
				proof, at = h, chunkAt+int64(i)
			}
		}
	})
	return proof, at, err
}

// settle does step 5 and returns what newLog goes on with.
func (r *recovery) settle() (live, next *segment, err error) {
	if r.tail < 0 {
		if err := r.o.FS.SyncDir(r.o.Dir); err != nil {
			return nil, nil, fmt.Errorf("log directory: %w", err)
		}
		return r.goOnIn(0)
	}
	if err := r.saveCut(); err != nil {
		return nil, nil, fmt.Errorf("saving the torn tail of the log: %w", err)
	}
	live, err = r.rewriteTail()
	if err != nil {
		return nil, nil, fmt.Errorf("rewriting the tail of the log: %w", err)
	}
	if !r.ended {
		return r.withNext(live, r.tail+1)
	}
	if err := live.file.Close(); err != nil {
		return nil, nil, fmt.Errorf("rewriting the tail of the log: %w", err)
	}
	return r.goOnIn(r.tail + 1)
}

// goOnIn makes file i, which is empty, the live segment.
func (r *recovery) goOnIn(i int) (live, next *segment, err error) {
	r.end, r.sealed = segmentHeaderBytes, r.tail < 0 // a log without frames has nothing to prove
	if live, err = r.reopen(i); err != nil {
		return nil, nil, err
	}
	return r.withNext(live, i+1)
}

// withNext adds file i as the prepared segment, if it is there.
func (r *recovery) withNext(live *segment, i int) (*segment, *segment, error) {
	if i >= len(r.files) {
		return live, nil, nil
	}
	next, err := r.reopen(i)
	if err != nil {
		_ = live.file.Close() // the error that counts is err
		return nil, nil, err
	}
	return live, next, nil
}

// checkSuccessors counts the empty segments behind the tail. One is prepared
// ahead of the live one; when the tail was ended, its successor may be live
// without a frame yet, with another prepared.
func (r *recovery) checkSuccessors() error {
	behind := len(r.files) - 1 - r.tail
	allowed := 1
	if r.ended || r.tail < 0 {
		allowed = 2
	}
	if behind <= allowed {
		return nil
	}
	lost := r.files[max(r.tail, 0)]
	return r.damage(DamageFrame, lost, max(r.end, segmentHeaderBytes), fmt.Sprintf(
		"the end of the segment is lost: there would be no %s without it", r.files[len(r.files)-1].name))
}

// reopen opens file i for appending.
func (r *recovery) reopen(i int) (*segment, error) {
	file := r.files[i]
	f, err := r.o.FS.Open(r.o.path(file.name))
	if err != nil {
		return nil, fmt.Errorf("log segment: %w", err)
	}
	return &segment{header: file.header, name: file.name, file: f}, nil
}

// saveCut copies what will be cut, under a name that was not there.
func (r *recovery) saveCut() error {
	if r.cutTo == 0 {
		return nil
	}
	file := r.files[r.tail]
	name, err := r.o.copyPart(file.file, r.cutFrom, r.cutTo, r.o.Dir, cutName(file.name, r.cutFrom))
	if err != nil {
		return err
	}
	r.report.CutBytes = r.cutTo - r.cutFrom
	r.report.CutSavedAs = r.o.path(name)
	return nil
}

func cutName(segment string, offset int64) string { return fmt.Sprintf("%s.cut-%d", segment, offset) }

// copyPart copies [from, to) of file to a new file in dir, durable, and returns
// its name: base, or base with a number behind it.
func (o *Options) copyPart(file vfs.File, from, to int64, dir, base string) (name string, err error) {
	names, err := o.FS.List(dir)
	if err != nil {
		return "", err
	}
	name = base
	for i := 1; slices.Contains(names, name); i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return name, vfs.Replace(o.FS, path.Join(dir, name), func(f vfs.File) error {
		w := &chunkWriter{f: f}
		var failed error
		err := scanFile(file, from, to, 0, func(_ int64, chunk []byte) bool {
			failed = w.write(chunk)
			return failed == nil
		})
		if err == nil {
			err = failed
		}
		if err == nil {
			err = w.flush()
		}
		return err
	})
}

// rewriteTail copies the good frames of the tail to a new file that takes its
// place.
func (r *recovery) rewriteTail() (*segment, error) {
	return r.rewrite(r.files[r.tail], segmentHeaderBytes, r.end, r.tailWant, r.ended)
}

// rewrite puts a new file in the place of a segment: its frames in [from, end),
// the first of which continues want, and room to go on unless the segment is
// ended. The frames are checked once more while they are copied.
func (r *recovery) rewrite(file *segmentFile, from, end int64, want position, ended bool) (*segment, error) {
	h := file.header
	newEnd := segmentHeaderBytes + end - from
	h.sizeBytes = uint64(newEnd)
	if !ended {
		// Little room: the whole of a large segment would have to be zeroed
		// before the start is done. The next one is being prepared meanwhile.
		room := min(r.o.SegmentBytes, newEnd+firstSegmentBytes)
		h.sizeBytes = uint64(max(room, newEnd+spareBytes))
	}
	content := func(w *chunkWriter) error {
		fr := frameReader{file: file.file, size: end, salt: h.salt, offset: from, want: want}
		for fr.offset < end {
			f, err := fr.next()
			if err != nil {
				return r.readError(file, fr.offset, err)
			}
			if err := w.write(f.raw); err != nil {
				return err
			}
		}
		return nil
	}
	return r.o.makeSegment(h, content, func() bool { return false })
}
