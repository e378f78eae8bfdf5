package server

import (
	"time"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Options is fixed at start.
type Options struct {
	Binds          []string // host names or addresses; "-" prefix: ignore failure
	Port           int      // 0 picks a free one when Listen is true
	NoTCP          bool     // port 0 of the configuration
	UnixSocket     string
	UnixSocketPerm uint32
	Backlog        int
	IOLoops        int
	Backend        string // "", "epoll", "goroutine"
	NoURing        bool   // read and write sockets one by one
	Version        string
	ConfigFile     string
	Config         ConfigStore // nil: CONFIG GET answers nothing
	Logf           func(level Level, format string, args ...any)
	Tunables       Tunables
}

// Level is a log level, Redis's names.
type Level uint8

const (
	LevelDebug Level = iota
	LevelVerbose
	LevelNotice
	LevelWarning
)

// Tunables may change while running (CONFIG SET), through Retune.
type Tunables struct {
	MaxClients         int
	TimeoutSec         int
	TCPKeepaliveSec    int
	Password           string
	ProtectedMode      bool
	MaxBulkBytes       int64
	QueryBufferLimit   int64
	OutputHardLimit    int64 // client-output-buffer-limit normal: a client over it is closed
	OutputSoftLimit    int64
	OutputSoftSec      int
	OutputPauseBytes   int64 // parsing stops while a client's unsent output is over this
	MaxMemory          int64
	Eviction           shard.EvictionPolicy
	EvictionSamples    int
	Fsync              wal.Policy
	SyncPlace          string // "auto", "loop", "syncer"
	SyncThresholdMicro int64
	ActiveExpireEffort int
	Compaction         CompactionRules
	Hz                 int
	DebugCommand       string // "no", "yes", "local"
	Checkpoint         engine.CheckpointRules
	StopWritesOnError  bool          // stop-writes-on-bgsave-error
	SyncReport         time.Duration // engine.Options has these two
	SyncFatal          time.Duration
}

// What a zero tunable means.
const (
	defaultMaxClients       = 10000
	defaultMaxBulkBytes     = 512 << 20
	defaultQueryBufferLimit = 1 << 30
	defaultOutputPauseBytes = 1 << 20
	defaultSyncMicro        = 300
	defaultHz               = 10
	maxHz                   = 500
)

// filled replaces zeros that cannot be meant by their defaults.
func (t Tunables) filled() *Tunables {
	setDefault(&t.MaxClients, defaultMaxClients)
	setDefault(&t.MaxBulkBytes, defaultMaxBulkBytes)
	setDefault(&t.QueryBufferLimit, defaultQueryBufferLimit)
	setDefault(&t.OutputPauseBytes, defaultOutputPauseBytes)
	setDefault(&t.SyncThresholdMicro, defaultSyncMicro)
	setDefault(&t.Hz, defaultHz)
	setDefault(&t.ActiveExpireEffort, 1)
	t.Hz = min(t.Hz, maxHz)
	return &t
}

func setDefault[T int | int64](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// ConfigStore backs CONFIG GET and SET; cmd/server provides it.
type ConfigStore interface {
	Get(patterns []string) [][2]string
	Set(pairs [][2]string) error // all or none; the error is the reply's text
	Rewrite() error
}
