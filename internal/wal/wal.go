// Package wal is the write-ahead log: frames, segments, group commit, reader.
package wal

import "github.com/hapaxkv/hapax/internal/vfs"

// LSN counts records from 1 without gaps (I7). 0 is "nothing yet".
type LSN uint64

// Policy is appendfsync.
type Policy uint8

const (
	Always Policy = iota
	EverySec
	Never
)

// Options configures Open.
type Options struct {
	FS           vfs.FS
	Dir          string // holds the segments; created when missing
	SegmentBytes int64  // 0 for the default
	Policy       Policy
	Logf         func(format string, args ...any) // nil discards
}

// Report says what Open found; every start logs it.
type Report struct {
	Segments          int
	FirstLSN, LastLSN LSN
	Records, Frames   int64
	LastT             int64  // greatest T of any frame, Unix milliseconds
	CutBytes          int64  // torn tail removed
	CutSavedAs        string // where the cut bytes were copied, "" when none
}

// Log is an open log. Lock, Unlock, Next, Done, Last and LastT are the append
// side (callers hold shard locks first, I6); the rest is the commit side.
type Log struct{}

// Open replays every record in LSN order to apply, then makes the log ready
// for appending. payload is borrowed. progress (may be nil) is called now and
// then with bytes read and bytes in all.
func Open(o Options, apply func(lsn LSN, tMilli int64, payload []byte) error, progress func(done, total int64)) (*Log, Report, error) {
	panic("unwritten")
}

// Lock begins a run of records that one frame will hold whole. Short.
func (l *Log) Lock() { panic("unwritten") }

// Unlock ends the run.
func (l *Log) Unlock() { panic("unwritten") }

// Next opens a record in the current frame and returns the buffer to append
// its payload to. The caller holds Lock and hands the grown buffer to Done.
func (l *Log) Next(tMilli int64) []byte { panic("unwritten") }

// Done closes the record and returns its LSN.
func (l *Log) Done(buf []byte) LSN { panic("unwritten") }

// Last is the LSN of the last appended record; LastT the T it carried. Atomic.
func (l *Log) Last() LSN    { panic("unwritten") }
func (l *Log) LastT() int64 { panic("unwritten") }

// Durable is the greatest LSN that is durable under the policy: synced for
// Always, written to the kernel for EverySec and Never. Atomic.
func (l *Log) Durable() LSN { panic("unwritten") }

// Synced is the greatest LSN that is synced, whatever the policy (WAITAOF).
func (l *Log) Synced() LSN { panic("unwritten") }

// Commit makes everything up to lsn durable in the calling goroutine. The
// first to arrive writes and syncs for all (leader), the others wait for it
// and return without a sync of their own when theirs was covered.
func (l *Log) Commit(lsn LSN) error { panic("unwritten") }

// Kick asks the syncer goroutine for a Commit of everything appended so far
// and returns at once; notify functions are called after it.
func (l *Log) Kick() { panic("unwritten") }

// OnDurable registers f to be called (from the syncer) whenever Durable or
// Synced advanced there, or the log failed. f must not block.
func (l *Log) OnDurable(f func()) { panic("unwritten") }

// SyncLatencyMicro is a moving average of write+sync time.
func (l *Log) SyncLatencyMicro() int64 { panic("unwritten") }

// SetPolicy changes appendfsync at run time.
func (l *Log) SetPolicy(p Policy) { panic("unwritten") }

// Stats is for INFO.
type Stats struct {
	SizeBytes, BufferBytes int64
	Syncs, SyncedRecords   int64
	Frames, Segments       int64
	LastSyncMicro          int64
}

// Stats returns a snapshot. Safe from any goroutine.
func (l *Log) Stats() Stats { panic("unwritten") }

// Err is the failure that poisoned the log, or nil (I8). Atomic.
func (l *Log) Err() error { panic("unwritten") }

// Close commits and syncs what is appended, then closes the files.
func (l *Log) Close() error { panic("unwritten") }
