// Package wal is the write-ahead log: frames, segments, group commit, reader.
// It knows no payload.
//
// What it promises: records are numbered from 1 without gaps (I7); when
// Commit(n) returned nil, every record up to n survives what the policy says
// it survives, and recovery yields it, in order, whole frames only. A failed
// write or sync ends the log for good (I8). Only a provably torn tail is ever
// cut, and a copy of it is kept; damage anywhere else refuses to open (I9).
//
// What it assumes: of the disk, that a sync that returned nil is true, that a
// sector of 512 bytes is written whole or not at all, that a write that fails
// or is killed part-way ends at one, and that rewriting a sector with the same
// bytes does not endanger them; of the file system, that direct writes and the
// kernel's memory show the same file. Of the caller, that it holds its shard's
// locks before Lock (I6) and never calls Commit between Lock and Unlock.
//
// What it never does: retry a sync, reorder records, wait for more work before
// it syncs, or read a clock: T comes with each record, durations come from
// Options.MonoNano.
//
// The bytes on disk and every crash case are in docs/format/wal.md; the steps
// of a commit are in commit.go, of recovery in recover.go.
package wal

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// LSN counts records from 1 without gaps (I7). 0 is "nothing yet".
type LSN uint64

// Policy is appendfsync: what Commit waits for.
type Policy uint8

const (
	// Always syncs before Commit returns: nothing acknowledged is lost.
	Always Policy = iota
	// EverySec writes before Commit returns and syncs at every Options.Tick:
	// a crash of the process loses nothing, a power cut what was written
	// since the last tick's sync began.
	EverySec
	// Never writes and leaves the syncing to the kernel, but for the end of a
	// segment and Close.
	Never
)

// DefaultSegmentBytes is how large segments grow to be.
const DefaultSegmentBytes = 64 << 20

// ErrClosed is what Commit returns after Close.
var ErrClosed = errors.New("log is closed")

// Options configures Open.
type Options struct {
	FS           vfs.FS
	Dir          string // holds the segments; created when missing
	SegmentBytes int64  // 0 for the default
	Policy       Policy
	Logf         func(format string, args ...any) // for warnings; nil discards
	Notef        func(format string, args ...any) // likewise, for what is good to know

	// FirstLSN is the record that the log must reach back to: one more than
	// what a snapshot holds. 0 is 1, a log that is complete by itself. Records
	// before it are not handed to apply, and segments that hold none from it
	// on are not read.
	FirstLSN LSN
	// FirstSegment is the oldest segment that anybody needs: files of older
	// ones are what an interrupted removal left. They are not looked at, and
	// stay until RemoveBefore. 0 is 1.
	FirstSegment uint64
	// LogID is the log that has to be here; 0 takes any.
	LogID uint64
	// ReachLSN is a record known to have been synced: a log that ends before
	// it has lost its end.
	ReachLSN LSN
	// MustExist makes it damage when there is no segment. Without it a log is
	// begun then, at segment FirstSegment and record FirstLSN.
	MustExist bool
	// Applied is called when apply has got the last record, before anything on
	// disk changes. An error refuses the log, as one of apply does: an apply
	// that works in the background waits here for its end.
	Applied func() error
	// Tick drives the background sync of EverySec, and sees to leftovers and
	// to a segment that could not be prepared. Without it EverySec syncs at
	// every Commit, so that it never promises less than it says.
	Tick <-chan time.Time
	// MonoNano measures how long syncs take. Without it latencies are 0.
	MonoNano func() int64
	// Salt yields the random numbers that mark a log and its segments; nil
	// takes the system's.
	Salt func() uint64
	// DirectIO writes frames past the kernel's memory (direct.go), where every
	// commit is synced and the file system can.
	DirectIO bool
	// Inline starts no goroutines: segments are prepared when they are needed,
	// and Kick commits, and prepares one, before it returns. For simulation.
	Inline bool
}

// Report says what Open found; every start logs it.
type Report struct {
	LogID             uint64
	Segments          int           // files, one prepared ahead included
	Skipped           int           // of them, older than anything that is needed
	Removed           int           // files before Options.FirstSegment
	FirstLSN, LastLSN LSN           // first record handed to apply, last one of the log
	Records, Frames   int64         // handed to apply; read
	LastT             int64         // greatest T of any frame, Unix milliseconds
	CutBytes          int64         // torn tail removed
	CutSavedAs        string        // where the cut bytes were copied, "" when none
	Files             []SegmentInfo // only from Inspect
}

// Log is an open log. Lock, Unlock, Next, Done, Last and LastT are the append
// side (callers hold shard locks first, I6); the rest is the commit side.
type Log struct {
	o      Options
	logf   func(format string, args ...any)
	now    func() int64
	policy atomic.Uint32

	id uint64

	// Append side.
	mu    sync.Mutex
	open  batch
	last  atomic.Uint64
	lastT atomic.Int64

	// Commit side. Locks are taken in the order syncMu, commitMu, mu; none is
	// held during a write, only syncMu during a sync.
	commitMu sync.Mutex
	leading  bool       // somebody writes; that goroutine owns w
	inFlight LSN        // what the leader's batch ends with
	covered  *sync.Cond // waiters whose records are in flight
	waiting  *sync.Cond // waiters whose records come after
	closed   bool
	w        writer

	durable atomic.Uint64
	written lsnAndFrame // what the kernel has; stored by the leader
	synced  lsnAndFrame // what is on disk; stored under syncMu

	syncMu sync.Mutex // one sync at a time, so that an error is not missed
	failed atomic.Pointer[failure]

	prep preparer
	keep keeper
	room roomCounters
	busy busySince

	notify atomic.Pointer[[]func()]
	kick   chan struct{}
	stop   chan struct{}
	done   sync.WaitGroup
	stats  counters
}

// lsnAndFrame is a position in both numberings. Its parts are loaded and
// stored one by one: each is true by itself.
type lsnAndFrame struct{ lsn, frame atomic.Uint64 }

// roomCounters describe the live segment; the leader stores them.
type roomCounters struct {
	live     atomic.Int64 // room for further frames
	capacity atomic.Int64 // what live was when it became the live segment
	used     atomic.Int64 // bytes of its frames
}

// busySince is when what is under way began, by MonoNano; 0 for nothing.
type busySince struct{ write, sync, wait atomic.Int64 }

type failure struct{ err error }

// counters feed Stats.
type counters struct {
	sizeBytes, frames, segments atomic.Int64
	syncs, syncedRecords        atomic.Int64
	lastSyncMicro, latencyNano  atomic.Int64
	inFlightBytes               atomic.Int64
	direct                      atomic.Int32
}

// Last is the LSN of the last record appended; LastT the T it carried. Atomic.
func (l *Log) Last() LSN { return LSN(l.last.Load()) }

// LastT is the greatest T appended or recovered; T in the log never decreases.
func (l *Log) LastT() int64 { return l.lastT.Load() }

// Durable is the greatest LSN that is durable under the policy: synced for
// Always, written to the kernel for EverySec and Never. Atomic.
func (l *Log) Durable() LSN { return LSN(l.durable.Load()) }

// Synced is the greatest LSN that is synced, whatever the policy (WAITAOF).
func (l *Log) Synced() LSN { return LSN(l.synced.lsn.Load()) }

// Policy is appendfsync as it is now.
func (l *Log) Policy() Policy { return Policy(l.policy.Load()) }

// SetPolicy changes appendfsync at run time. When it returns under Always,
// what was written before is synced too, or the log has failed.
func (l *Log) SetPolicy(p Policy) {
	l.policy.Store(uint32(p))
	if p == Always {
		// A failure is kept in Err, where everybody looks for it.
		_ = l.Commit(l.Last())
		_ = l.syncWritten()
	}
}

// Err is the failure that poisoned the log, or nil (I8). Atomic.
func (l *Log) Err() error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// poison ends the log (I8) and returns the error that did it first. Every
// waiter is released with it. Not with commitMu or prep.mu held.
func (l *Log) poison(doing string, err error) error {
	err = fmt.Errorf("log failed, nothing after record %d is durable: %s: %w", l.Durable(), doing, err)
	if l.failed.CompareAndSwap(nil, &failure{err}) {
		l.logf("%v", err)
	}
	l.commitMu.Lock()
	l.covered.Broadcast()
	l.waiting.Broadcast()
	l.commitMu.Unlock()
	l.prep.mu.Lock()
	l.prep.idle.Broadcast()
	l.prep.mu.Unlock()
	l.wakeNotifier()
	return l.Err()
}

// SyncLatencyMicro is a moving average of write+sync time.
func (l *Log) SyncLatencyMicro() int64 { return l.stats.latencyNano.Load() / 1000 }

// Stats is for INFO.
type Stats struct {
	SizeBytes, BufferBytes int64
	Syncs, SyncedRecords   int64
	Frames, Segments       int64
	LastSyncMicro          int64
}

// Stats returns a snapshot. Safe from any goroutine.
func (l *Log) Stats() Stats {
	return Stats{
		SizeBytes:     l.stats.sizeBytes.Load(),
		BufferBytes:   l.BufferBytes(),
		Syncs:         l.stats.syncs.Load(),
		SyncedRecords: l.stats.syncedRecords.Load(),
		Frames:        l.stats.frames.Load(),
		Segments:      l.stats.segments.Load(),
		LastSyncMicro: l.stats.lastSyncMicro.Load(),
	}
}

// BufferBytes is what was appended and is not yet written. Whoever appends
// without committing bounds it (I12).
func (l *Log) BufferBytes() int64 {
	l.mu.Lock()
	open := len(l.open.buf) - frameHeaderBytes
	l.mu.Unlock()
	return int64(open) + l.stats.inFlightBytes.Load()
}
