// Package server runs loops and connections: dispatch, sessions, the barrier.
package server

import (
	"context"
	"net"

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
	Hz                 int
	DebugCommand       string // "no", "yes", "local"
	ShutdownTimeoutSec int
}

// ConfigStore backs CONFIG GET and SET; cmd/server provides it.
type ConfigStore interface {
	Get(patterns []string) [][2]string
	Set(pairs [][2]string) error // all or none; the error is the reply's text
	Rewrite() error
}

// Server is a running server.
type Server struct{}

// New prepares a server on an engine that is open; it may still be recovering.
func New(o Options, e *engine.Engine) (*Server, error) { panic("unwritten") }

// Listen binds. Addrs tells where, with the ports chosen.
func (s *Server) Listen() error     { panic("unwritten") }
func (s *Server) Addrs() []net.Addr { panic("unwritten") }

// Serve runs until ctx ends (orderly: stop accepting, finish the round, sync,
// close) or something fatal; a poisoned log is an error (I8).
func (s *Server) Serve(ctx context.Context) error { panic("unwritten") }

// Retune applies changed tunables.
func (s *Server) Retune(t Tunables) { panic("unwritten") }
