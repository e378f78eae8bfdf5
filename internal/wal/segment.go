package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/hapaxkv/hapax/internal/vfs"
)

const (
	segmentPrefix = "wal-"
	segmentSuffix = ".seg"

	// firstSegmentBytes keeps a start and a small server cheap: each segment
	// may be four times the one before until SegmentBytes is reached.
	firstSegmentBytes = 1 << 20
	segmentGrowth     = 4

	// zeroChunkBytes is how much of a new segment is written between syncs:
	// one sync of all of it would stall the commits beside it.
	zeroChunkBytes = 1 << 20
)

var zeros [zeroChunkBytes]byte

// errStopped ends the making of a segment when the log is closed.
var errStopped = errors.New("log is closing")

// segment is a segment file that is open.
type segment struct {
	header segmentHeader
	name   string // in the log's directory
	file   vfs.File

	// direct is the same file for direct writes, once there was one; notDirect
	// says that it cannot be. For the leader.
	direct    vfs.DirectFile
	notDirect bool
}

func (s *segment) close() error {
	err := s.file.Close()
	if s.direct != nil {
		err = errors.Join(err, s.direct.Close())
	}
	return err
}

func segmentName(seq uint64) string {
	return fmt.Sprintf("%s%016x%s", segmentPrefix, seq, segmentSuffix)
}

// parseSegmentName is false for names that are no segment's. A name that looks
// like one but was not made by segmentName has seq 0.
func parseSegmentName(name string) (seq uint64, ok bool) {
	middle, ok := strings.CutPrefix(name, segmentPrefix)
	if !ok {
		return 0, false
	}
	middle, ok = strings.CutSuffix(middle, segmentSuffix)
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(middle, 16, 64)
	if err != nil || segmentName(seq) != name {
		return 0, true
	}
	return seq, true
}

// systemSalt is the default Options.Salt.
func systemSalt() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return binary.LittleEndian.Uint64(b[:])
}

// salt is never 0, so that it never looks like space not written to.
func (o *Options) salt() uint64 {
	for {
		if s := o.Salt(); s != 0 {
			return s
		}
	}
}

func (o *Options) path(name string) string { return path.Join(o.Dir, name) }

// makeSegment creates the file that h describes, filled with zeros, durable
// with its name, and opens it. content, if any, goes between header and zeros.
func (o *Options) makeSegment(h segmentHeader, content func(w *chunkWriter) error, stopped func() bool) (*segment, error) {
	s := &segment{header: h, name: segmentName(h.seq)}
	err := vfs.Replace(o.FS, o.path(s.name), func(f vfs.File) error {
		w := &chunkWriter{f: f}
		if err := w.write(h.encode()); err != nil {
			return err
		}
		if content != nil {
			if err := content(w); err != nil {
				return err
			}
		}
		return w.zeroTo(int64(h.sizeBytes), stopped)
	})
	if err != nil {
		return nil, err
	}
	s.file, err = o.FS.Open(o.path(s.name))
	return s, err
}

// chunkWriter appends to a new file in chunks.
type chunkWriter struct {
	f       vfs.File
	off     int64
	pending []byte
}

func (w *chunkWriter) write(b []byte) error {
	w.pending = append(w.pending, b...)
	if len(w.pending) < zeroChunkBytes {
		return nil
	}
	return w.flush()
}

func (w *chunkWriter) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.f.WriteAt(w.pending, w.off)
	w.off += int64(len(w.pending))
	w.pending = w.pending[:0]
	return err
}

// zeroTo fills the file with zeros up to end and syncs chunk by chunk; the
// last sync is Replace's.
func (w *chunkWriter) zeroTo(end int64, stopped func() bool) error {
	if err := w.flush(); err != nil {
		return err
	}
	for w.off < end {
		if stopped() {
			return errStopped
		}
		n := min(end-w.off, zeroChunkBytes)
		if _, err := w.f.WriteAt(zeros[:n], w.off); err != nil {
			return err
		}
		w.off += n
		if w.off < end {
			if err := w.f.Sync(); err != nil {
				return err
			}
		}
	}
	return nil
}
