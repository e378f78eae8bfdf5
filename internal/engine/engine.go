// Package engine opens, recovers and closes the durable store, and does its
// background work.
package engine

import (
	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Options configures Open.
type Options struct {
	FS           vfs.FS
	Dir          string
	Log          bool // appendonly; false keeps nothing on disk
	Policy       wal.Policy
	SegmentBytes int64
	Shards       int
	Databases    int
	Clock        *clock.Clock
	Logf         func(format string, args ...any)
}

// Engine is one open store.
type Engine struct {
	Store *shard.Store
	Clock *clock.Clock
}

// Open locks Dir (a second opener gets an error that says so) and returns
// before recovery; Recover replays the log. Between the two the server
// answers LOADING.
func Open(o Options) (*Engine, error) { panic("unwritten") }

// Recover replays the log and logs the report. Call once.
func (e *Engine) Recover() error { panic("unwritten") }

// Loading and Progress (bytes) tell how far Recover is. Atomic.
func (e *Engine) Loading() bool                 { panic("unwritten") }
func (e *Engine) Progress() (done, total int64) { panic("unwritten") }

// Log is nil when Options.Log is false or before Recover returned.
func (e *Engine) Log() *wal.Log { panic("unwritten") }

// Durability without a log: the LSN counter of a memory-only store is always
// durable. These three serve both cases.
func (e *Engine) Last() wal.LSN    { panic("unwritten") }
func (e *Engine) Durable() wal.LSN { panic("unwritten") }
func (e *Engine) Synced() wal.LSN  { panic("unwritten") }

// Close syncs and closes.
func (e *Engine) Close() error { panic("unwritten") }
