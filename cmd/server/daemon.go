package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// daemon starts the server and stays until it ended.
func (p *process) daemon() int {
	cfg, renames, err := p.load()
	if err != nil {
		printProblems(p.stderr, err)
		return exitFailure
	}
	logPath := p.logPath(cfg)
	if err := tryLog(logPath); err != nil {
		printProblems(p.stderr, fmt.Errorf("logfile: %w", err))
		return exitFailure
	}
	log := newLogger(p.stdout, logPath, levels[cfg.Text("loglevel")])
	log.notice("Hapax version=%s, pid=%d, just started", version, os.Getpid())
	announce(cfg, log)
	if cfg, err = limitClients(cfg, log); err != nil {
		return p.giveUp(log, err)
	}
	if renames.Any() {
		defer renames.Use()()
	}
	defer p.writePID(cfg, log)()
	return p.run(cfg, log)
}

// announce logs where the configuration came from and what to know about it.
func announce(cfg *config.Config, log *logger) {
	log.notice("Configuration: %s", sources(cfg))
	for _, w := range append(cfg.Warnings, advice(cfg)...) {
		log.warning("Warning: %s", w)
	}
}

// run opens the store, serves until somebody ends it, and closes the store.
func (p *process) run(cfg *config.Config, log *logger) int {
	clk := clock.New(clock.System(), log.warning)
	eng, err := engine.Open(p.engineOptions(cfg, clk, log))
	if err != nil {
		return p.giveUp(log, err)
	}
	store := &store{cfg: cfg, log: log, followWall: clk.FollowWall}
	srv, err := p.listen(cfg, store, log, eng)
	if err != nil {
		return p.giveUp(log, errors.Join(err, eng.Close()))
	}
	served, interrupted := p.serve(srv, store, log)
	if interrupted {
		// The store stays open under a server that has not stopped: leaving at
		// once is what was asked for, and recovery copes with that.
		return exitInterrupted
	}
	poisoned := eng.Err()
	closed := eng.Close()
	switch {
	case poisoned != nil:
		// No reply left after the failure (I8), so nothing acknowledged is lost.
		return p.giveUp(log, fmt.Errorf("%w. Make sure that the disk works and has room, then start again: "+
			"what was acknowledged is in the log in %s", poisoned, cfg.Text("dir")))
	case served != nil || closed != nil:
		return p.giveUp(log, errors.Join(served, closed))
	}
	log.notice("Hapax stopped in order, bye")
	return exitOK
}

func (p *process) engineOptions(cfg *config.Config, clk *clock.Clock, log *logger) engine.Options {
	return engine.Options{
		FS:           vfs.OS(),
		Dir:          cfg.Text("dir"),
		Log:          cfg.Bool("appendonly"),
		Policy:       policies[cfg.Text("appendfsync")],
		SegmentBytes: cfg.Int("wal-segment-size"),
		DirectIO:     cfg.Text("wal-direct-io") == "auto",
		Shards:       int(cfg.Int("shards")),
		Databases:    int(cfg.Int("databases")),
		Clock:        clk,
		Logf:         log.notice,
		Warnf:        log.warning,
		Rules:        checkpointRules(cfg),
		SyncReport:   milliseconds(cfg.Int("sync-hang-report-ms")),
		SyncFatal:    milliseconds(cfg.Int("sync-hang-fatal-ms")),
		Fatal: func(err error) {
			// Whoever commits is in that sync, and does not come back to stop.
			p.exit(p.giveUp(log, err))
		},
	}
}

// listen makes the server and binds its addresses.
func (p *process) listen(cfg *config.Config, store *store, log *logger, eng *engine.Engine) (*server.Server, error) {
	unixSocket := cfg.Text("unixsocket")
	if unixSocket != "" {
		unixSocket = p.path(unixSocket)
	}
	srv, err := server.New(serverOptions(cfg, store, log, unixSocket), eng)
	if err != nil {
		return nil, err
	}
	store.retune = srv.Retune
	if err := srv.Listen(); err != nil {
		return nil, err
	}
	for _, addr := range srv.Addrs() {
		log.notice("Listening on %s", addr)
	}
	return srv, nil
}

// serve runs the server until it ends by itself or by signals: the first asks
// for an orderly stop, the second for leaving at once. A stop that is refused,
// because the last snapshot failed, is over.
func (p *process) serve(srv *server.Server, store *store, log *logger) (err error, interrupted bool) {
	done := make(chan error, 1)
	go func() { done <- srv.Serve(context.Background()) }()
	var refused <-chan struct{} // set while a stop is under way
	for {
		select {
		case err := <-done:
			return err, false
		case <-refused:
			refused = nil
		case sig := <-p.signals:
			switch {
			case sig == syscall.SIGHUP:
				log.notice("Received SIGHUP, which does nothing yet")
			case refused == nil:
				log.warning("Received %s scheduling shutdown...", signalName(sig))
				refused = srv.Stop(shutdownMode(store.config(), sig))
			default:
				log.warning("Received %s again: leaving at once", signalName(sig))
				return nil, true
			}
		}
	}
}

func signalName(sig os.Signal) string {
	switch sig {
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGINT:
		return "SIGINT"
	}
	return sig.String()
}

// giveUp reports why the server ends, in the log and, when that is a file, on
// standard error too: whoever started it by hand looks there.
func (p *process) giveUp(log *logger, err error) int {
	log.warning("Fatal: %v", err)
	if log.path != "" {
		fmt.Fprintf(p.stderr, "hapax-server: %v\n", err)
	}
	return exitFailure
}

func (p *process) logPath(cfg *config.Config) string {
	if path := cfg.Text("logfile"); path != "" {
		return p.path(path)
	}
	return ""
}

// writePID writes the pid file and returns what removes it again.
func (p *process) writePID(cfg *config.Config, log *logger) (remove func()) {
	path := cfg.Text("pidfile")
	if path == "" {
		return func() {}
	}
	path = p.path(path)
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644); err != nil {
		log.warning("Failed to write PID file: %v", err)
		return func() {}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			log.warning("Failed to remove PID file: %v", err)
		}
	}
}
