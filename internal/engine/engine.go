// Package engine opens, recovers and closes the durable store: one keyspace,
// one log, one clock, one directory that only one process may hold.
//
// What it promises: after Recover returned nil the store holds exactly what
// the log holds, T is at least the greatest T the log carried (I10), and every
// further transaction appends to that log. A damaged log makes Recover fail
// and changes nothing but a provably torn tail (I9).
//
// What it assumes: nobody reads or writes the store before Recover returned.
// It never answers a client and never decides when to sync.
//
// Files, all below Options.Dir:
//
//	hapax.lock   held while open; its content means nothing
//	wal/         the segments, see docs/format/wal.md
package engine

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync/atomic"
	"time"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	lockName = "hapax.lock"
	walName  = "wal"
)

// ErrInUse says that another process holds the directory.
var ErrInUse = errors.New("directory is in use by another server")

// ErrStopped says that StopRecovery ended a recovery before its end.
var ErrStopped = errors.New("stopped before the log was read to its end")

// Options configures Open. FS, Clock and Dir are required; FS and Dir are not
// touched when Log is false.
type Options struct {
	FS           vfs.FS
	Dir          string
	Log          bool // appendonly; false keeps nothing on disk
	Policy       wal.Policy
	SegmentBytes int64 // 0 for the log's default
	Shards       int
	Databases    int
	Clock        *clock.Clock
	Logf         func(format string, args ...any) // nil discards

	Rules CheckpointRules
	// SyncReport and SyncFatal bound how long one write or sync of the log may
	// take: then it is logged, or the process gives up (Fatal is called). 0
	// does neither.
	SyncReport, SyncFatal time.Duration
	// Fatal ends the process when a sync hangs: nothing else can. nil ignores.
	Fatal func(err error)
	// LoadWorkers is how many goroutines load a snapshot; 0 is one per
	// processor.
	LoadWorkers int
	// Inline starts no goroutines, see wal.Options.Inline. For simulation.
	Inline bool
	// Salt is wal.Options.Salt.
	Salt func() uint64
}

// Engine is one open store.
type Engine struct {
	Store *shard.Store
	Clock *clock.Clock

	opts     Options
	lock     io.Closer
	log      atomic.Pointer[wal.Log]
	memory   memoryLog
	stopTick func()      // set with log
	stopping atomic.Bool // StopRecovery was called
	loading  atomic.Bool
	done     atomic.Int64
	total    atomic.Int64
}

// Open locks Dir and makes an empty store. It returns before recovery, so
// that a server can answer LOADING meanwhile; Recover does the rest.
func Open(o Options) (*Engine, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	e := &Engine{
		Store: shard.NewStore(shard.Options{Shards: o.Shards, Databases: o.Databases}),
		Clock: o.Clock,
		opts:  o,
	}
	e.loading.Store(true)
	if !o.Log {
		return e, nil
	}
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return nil, fmt.Errorf("data directory %s: %w", o.Dir, err)
	}
	lock, err := o.FS.Lock(path.Join(o.Dir, lockName))
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("data directory %s: %w; stop it, or give this one another --dir", o.Dir, ErrInUse)
	}
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", o.Dir, err)
	}
	e.lock = lock
	return e, nil
}

// Log is nil when nothing is kept on disk, and until Recover returned.
func (e *Engine) Log() *wal.Log { return e.log.Load() }

// Loading is true until Recover returned nil. Progress counts bytes of the
// log; total is 0 until it is known. Both are safe from any goroutine.
func (e *Engine) Loading() bool { return e.loading.Load() }

// Progress tells how far Recover is, in bytes.
func (e *Engine) Progress() (done, total int64) { return e.done.Load(), e.total.Load() }

// Last is the LSN of the last record appended.
func (e *Engine) Last() wal.LSN {
	if l := e.log.Load(); l != nil {
		return l.Last()
	}
	return e.memory.Last()
}

// Durable is the greatest LSN whose replies may leave. Without a log nothing
// is promised, so everything appended counts.
func (e *Engine) Durable() wal.LSN {
	if l := e.log.Load(); l != nil {
		return l.Durable()
	}
	return e.memory.Last()
}

// Synced is the greatest LSN on stable storage; 0 without a log.
func (e *Engine) Synced() wal.LSN {
	if l := e.log.Load(); l != nil {
		return l.Synced()
	}
	return 0
}

// Err is what poisoned the log, or nil (I8).
func (e *Engine) Err() error {
	if l := e.log.Load(); l != nil {
		return l.Err()
	}
	return nil
}

// Close syncs the log, closes it and gives the directory and memory back. The
// caller has stopped every transaction before.
func (e *Engine) Close() error {
	var err error
	if l := e.log.Load(); l != nil {
		err = l.Close()
		e.stopTick()
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
		e.lock = nil
	}
	e.Store.Close()
	return err
}
