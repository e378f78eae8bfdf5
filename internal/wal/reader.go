package wal

import (
	"errors"
	"fmt"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// readChunkBytes is how much is read at a time; a larger frame is read whole.
const readChunkBytes = 1 << 20

// errNotAFrame says that no whole frame begins here: the end, a torn tail or
// damage. Which one, the caller finds out.
var errNotAFrame = errors.New("no whole frame")

// chainError says that a good frame is not the one that belongs here.
type chainError struct{ reason string }

func (e *chainError) Error() string { return e.reason }

// frame is one frame as read; payload and raw are borrowed until the next.
type frame struct {
	frameHeader
	offset  int64
	raw     []byte
	payload []byte
}

// position is what the next frame must continue.
type position struct {
	frame uint64 // sequence of the next frame; 0 accepts any
	lsn   LSN    // of the next record; 0 accepts any
	crc   uint32 // of the frame before
}

// after is the position behind h.
func (h *frameHeader) after() position {
	return position{frame: h.seq + 1, lsn: h.firstLSN + LSN(h.records), crc: h.crc}
}

// check compares a good header with what must come here.
func (p position) check(h *frameHeader) error {
	switch {
	case p.frame == 0 && h.seq > 0 && h.firstLSN > 0:
		return nil
	case h.seq != p.frame:
		return &chainError{fmt.Sprintf("frame %d stands where frame %d belongs", h.seq, p.frame)}
	case h.firstLSN != p.lsn && p.lsn != 0 || h.firstLSN == 0:
		return &chainError{fmt.Sprintf("record %d stands where record %d belongs", h.firstLSN, p.lsn)}
	case h.prevCRC != p.crc:
		return &chainError{fmt.Sprintf("frame %d does not follow the frame before it", h.seq)}
	}
	return nil
}

// frameReader reads the frames of one segment in order. It trusts no length
// before it was checked against the file's size.
type frameReader struct {
	file   vfs.File
	size   int64
	salt   uint64
	offset int64 // of the next frame
	want   position

	buf   []byte // what was read, from file offset bufAt
	bufAt int64
}

// next reads the frame at offset and moves behind it. It does not move on any
// error: errNotAFrame, a chainError, or what the file system says.
func (r *frameReader) next() (frame, error) {
	left := r.size - r.offset
	if left < frameHeaderBytes {
		return frame{}, errNotAFrame
	}
	head, err := r.bytes(frameHeaderBytes)
	if err != nil {
		return frame{}, err
	}
	h, ok := decodeFrameHeader(head, r.salt)
	if !ok {
		return frame{}, errNotAFrame
	}
	if err := r.want.check(&h); err != nil {
		return frame{}, err
	}
	if h.payloadBytes > uint64(left-frameHeaderBytes) {
		return frame{}, errNotAFrame
	}
	raw, err := r.bytes(frameHeaderBytes + int64(h.payloadBytes))
	if err != nil {
		return frame{}, err
	}
	payload := raw[frameHeaderBytes:]
	if checksum(payload) != h.payloadCRC {
		return frame{}, errNotAFrame
	}
	f := frame{frameHeader: h, offset: r.offset, raw: raw, payload: payload}
	r.offset += int64(len(raw))
	r.want = h.after()
	return f, nil
}

// bytes returns the next n bytes, which the file has.
func (r *frameReader) bytes(n int64) ([]byte, error) {
	from := r.offset - r.bufAt
	if from >= 0 && from+n <= int64(len(r.buf)) {
		return r.buf[from : from+n], nil
	}
	want := min(max(n, readChunkBytes), r.size-r.offset)
	if int64(cap(r.buf)) < want {
		r.buf = make([]byte, want)
	}
	r.buf = r.buf[:want]
	if _, err := r.file.ReadAt(r.buf, r.offset); err != nil {
		r.buf = r.buf[:0]
		return nil, err
	}
	r.bufAt = r.offset
	return r.buf[:n], nil
}

// scanFile calls f with consecutive chunks of [from, size) of file until f
// returns false. Chunks overlap by overlap bytes.
func scanFile(file vfs.File, from, size int64, overlap int, f func(at int64, chunk []byte) bool) error {
	buf := make([]byte, min(readChunkBytes, max(size-from, 0)))
	for from < size {
		n := min(int64(len(buf)), size-from)
		if _, err := file.ReadAt(buf[:n], from); err != nil {
			return err
		}
		if !f(from, buf[:n]) || from+n == size {
			return nil
		}
		from += n - int64(overlap)
	}
	return nil
}
