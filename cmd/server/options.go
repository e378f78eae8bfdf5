package main

import (
	"math"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// The words of the configuration and what they are called inside.
var (
	policies = map[string]wal.Policy{
		"always":   wal.Always,
		"everysec": wal.EverySec,
		"no":       wal.Never,
	}
	evictions = map[string]shard.EvictionPolicy{
		"noeviction":      shard.NoEviction,
		"allkeys-lru":     shard.AllKeysLRU,
		"volatile-lru":    shard.VolatileLRU,
		"allkeys-lfu":     shard.AllKeysLFU,
		"volatile-lfu":    shard.VolatileLFU,
		"allkeys-random":  shard.AllKeysRandom,
		"volatile-random": shard.VolatileRandom,
		"volatile-ttl":    shard.VolatileTTL,
	}
	backends = map[string]string{"auto": "", "epoll": "epoll", "goroutine": "goroutine"}
	levels   = map[string]server.Level{
		"debug":   server.LevelDebug,
		"verbose": server.LevelVerbose,
		"notice":  server.LevelNotice,
		"warning": server.LevelWarning,
	}
)

// serverOptions is what the server is started with.
func serverOptions(cfg *config.Config, store *store, log *logger, unixSocket string) server.Options {
	return server.Options{
		Binds:          cfg.List("bind"),
		Port:           int(cfg.Int("port")),
		NoTCP:          cfg.Int("port") == 0,
		UnixSocket:     unixSocket,
		UnixSocketPerm: uint32(cfg.Int("unixsocketperm")),
		Backlog:        int(cfg.Int("tcp-backlog")),
		IOLoops:        int(cfg.Int("io-loops")),
		Backend:        backends[cfg.Text("io-backend")],
		NoURing:        cfg.Text("io-uring") == "no",
		Version:        version,
		ConfigFile:     cfg.File,
		Config:         store,
		Logf:           log.printf,
		Tunables:       tunables(cfg),
	}
}

// tunables is what may change while running.
func tunables(cfg *config.Config) server.Tunables {
	hard, soft, softSec := cfg.OutputLimit("normal")
	return server.Tunables{
		MaxClients:         int(cfg.Int("maxclients")),
		TimeoutSec:         int(cfg.Int("timeout")),
		TCPKeepaliveSec:    int(cfg.Int("tcp-keepalive")),
		Password:           cfg.Text("requirepass"),
		ProtectedMode:      cfg.Bool("protected-mode"),
		MaxBulkBytes:       cfg.Int("proto-max-bulk-len"),
		QueryBufferLimit:   cfg.Int("client-query-buffer-limit"),
		OutputHardLimit:    hard,
		OutputSoftLimit:    soft,
		OutputSoftSec:      int(softSec),
		OutputPauseBytes:   cfg.Int("output-pause-bytes"),
		MaxMemory:          cfg.Int("maxmemory"),
		Eviction:           evictions[cfg.Text("maxmemory-policy")],
		EvictionSamples:    int(cfg.Int("maxmemory-samples")),
		Fsync:              policies[cfg.Text("appendfsync")],
		SyncPlace:          cfg.Text("sync-place"),
		SyncThresholdMicro: cfg.Int("sync-threshold-us"),
		ActiveExpireEffort: int(cfg.Int("active-expire-effort")),
		Compaction: server.CompactionRules{
			Enabled:      cfg.Bool("activedefrag"),
			IgnoreBytes:  cfg.Int("active-defrag-ignore-bytes"),
			LowerPercent: int(cfg.Int("active-defrag-threshold-lower")),
			UpperPercent: int(cfg.Int("active-defrag-threshold-upper")),
			MinShare:     int(cfg.Int("active-defrag-cycle-min")),
			MaxShare:     int(cfg.Int("active-defrag-cycle-max")),
		},
		Hz:                clampHz(cfg.Int("hz")),
		DebugCommand:      cfg.Text("enable-debug-command"),
		Checkpoint:        checkpointRules(cfg),
		StopWritesOnError: cfg.Bool("stop-writes-on-bgsave-error"),
		SyncReport:        milliseconds(cfg.Int("sync-hang-report-ms")),
		SyncFatal:         milliseconds(cfg.Int("sync-hang-fatal-ms")),
	}
}

// checkpointRules say when a snapshot starts by itself.
func checkpointRules(cfg *config.Config) engine.CheckpointRules {
	rules := engine.CheckpointRules{
		LogMinBytes:      cfg.Int("auto-aof-rewrite-min-size"),
		LogGrowthPercent: cfg.Int("auto-aof-rewrite-percentage"),
	}
	for _, r := range cfg.SaveRules() {
		// Seconds become milliseconds; a rule of ages is never due either way.
		rules.Save = append(rules.Save, engine.SaveRule{Seconds: min(r.Seconds, math.MaxInt32), Changes: r.Changes})
	}
	return rules
}

// shutdownMode is what a signal asks for.
func shutdownMode(cfg *config.Config, sig os.Signal) command.ShutdownMode {
	name := "shutdown-on-sigterm"
	if sig == syscall.SIGINT {
		name = "shutdown-on-sigint"
	}
	words := cfg.List(name)
	return command.ShutdownMode{
		Save:   slices.Contains(words, "save"),
		NoSave: slices.Contains(words, "nosave"),
		Now:    slices.Contains(words, "now"),
		Force:  slices.Contains(words, "force"),
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// clampHz keeps hz in what it may be; like Redis it takes any number for a wish.
func clampHz(hz int64) int { return int(min(max(hz, 1), 500)) }
