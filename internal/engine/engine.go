// Package engine opens, recovers, checkpoints and closes the durable store: one
// keyspace, one log, its snapshots, one clock, one directory that only one
// process may hold.
//
// What it promises: after Recover returned nil the store holds exactly what
// snapshot and log hold together, T is at least the greatest T that either
// carried (I10), and every further transaction appends to that log. Damage
// that would lose anything makes Recover fail and changes nothing but a
// provably torn tail (I9). A snapshot takes effect at one moment, when the
// manifest names it; nothing that the manifest before that one needs is
// removed until the new one is durable.
//
// What it assumes: nobody reads or writes the store before Recover returned,
// and nobody else writes below Options.Dir. It never answers a client and
// never decides when the log is synced.
//
// Files, all below Options.Dir:
//
//	hapax.lock   held while open; its content means nothing
//	MANIFEST     what belongs to the store, see docs/format/manifest.md
//	wal/         the segments, see docs/format/wal.md
//	snapshot/    the snapshots, see docs/format/snapshot.md
package engine

import (
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
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
var ErrStopped = errors.New("stopped before everything was loaded")

// Options configures Open. FS, Clock and Dir are required. When Log is false,
// FS and Dir are only read until the first snapshot, and may be missing.
type Options struct {
	FS           vfs.FS
	Dir          string
	Log          bool // appendonly; false keeps nothing on disk but snapshots that are asked for
	Policy       wal.Policy
	SegmentBytes int64 // 0 for the log's default
	DirectIO     bool  // wal.Options.DirectIO
	Shards       int
	Databases    int
	Clock        *clock.Clock
	Logf         func(format string, args ...any) // nil discards
	Warnf        func(format string, args ...any) // what somebody should look at; nil is Logf

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
	failed   atomic.Pointer[failure] // of the directory, see publish.go

	// Recovery's, then of the snapshot that runs, then Close's.
	manifest    Manifest // as it is on disk, or will be
	hasManifest bool
	bad         []string // snapshots that could not be loaded, see keepBad
	keepAll     bool     // remove nothing any more

	snap       snapshots
	watch      watchdog
	stopWatch  func()
	background sync.WaitGroup // the snapshot that runs, the watchdog
}

type failure struct{ err error }

// Open locks Dir and makes an empty store. It returns before recovery, so
// that a server can answer LOADING meanwhile; Recover does the rest. Without a
// log Dir is locked only when there is something in it to load.
func Open(o Options) (*Engine, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	if o.Warnf == nil {
		o.Warnf = o.Logf
	}
	e := &Engine{
		Store:    shard.NewStore(shard.Options{Shards: o.Shards, Databases: o.Databases}),
		Clock:    o.Clock,
		opts:     o,
		manifest: Manifest{FirstSegment: 1},
		watch:    watchdog{logf: o.Warnf, fatal: o.Fatal},
	}
	e.SetSyncBounds(o.SyncReport, o.SyncFatal)
	e.snap.rules = o.Rules
	e.snap.status.LastSaveMilli, e.snap.status.LastTookMilli = o.Clock.NowMilli(), -1
	e.loading.Store(true)
	if !o.Log {
		if o.FS == nil || o.Dir == "" {
			return e, nil
		}
		found, err := storeIn(o.FS, o.Dir)
		if err != nil {
			return nil, fmt.Errorf("data directory %s: %w", o.Dir, err)
		}
		if !found {
			return e, nil
		}
	}
	if err := e.claim(); err != nil {
		e.Store.Close()
		return nil, err
	}
	return e, nil
}

// claim makes Dir and locks it.
func (e *Engine) claim() error {
	o := &e.opts
	if err := o.FS.MkdirAll(o.Dir); err != nil {
		return fmt.Errorf("data directory %s: %w", o.Dir, err)
	}
	lock, err := o.FS.Lock(path.Join(o.Dir, lockName))
	if errors.Is(err, vfs.ErrLocked) {
		return fmt.Errorf("data directory %s: %w; stop it, or give this one another --dir", o.Dir, ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("data directory %s: %w", o.Dir, err)
	}
	e.lock = lock
	return nil
}

func (e *Engine) walDir() string      { return path.Join(e.opts.Dir, WALDir) }
func (e *Engine) snapshotDir() string { return path.Join(e.opts.Dir, SnapshotDir) }

// Log is nil when nothing is kept on disk, and until Recover returned.
func (e *Engine) Log() *wal.Log { return e.log.Load() }

// Loading is true until Recover returned nil. Progress counts bytes of
// snapshot and log; total is 0 until it is known, and grows when the snapshot
// is in and the log comes. Both are safe from any goroutine.
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

// Err is what poisoned the log or made the directory untrustworthy, or nil
// (I8).
func (e *Engine) Err() error {
	if f := e.failed.Load(); f != nil {
		return f.err
	}
	if l := e.log.Load(); l != nil {
		return l.Err()
	}
	return nil
}

// Close ends what runs in the background, syncs the log, closes it, notes in
// the manifest how far it reaches, and gives the directory and memory back.
// The caller has stopped every transaction before.
func (e *Engine) Close() error {
	e.stopBackground()
	var err error
	if l := e.log.Load(); l != nil {
		err = l.Close()
		e.stopTick()
		if err == nil && e.failed.Load() == nil {
			err = e.noteEnd(l)
		}
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
		e.lock = nil
	}
	e.Store.Close()
	return err
}

func (e *Engine) stopBackground() {
	s := &e.snap
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	e.CancelSnapshot()
	if e.stopWatch != nil {
		e.stopWatch()
		e.stopWatch = nil
	}
	e.background.Wait()
}

// noteEnd makes the manifest say that everything up to the end of l is there,
// so that the next start misses what is not, and which T was seen last. A full disk is no reason to call
// the stop a failure: the old manifest is as true as before.
func (e *Engine) noteEnd(l *wal.Log) error {
	m := e.manifest
	m.ReachLSN, m.ReachT = l.Synced(), max(m.ReachT, l.LastT(), e.Clock.NowMilli())
	err := m.Write(e.opts.FS, e.opts.Dir)
	if noSpace(err) {
		e.opts.Warnf("The manifest could not be brought up to date, nothing is lost: %v", err)
		return nil
	}
	return err
}
