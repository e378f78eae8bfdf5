package engine

import (
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

// SnapshotName is the name of snapshot id in SnapshotDir.
func SnapshotName(id uint64) string { panic("unwritten") }

// ReadManifest reads dir's manifest; nil without an error when there is none.
func ReadManifest(fsys vfs.FS, dir string) (*Manifest, error) { panic("unwritten") }

// Write replaces dir's manifest.
func (m *Manifest) Write(fsys vfs.FS, dir string) error { panic("unwritten") }
