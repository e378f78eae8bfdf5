package wal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// segmentFile is a segment as recovery finds it.
type segmentFile struct {
	name   string
	file   vfs.File
	size   int64
	header segmentHeader
}

// findSegments does step 1. Names are padded, so that sorted they are in
// order.
func (r *recovery) findSegments() error {
	names, err := r.o.FS.List(r.o.Dir)
	if err != nil {
		return fmt.Errorf("log directory: %w", err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, segmentPrefix) && strings.HasSuffix(name, vfs.TempSuffix) {
			r.unfinished = append(r.unfinished, name)
			continue
		}
		seq, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		if err := r.addFile(name, seq); err != nil {
			return err
		}
	}
	r.report.Segments = len(r.files)
	return nil
}

// removeUnfinished removes what never got its name, so that nothing in it was
// ever promised. A log that refuses to open keeps even that.
func (r *recovery) removeUnfinished() error {
	for _, name := range r.unfinished {
		if err := r.o.FS.Remove(r.o.path(name)); err != nil {
			return fmt.Errorf("log directory: %w", err)
		}
	}
	return nil
}

// addFile opens a segment and checks all that can be known without its frames.
func (r *recovery) addFile(name string, seq uint64) error {
	f, err := r.o.FS.Open(r.o.path(name))
	if err != nil {
		return fmt.Errorf("log segment: %w", err)
	}
	file := &segmentFile{name: name, file: f}
	r.files = append(r.files, file)
	if file.size, err = f.Size(); err != nil {
		return r.readError(file, 0, err)
	}
	r.total += file.size
	head := make([]byte, min(segmentHeaderBytes, file.size))
	if len(head) > 0 {
		if _, err := f.ReadAt(head, 0); err != nil {
			return r.readError(file, 0, err)
		}
	}
	file.header, err = decodeSegmentHeader(head)
	switch {
	case errors.Is(err, errNewVersion):
		return r.damage(DamageVersion, file, 8, fmt.Sprintf("%v (%d, this one knows %d)",
			err, file.header.version, formatVersion))
	case errors.Is(err, errNoMagic):
		return r.damage(DamageForeign, file, 0, err.Error())
	case err != nil:
		return r.damage(DamageHeader, file, 0, err.Error())
	}
	return r.checkPlace(file, seq)
}

// checkPlace compares a good header with the file's name, its size and the
// segment before.
func (r *recovery) checkPlace(file *segmentFile, seq uint64) error {
	h := &file.header
	if h.seq != seq {
		return r.damage(DamageForeign, file, 24, fmt.Sprintf("the file is segment %d by its header", h.seq))
	}
	if file.size < int64(h.sizeBytes) {
		return r.damage(DamageSize, file, file.size, fmt.Sprintf(
			"the file has %d bytes, it was made with %d", file.size, h.sizeBytes))
	}
	n := len(r.files)
	if n == 1 {
		if r.o.FirstLSN == 1 && seq != 1 {
			return r.damage(DamageMissing, file, 0, fmt.Sprintf("it should be preceded by %s", segmentName(seq-1)))
		}
		return nil
	}
	before := r.files[n-2]
	if h.logID != before.header.logID {
		return r.damage(DamageForeign, file, 16, fmt.Sprintf("it belongs to another log than %s", before.name))
	}
	if seq != before.header.seq+1 {
		return r.damage(DamageMissing, file, 0, fmt.Sprintf("%s should come before it, not %s",
			segmentName(seq-1), before.name))
	}
	return nil
}

// findTail does step 2.
func (r *recovery) findTail() error {
	for i := len(r.files) - 1; i >= 0; i-- {
		file := r.files[i]
		last, err := lastNonZero(file.file, segmentHeaderBytes, file.size)
		if err != nil {
			return r.readError(file, segmentHeaderBytes, err)
		}
		if last >= segmentHeaderBytes {
			r.tail = i
			return nil
		}
	}
	return nil
}

// lastNonZero is the offset of the last byte in [from, size) that is not zero,
// -1 for none.
func lastNonZero(file vfs.File, from, size int64) (int64, error) {
	last := int64(-1)
	err := scanFile(file, from, size, 0, func(at int64, chunk []byte) bool {
		if n := trimZeros(chunk); n > 0 {
			last = at + int64(n) - 1
		}
		return true
	})
	return last, err
}

// trimZeros is the length of b without the zeros at its end.
func trimZeros(b []byte) int {
	n := len(b)
	for n >= 8 && b[n-1]|b[n-2]|b[n-3]|b[n-4]|b[n-5]|b[n-6]|b[n-7]|b[n-8] == 0 {
		n -= 8
	}
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return n
}
