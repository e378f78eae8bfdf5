package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// For a store that has no open log.

// Segments is the numbers of the segments in dir, ascending, whatever is in
// them; none when there is no dir. A file whose name only looks like a
// segment's is left to Open and Inspect, which refuse it.
func Segments(fsys vfs.FS, dir string) ([]uint64, error) {
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("log directory: %w", err)
	}
	var found []uint64
	for _, name := range names {
		if seq, ok := parseSegmentName(name); ok && seq > 0 {
			found = append(found, seq)
		}
	}
	return found, nil
}

// RemoveSegments removes the segments below seq from dir, oldest first, of a
// log that is not open. Whoever calls it has made durable that nobody needs
// them.
func RemoveSegments(fsys vfs.FS, dir string, seq uint64) (removed int, err error) {
	found, err := Segments(fsys, dir)
	if err != nil {
		return 0, err
	}
	for _, s := range found {
		if s >= seq {
			break
		}
		name := path.Join(dir, segmentName(s))
		if err := fsys.Remove(name); err != nil {
			return removed, fmt.Errorf("removing %s: %w", name, err)
		}
		removed++
	}
	if removed == 0 {
		return 0, nil
	}
	if err := fsys.SyncDir(dir); err != nil {
		return removed, fmt.Errorf("removing segments of the log: %w", err)
	}
	return removed, nil
}
