package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/server"
)

// What a stop leaves without a log is what save and shutdown-on-sigterm say.
func TestSignalsSave(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		there bool
	}{
		{"no rules", nil, false},
		{"rules", []string{"--save", "3600 1"}, true},
		{"rules, nosave", []string{"--save", "3600 1", "--shutdown-on-sigterm", "nosave"}, false},
		{"no rules, save", []string{"--shutdown-on-sigterm", "save force"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r := serve(t, nil, append(c.args, "--dir", dir)...)
			require.Equal(t, "+OK", r.dial().do("SET", "k", "v"))
			require.Zero(t, r.stop())

			back := serve(t, nil, "--dir", dir)
			want := "$-1"
			if c.there {
				want = "$1"
			}
			require.Equal(t, want, back.dial().do("GET", "k"))
		})
	}
}

// A stop is refused when the last snapshot fails; a later signal tries again.
func TestSignalIsRefused(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "snapshot")
	r := serve(t, nil, "--dir", dir)
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	c := r.dial()
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "save", "3600 1"))
	require.Equal(t, "+OK", c.do("SET", "k", "v"))
	r.signals <- syscall.SIGTERM
	r.await("can't exit")
	require.Equal(t, "$1", c.do("GET", "k"))
	require.Equal(t, "v", c.line())
	require.Regexp(t, "^-MISCONF Redis is configured to save", c.do("SET", "k", "w"))
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "stop-writes-on-bgsave-error", "no"))
	require.Equal(t, "+OK", c.do("SET", "k", "w"))

	require.NoError(t, os.Remove(inTheWay))
	require.Zero(t, r.stop())
	require.NotContains(t, r.stdout.String(), "leaving at once")
	back := serve(t, nil, "--dir", dir).dial()
	require.Equal(t, "$1", back.do("GET", "k"))
	require.Equal(t, "w", back.line())
}

func TestShutdownWords(t *testing.T) {
	cfg := config.Default().With("shutdown-on-sigint", "save now").With("shutdown-on-sigterm", "nosave force")
	require.Equal(t, command.ShutdownMode{Save: true, Now: true}, shutdownMode(cfg, syscall.SIGINT))
	require.Equal(t, command.ShutdownMode{NoSave: true, Force: true}, shutdownMode(cfg, syscall.SIGTERM))
	require.Zero(t, shutdownMode(config.Default(), syscall.SIGTERM))
}

// A disk that hangs ends the process at once: whoever commits hangs with it.
func TestHangingDiskEndsTheProcess(t *testing.T) {
	out := newOutput()
	log := newLogger(out, "", server.LevelNotice)
	var code []int
	p := &process{stderr: out, exit: func(c int) { code = append(code, c) }}
	cfg := config.Default().With("sync-hang-fatal-ms", "5000").With("sync-hang-report-ms", "10")
	o := p.engineOptions(cfg, clock.New(clock.System(), nil), log)
	require.EqualValues(t, 5000, o.SyncFatal.Milliseconds())
	require.EqualValues(t, 10, o.SyncReport.Milliseconds())
	o.Fatal(errors.New("a sync of the log hangs"))
	require.Equal(t, []int{exitFailure}, code)
	require.Contains(t, out.String(), "Fatal: a sync of the log hangs")
}

// What somebody should look at is printed whatever the level.
func TestWarningsOfTheStorePassEveryLevel(t *testing.T) {
	out := newOutput()
	p := &process{stderr: out}
	o := p.engineOptions(config.Default(), clock.New(clock.System(), nil), newLogger(out, "", server.LevelWarning))
	o.Logf("loaded")
	o.Warnf("a snapshot cannot be used")
	require.Contains(t, out.String(), " # a snapshot cannot be used\n")
	require.NotContains(t, out.String(), "loaded")
}

func TestCheckpointRules(t *testing.T) {
	cfg := config.Default().With("save", "60 5 9999999999 1").With("auto-aof-rewrite-min-size", "1mb")
	rules := checkpointRules(cfg)
	require.Len(t, rules.Save, 2)
	require.EqualValues(t, 60, rules.Save[0].Seconds)
	require.EqualValues(t, 5, rules.Save[0].Changes)
	require.Positive(t, rules.Save[1].Seconds*1000)
	require.EqualValues(t, 1<<20, rules.LogMinBytes)
	require.EqualValues(t, 100, rules.LogGrowthPercent)
}
