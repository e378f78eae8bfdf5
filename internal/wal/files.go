package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// segmentFile is a segment as recovery finds it.
type segmentFile struct {
	name   string
	file   vfs.File
	size   int64
	header segmentHeader

	// first is the LSN that the first frame begins with, 0 when no good frame
	// header stands at its place.
	first LSN
	// Of the good frames that were read.
	bytes           int64
	frames, records int64
}

// segmentFound is a name in the directory that is a segment's.
type segmentFound struct {
	name string
	seq  uint64
}

// listSegments sorts out the names in the directory. They are padded, so that
// sorted they are in order.
func (r *recovery) listSegments() ([]segmentFound, error) {
	names, err := r.o.FS.List(r.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("log directory: %w", err)
	}
	var found []segmentFound
	for _, name := range names {
		if strings.HasPrefix(name, segmentPrefix) && strings.HasSuffix(name, vfs.TempSuffix) {
			r.unfinished = append(r.unfinished, name)
			continue
		}
		seq, ok := parseSegmentName(name)
		switch {
		case !ok:
		case seq == 0:
			r.strange = append(r.strange, name)
		case seq < r.o.FirstSegment:
			r.obsolete = append(r.obsolete, seq)
		default:
			found = append(found, segmentFound{name, seq})
		}
	}
	r.report.Segments = len(found)
	return found, nil
}

// findSegments does step 1. It goes from the newest segment back to the one
// that holds the record before FirstLSN: older ones are not needed. That
// record is known to be on disk, so the first frame that is read is whole, or
// it is damage.
func (r *recovery) findSegments() error {
	found, err := r.listSegments()
	if err != nil {
		return err
	}
	if len(r.strange) > 0 {
		return &DamageError{Kind: DamageForeign, Dir: r.o.Dir, Segment: r.strange[0],
			Reason: "no segment has a name like this one"}
	}
	i := len(found)
	for i > 0 {
		i--
		file, err := r.openFile(found[i].name)
		if err != nil {
			return err
		}
		if file.first > 0 && file.first < r.o.FirstLSN {
			break
		}
	}
	slices.Reverse(r.files)
	for i := range r.files {
		if err := r.checkPlace(i); err != nil {
			return err
		}
		r.total += r.files[i].size
	}
	r.report.Skipped = i
	r.lookAtOlder(found[:i])
	return nil
}

// lookAtOlder learns where the segments begin that are not read. Whatever is
// wrong with one stops nobody: it is kept for the snapshot before the newest.
func (r *recovery) lookAtOlder(found []segmentFound) {
	for _, s := range found {
		start := segmentStart{seq: s.seq}
		older := &recovery{o: r.o}
		file, err := older.openFile(s.name)
		switch {
		case err != nil:
			r.o.Logf("a segment that is not needed now, but kept, cannot be read: %v", err)
		case file.header.seq != s.seq || file.header.logID != r.files[0].header.logID:
			r.o.Logf("%s is not needed now, but it does not belong to this log", r.o.path(s.name))
		default:
			start.first, start.bytes = file.first, file.size-segmentHeaderBytes
		}
		older.closeFiles()
		r.older = append(r.older, start)
	}
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

// openFile opens a segment, adds it to r.files, and checks its header.
func (r *recovery) openFile(name string) (*segmentFile, error) {
	f, err := r.o.FS.OpenRead(r.o.path(name))
	if err != nil {
		return nil, fmt.Errorf("log segment: %w", err)
	}
	file := &segmentFile{name: name, file: f}
	r.files = append(r.files, file)
	if file.size, err = f.Size(); err != nil {
		return nil, r.readError(file, 0, err)
	}
	// The header, and that of the first frame.
	head := make([]byte, min(segmentHeaderBytes+frameHeaderBytes, file.size))
	if len(head) > 0 {
		if _, err := f.ReadAt(head, 0); err != nil {
			return nil, r.readError(file, 0, err)
		}
	}
	file.header, err = decodeSegmentHeader(head)
	switch {
	case errors.Is(err, errNewVersion):
		return nil, r.damage(DamageVersion, file, 8, fmt.Sprintf("%v (%d, this one knows %d)",
			err, file.header.version, formatVersion))
	case errors.Is(err, errNoMagic):
		return nil, r.damage(DamageForeign, file, 0, err.Error())
	case err != nil:
		return nil, r.damage(DamageHeader, file, 0, err.Error())
	}
	if h, ok := decodeFrameHeader(head[segmentHeaderBytes:], file.header.salt); ok {
		file.first = h.firstLSN
	}
	return file, nil
}

// checkPlace compares the good header of file i with its name, its size and
// the segment before.
func (r *recovery) checkPlace(i int) error {
	file := r.files[i]
	h := &file.header
	seq, _ := parseSegmentName(file.name)
	if h.seq != seq {
		return r.damage(DamageForeign, file, 24, fmt.Sprintf("the file is segment %d by its header", h.seq))
	}
	if r.o.LogID != 0 && h.logID != r.o.LogID {
		return r.damage(DamageForeign, file, 16, fmt.Sprintf(
			"it belongs to log %016x, the one that should be here is %016x", h.logID, r.o.LogID))
	}
	if file.size < int64(h.sizeBytes) {
		return r.damage(DamageSize, file, file.size, fmt.Sprintf(
			"the file has %d bytes, it was made with %d", file.size, h.sizeBytes))
	}
	if i == 0 {
		if r.o.FirstLSN == 1 && seq != r.o.FirstSegment {
			return r.damage(DamageMissing, file, 0, fmt.Sprintf("it should be preceded by %s", segmentName(seq-1)))
		}
		return nil
	}
	before := r.files[i-1]
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
