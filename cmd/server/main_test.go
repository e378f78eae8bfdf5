package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/config"
)

func TestVersionAndHelp(t *testing.T) {
	for _, flag := range []string{"-v", "--version"} {
		code, stdout, _ := run(t, nil, flag)
		require.Zero(t, code)
		require.Regexp(t, `^Hapax server v=\S+ go=go\S+ \w+/\w+\n$`, stdout)
	}
	for _, flag := range []string{"-h", "--help"} {
		code, stdout, _ := run(t, nil, flag)
		require.Zero(t, code)
		require.Contains(t, stdout, "--check-config")
		require.Regexp(t, `\n  appendfsync +always\n`, stdout)
	}
}

// --check-config reads all that a start would read and says everything.
func TestCheckConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.conf")
	require.NoError(t, os.WriteFile(file, []byte("prot 1\nrdbcompression no\nhz x\n"), 0o600))
	code, stdout, stderr := run(t, []string{"HAPAX_TIMEOUT=x"}, file, "--check-config", "--apendonly", "no")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, file+":1: unknown directive 'prot', did you mean 'port'?\n")
	require.Contains(t, stderr, file+":3: hz: argument couldn't be parsed into an integer\n")
	require.Contains(t, stderr, "HAPAX_TIMEOUT: timeout: argument couldn't be parsed into an integer\n")
	require.Contains(t, stderr, "--apendonly: unknown directive 'apendonly', did you mean 'appendonly'?\n")

	require.NoError(t, os.WriteFile(file, []byte("rdbcompression no\n"), 0o600))
	code, stdout, stderr = run(t, nil, "--check-config", file)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "warning: accepted, but without effect here: rdbcompression ("+file+":1)\n")
	require.Contains(t, stdout, "the configuration is valid\n")

	require.NoError(t, os.WriteFile(file, []byte("rename-command NOSUCH x\nrdbcompression no\nrename-command get set\nhz x\n"), 0o600))
	code, _, stderr = run(t, nil, "--check-config", file)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, file+":1: rename-command: no such command: NOSUCH\n"+
		file+":3: rename-command: target command name already exists: set\n"+
		file+":4: hz: argument couldn't be parsed into an integer\n"+
		"warning: accepted, but without effect here: rdbcompression ("+file+":2)\n")
}

// The log says at the start where the values came from.
func TestSourcesAreLogged(t *testing.T) {
	r := serve(t, []string{"HAPAX_TIMEOUT=5"})
	require.Contains(t, r.stdout.String(), "Configuration: no file, 2 flags, 1 environment variable\n")

	file := filepath.Join(t.TempDir(), "a.conf")
	require.NoError(t, os.WriteFile(file, []byte("timeout 5\n"), 0o600))
	r = serve(t, nil, file, "--save", "")
	require.Contains(t, r.stdout.String(), "Configuration: file "+file+", 3 flags, no environment variables\n")
	require.NotContains(t, r.stdout.String(), "without effect")

	require.Equal(t, "no file, no flags, no environment variables: all defaults, see hapax-server --help", sources(config.Default()))
	require.Equal(t, "no file, standard input, no flags, no environment variables", sources(&config.Config{Stdin: true}))
}

func TestConfigErrorsEndTheStart(t *testing.T) {
	code, stdout, stderr := run(t, nil, "--prot", "1")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "--prot: unknown directive 'prot', did you mean 'port'?\n")

	code, _, stderr = run(t, nil, "/nowhere/a.conf")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "/nowhere/a.conf: can't read the configuration file: no such file or directory\n")

	code, _, stderr = run(t, nil, "--logfile", "/nowhere/log", "--port", freePort(t), "--appendonly", "no")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "logfile: open /nowhere/log: no such file or directory\n")
}

// A container's command may begin with the program's name.
func TestProgramNameBeforeTheArguments(t *testing.T) {
	for _, name := range []string{"hapax-server", "redis-server", "/usr/local/bin/redis-server"} {
		code, _, stderr := run(t, nil, name, "--version")
		require.Zero(t, code, stderr)
	}
}

func TestConfigurationFromStandardInput(t *testing.T) {
	r := begin(t, nil, "prot 1\n", "-", "--check-config")
	require.Equal(t, 1, <-r.exit)
	require.Contains(t, r.stderr.String(), "standard input:1: unknown directive 'prot'")
}

func TestOrderlyStop(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := serve(t, nil, "--pidfile", pidFile)
	require.Equal(t, "+PONG", r.dial().do("PING"))
	pid, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	require.Regexp(t, `^\d+\n$`, string(pid))

	r.signals <- syscall.SIGHUP
	r.await("Received SIGHUP")
	require.Equal(t, "+PONG", r.dial().do("PING"))
	require.Zero(t, r.stop())
	require.NoFileExists(t, pidFile)
	for line := range strings.Lines(r.stdout.String()) {
		require.Regexp(t, `^\d+:M \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} [.\-*#] .+\n$`, line)
	}
}

func TestShutdownCommand(t *testing.T) {
	r := serve(t, nil)
	r.dial().send("SHUTDOWN")
	code := <-r.exit
	r.exit <- code
	require.Zero(t, code)
}

// While replies wait for a client that does not read, the first signal waits
// with them and the second does not.
func TestSecondSignalLeavesAtOnce(t *testing.T) {
	r := serve(t, nil, "--shutdown-timeout", "3600")
	c := r.dial()
	value := strings.Repeat("x", 16<<20)
	require.Equal(t, "+OK", c.do("SET", "k", value))
	c.send("GET", "k")
	require.Equal(t, "$16777216", c.line(), "the reply has begun")
	r.signals <- syscall.SIGTERM
	r.await("Received SIGTERM")
	r.signals <- syscall.SIGINT
	code := <-r.exit
	r.exit <- code
	require.Equal(t, exitInterrupted, code)
	require.Contains(t, r.stdout.String(), "Received SIGINT again")
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	logFile := filepath.Join(t.TempDir(), "log")
	code, stdout, stderr := run(t, nil, "--port", port, "--bind", "127.0.0.1", "--appendonly", "no", "--logfile", logFile)
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "address already in use")
	log, err := os.ReadFile(logFile)
	require.NoError(t, err)
	require.Contains(t, string(log), "Fatal: could not listen on 127.0.0.1 port "+port)
}

// The second server on a directory refuses; after the first is gone, the data
// is there.
func TestDirectoryInUse(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	first := begin(t, nil, "", "--dir", dir, "--port", port)
	first.addr = net.JoinHostPort("127.0.0.1", port)
	first.await("Ready to accept connections")
	require.Equal(t, "+OK", first.dial().do("SET", "k", "v"))

	code, stdout, _ := run(t, nil, "--dir", dir, "--port", freePort(t))
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "Fatal: data directory "+dir+": directory is in use by another server; stop it, or give this one another --dir")

	require.Zero(t, first.stop())
	second := begin(t, nil, "", "--dir", dir, "--port", port)
	second.addr = first.addr
	second.await("Ready to accept connections")
	c := second.dial()
	require.Equal(t, "$1", c.do("GET", "k"))
	require.Zero(t, second.stop())
}

// A directory that cannot be used, and a log that is damaged: the message says
// where, the code is 1.
func TestFatal(t *testing.T) {
	notADir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(notADir, nil, 0o600))
	code, stdout, _ := run(t, nil, "--dir", notADir, "--port", freePort(t))
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "Fatal: data directory "+notADir)

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "wal"), 0o700))
	r := begin(t, nil, "", "--dir", dir, "--port", freePort(t))
	r.await("Ready to accept connections")
	require.Zero(t, r.stop())
	segments, err := filepath.Glob(filepath.Join(dir, "wal", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, segments)
	require.NoError(t, os.WriteFile(segments[0], []byte(strings.Repeat("no log ", 100)), 0o600))
	code, stdout, _ = run(t, nil, "--dir", dir, "--port", freePort(t))
	require.Equal(t, 1, code, stdout)
	require.Contains(t, stdout, segments[0])
}
