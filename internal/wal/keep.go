package wal

import "github.com/hapaxkv/hapax/internal/vfs"

// ID is the number that all segments of this log carry.
func (l *Log) ID() uint64 { panic("unwritten") }

// Sync makes everything appended so far durable on disk, whatever the policy,
// and returns when it is (or the log failed).
func (l *Log) Sync() error { panic("unwritten") }

// SegmentFor is the sequence of the segment that holds record lsn, or will.
func (l *Log) SegmentFor(lsn LSN) uint64 { panic("unwritten") }

// RemoveBefore removes segments below seq, oldest first, never one that is in
// use, never the newest that holds a frame. What has been removed stays removed
// when it returns nil. Safe beside commits.
func (l *Log) RemoveBefore(seq uint64) (removed int, err error) { panic("unwritten") }

// WritingSinceNano is when the write or sync that is under way began, on
// Options.MonoNano's clock; 0 when none is. Safe from any goroutine.
func (l *Log) WritingSinceNano() int64 { panic("unwritten") }

// ReserveBytes is what is left of the segment in use.
func (l *Log) ReserveBytes() int64 { panic("unwritten") }

// ReadRange hands the records from..to, which are durable, of the log in dir to
// f, in order. The log may be in use. payload is borrowed.
func ReadRange(fsys vfs.FS, dir string, from, to LSN, f func(lsn LSN, tMilli int64, payload []byte) error) error {
	panic("unwritten")
}

// Found is where Inspect is.
type Found struct {
	Segment string // file name
	Offset  int64  // of the frame
	LSN     LSN    // of the record
	TMilli  int64
	Payload []byte // borrowed
}

// Inspect reads the log in o.Dir as Open does, and changes nothing: it makes
// the same checks and returns the same errors, except that a torn tail is only
// reported. visit gets every record from o.FirstLSN on.
func Inspect(o Options, visit func(f *Found) error, progress func(done, total int64)) (Report, error) {
	panic("unwritten")
}

// Repair makes a log that Open refuses readable again by cutting it at the
// first bad place. Everything it takes away is first copied into saveDir. It
// returns what the log was left with and what was lost. A log that Open
// accepts is left alone.
func Repair(o Options, saveDir string) (RepairReport, error) { panic("unwritten") }

// RepairReport tells what Repair did.
type RepairReport struct {
	Damage      *DamageError // what was wrong; nil when nothing was
	LastLSN     LSN          // the last record that is left
	LostRecords int64        // records behind it that could still be read; they are lost with the cut
	CutBytes    int64
	Saved       []string // files in saveDir
}
