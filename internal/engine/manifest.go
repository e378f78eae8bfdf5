package engine

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// ManifestName is the file, below the data directory, that names what belongs
// to the store. It is replaced as a whole; docs/format/manifest.md has its lines.
const ManifestName = "MANIFEST"

// SnapshotDir holds the snapshots, WALDir the log.
const (
	SnapshotDir = "snapshot"
	WALDir      = walName
)

const (
	manifestVersion = 1
	// maxManifestBytes is far more than a manifest can have; a larger file is
	// not read.
	maxManifestBytes = 4096
	maxSnapshots     = 2
)

// Manifest is what the next start needs to know, and what proves that nothing
// is missing.
type Manifest struct {
	LogID        uint64  // 0: no log was begun yet
	FirstSegment uint64  // the oldest segment that is needed, 1 or more
	ReachLSN     wal.LSN // the log was synced up to here
	ReachT       int64   // and T was at least this
	Snapshots    []SnapshotRef
}

// SnapshotRef names one snapshot. Newest first; the second is kept until the
// first is replaced.
type SnapshotRef struct {
	ID        uint64
	LastLSN   wal.LSN
	SizeBytes int64
}

// ManifestError says why a manifest is refused.
type ManifestError struct {
	File   string
	Line   int // from 1; 0 is the whole file
	Reason string
	Newer  bool // written by a newer version
}

// Error implements error.
func (e *ManifestError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s, line %d", e.File, e.Line)
	}
	if e.Newer {
		return fmt.Sprintf("%s: %s. Nothing was changed. To go on, start the newer Hapax that wrote it", where, e.Reason)
	}
	return fmt.Sprintf("%s: %s. Nothing was changed. To go on, put the file back from a backup of the whole directory, "+
		"or copy the directory and try hapax-server repair", where, e.Reason)
}

// SnapshotName is the name of snapshot id in SnapshotDir.
func SnapshotName(id uint64) string {
	return fmt.Sprintf("%s%016x%s", snapshotPrefix, id, snapshotSuffix)
}

const (
	snapshotPrefix = "snap-"
	snapshotSuffix = ".hsnap"
	badSuffix      = ".bad" // of a snapshot that could not be loaded
)

// parseSnapshotName is the number in the name of a snapshot, or of what was to
// become one or was one (rest is then the end of the name).
func parseSnapshotName(name string) (id uint64, rest string, ok bool) {
	after, found := strings.CutPrefix(name, snapshotPrefix)
	if !found || len(after) < 16 {
		return 0, "", false
	}
	if _, err := fmt.Sscanf(after[:16], "%016x", &id); err != nil {
		return 0, "", false
	}
	rest, found = strings.CutPrefix(name, SnapshotName(id))
	return id, rest, found
}

// ReadManifest reads dir's manifest; nil without an error when there is none.
func ReadManifest(fsys vfs.FS, dir string) (*Manifest, error) {
	name := path.Join(dir, ManifestName)
	f, err := fsys.OpenRead(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	text, err := readSmall(f, name)
	if closed := f.Close(); err == nil && closed != nil {
		err = fmt.Errorf("manifest: %w", closed)
	}
	if err != nil {
		return nil, err
	}
	m, line, err := parseManifest(string(text))
	if err != nil {
		return nil, &ManifestError{File: name, Line: line, Reason: err.Error(), Newer: errors.Is(err, errNewerManifest)}
	}
	return m, nil
}

func readSmall(f vfs.File, name string) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if size > maxManifestBytes {
		return nil, &ManifestError{File: name, Reason: fmt.Sprintf("it has %d bytes, a manifest has at most %d", size, maxManifestBytes)}
	}
	text := make([]byte, size)
	if size > 0 {
		if _, err := f.ReadAt(text, 0); err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
	}
	return text, nil
}

var (
	errNewerManifest = errors.New("it was written by a newer version of Hapax")
	castagnoli       = crc32.MakeTable(crc32.Castagnoli)
)

// encode is the one text of m: what parseManifest takes, encode gives back.
func (m *Manifest) encode() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hapax-manifest %d\n", manifestVersion)
	fmt.Fprintf(&b, "log-id %016x\n", m.LogID)
	fmt.Fprintf(&b, "first-segment %d\n", m.FirstSegment)
	fmt.Fprintf(&b, "reach-lsn %d\n", m.ReachLSN)
	fmt.Fprintf(&b, "reach-t %d\n", m.ReachT)
	for _, s := range m.Snapshots {
		fmt.Fprintf(&b, "snapshot %d %d %d\n", s.ID, s.LastLSN, s.SizeBytes)
	}
	fmt.Fprintf(&b, "crc32c %08x\n", crc32.Checksum([]byte(b.String()), castagnoli))
	return b.String()
}

// parseManifest reads one, and says in which line it fails. The version comes
// before the checksum, so that a newer one is called that and not damaged.
func parseManifest(text string) (m *Manifest, line int, err error) {
	lines := strings.SplitAfter(text, "\n")
	version := 0
	if n, _ := fmt.Sscanf(lines[0], "hapax-manifest %d\n", &version); n != 1 {
		return nil, 1, errors.New("this is no manifest of Hapax")
	}
	if version > manifestVersion {
		return nil, 1, fmt.Errorf("%w (format %d, this one knows %d)", errNewerManifest, version, manifestVersion)
	}
	if lines[len(lines)-1] != "" || len(lines) < 7 {
		return nil, len(lines), errors.New("its end is missing")
	}
	lines = lines[:len(lines)-1]
	m = &Manifest{}
	fields := []struct {
		format string
		to     any
	}{
		{"log-id %x\n", &m.LogID},
		{"first-segment %d\n", &m.FirstSegment},
		{"reach-lsn %d\n", (*uint64)(&m.ReachLSN)},
		{"reach-t %d\n", &m.ReachT},
	}
	for i, f := range fields {
		if n, _ := fmt.Sscanf(lines[1+i], f.format, f.to); n != 1 {
			return nil, 2 + i, fmt.Errorf("%q is not what belongs here", strings.TrimSpace(lines[1+i]))
		}
	}
	for i, l := range lines[1+len(fields) : len(lines)-1] {
		var s SnapshotRef
		if n, _ := fmt.Sscanf(l, "snapshot %d %d %d\n", &s.ID, (*uint64)(&s.LastLSN), &s.SizeBytes); n != 3 {
			return nil, 2 + len(fields) + i, fmt.Errorf("%q is not what belongs here", strings.TrimSpace(l))
		}
		m.Snapshots = append(m.Snapshots, s)
	}
	// Every byte counts: the checksum, and the one way to write each number.
	if m.encode() != text {
		return nil, len(lines), errors.New("the checksum does not fit")
	}
	return m, 0, m.check()
}

// check refuses what no engine writes, whatever the checksum says.
func (m *Manifest) check() error {
	if m.FirstSegment == 0 {
		return errors.New("segments are counted from 1")
	}
	if len(m.Snapshots) > maxSnapshots {
		return fmt.Errorf("it names %d snapshots, at most %d are kept", len(m.Snapshots), maxSnapshots)
	}
	for i, s := range m.Snapshots {
		if s.ID == 0 {
			return errors.New("snapshots are counted from 1")
		}
		if i > 0 && (s.ID >= m.Snapshots[i-1].ID || s.LastLSN > m.Snapshots[i-1].LastLSN) {
			return errors.New("the newer snapshot comes first")
		}
	}
	return nil
}

// Write replaces dir's manifest. When it fails, the old one may still be
// there or the new one already: both have to be true of what is in dir.
func (m *Manifest) Write(fsys vfs.FS, dir string) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	name := path.Join(dir, ManifestName)
	temp := name + vfs.TempSuffix
	if err := writeText(fsys, temp, m.encode()); err != nil {
		_ = fsys.Remove(temp) // nobody reads it; the error that counts is err
		return fmt.Errorf("manifest: %w", err)
	}
	if err := fsys.Rename(temp, name); err != nil {
		if !noSpace(err) {
			return &UncertainError{fmt.Errorf("manifest: %w", err)}
		}
		_ = fsys.Remove(temp) // likewise
		return fmt.Errorf("manifest: %w", err)
	}
	if err := fsys.SyncDir(dir); err != nil {
		return &UncertainError{fmt.Errorf("manifest: %w", err)}
	}
	return nil
}

func writeText(fsys vfs.FS, name, text string) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), 0)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// UncertainError wraps the failure of a rename or of a directory's sync: which
// manifest the next start finds is not known. A full disk is not among them
// when it stops the rename, which then changed nothing.
type UncertainError struct{ Err error }

// Error implements error.
func (e *UncertainError) Error() string { return e.Err.Error() }

// Unwrap implements errors' convention.
func (e *UncertainError) Unwrap() error { return e.Err }

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
