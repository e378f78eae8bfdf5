package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/config"
	"github.com/hapaxkv/hapax/internal/server"
)

// CONFIG SET reaches what runs.
func TestConfigSetTakesEffect(t *testing.T) {
	r := serve(t, nil)
	c := r.dial()
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "requirepass", "secret", "loglevel", "debug", "hz", "100000"))
	require.Equal(t, "requirepass secret", c.do("CONFIG", "GET", "requirepass"))
	require.Equal(t, "hz 500", c.do("CONFIG", "GET", "hz"))
	other := r.dial()
	require.Equal(t, "-NOAUTH Authentication required.", other.do("PING"))
	require.Equal(t, "+OK", other.do("AUTH", "secret"))

	require.Equal(t, "-ERR CONFIG SET failed (possibly related to argument 'hz') - argument couldn't be parsed into an integer",
		c.do("CONFIG", "SET", "requirepass", "", "hz", "x"))
	require.Equal(t, "requirepass secret", c.do("CONFIG", "GET", "requirepass"), "all or none")
	require.Regexp(t, `^-ERR CONFIG SET failed \(possibly related to argument 'maxclients'\) - The operating system is not able to handle the specified number of clients, try with \d+$`,
		c.do("CONFIG", "SET", "maxclients", "4294967295"))
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "clock-follow-wall", "yes"))
	require.Equal(t, "clock-follow-wall no", c.do("CONFIG", "GET", "clock-follow-wall"))
	require.Equal(t, "-ERR The server is running without a config file", c.do("CONFIG", "REWRITE"))
}

func TestConfigRewrite(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "real.conf")
	require.NoError(t, os.WriteFile(file, []byte("# mine\ntimeout 5\nappendonly no\n"), 0o640))
	link := filepath.Join(dir, "link.conf")
	require.NoError(t, os.Symlink("real.conf", link))
	r := serve(t, nil, link)
	c := r.dial()
	require.Equal(t, "+OK", c.do("CONFIG", "SET", "timeout", "7"))
	require.Equal(t, "+OK", c.do("CONFIG", "REWRITE"))

	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(content), "# mine\ntimeout 7\nappendonly no\n"), string(content))
	info, err := os.Lstat(file)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&fs.ModeSymlink, "the link is still one")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing is left behind")
}

// A rewrite that fails leaves the file and says why.
func TestConfigRewriteFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gone", "a.conf")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("timeout 5\n"), 0o600))
	r := serve(t, nil, file)
	require.NoError(t, os.RemoveAll(filepath.Dir(file)))
	require.Regexp(t, `^-ERR Rewriting config file: .*no such file or directory$`, r.dial().do("CONFIG", "REWRITE"))
	require.Contains(t, r.stdout.String(), "CONFIG REWRITE failed")
}

func TestRenamedCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.conf")
	require.NoError(t, os.WriteFile(file, []byte("rename-command FLUSHALL \"\"\nrename-command CONFIG settings\n"), 0o600))
	r := serve(t, nil, file)
	c := r.dial()
	require.Regexp(t, `^-ERR unknown command 'FLUSHALL'`, c.do("FLUSHALL"))
	require.Regexp(t, `^-ERR unknown command 'CONFIG'`, c.do("CONFIG", "GET", "port"))
	require.Equal(t, "timeout 0", c.do("SETTINGS", "GET", "timeout"))
}

func TestHealthCheck(t *testing.T) {
	env := []string{"HAPAX_REQUIREPASS=secret"}
	r := serve(t, env)
	_, port, _ := strings.Cut(r.addr, ":")
	code, stdout, stderr := run(t, env, "--healthcheck", "--port", port)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "PONG")
	code, _, _ = run(t, append(env, "HAPAX_BIND=* -::*", "HAPAX_PORT="+port), "--healthcheck")
	require.Zero(t, code, "every address includes the loopback one")

	code, _, stderr = run(t, []string{"HAPAX_REQUIREPASS=wrong"}, "--healthcheck", "--port", port)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "WRONGPASS")
	code, _, stderr = run(t, nil, "--healthcheck", "--port", port)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "NOAUTH")
	code, _, stderr = run(t, nil, "--healthcheck", "--port", freePort(t))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "connection refused")
}

func TestHealthCheckOverUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	serve(t, nil, "--unixsocket", socket)
	code, stdout, stderr := run(t, nil, "--healthcheck", "--port", "0", "--unixsocket", socket)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "PONG")
}

// Every word that a directive takes means something.
func TestWordsAreMapped(t *testing.T) {
	maps := map[string]func(word string) bool{
		"appendfsync":      func(w string) bool { _, ok := policies[w]; return ok },
		"maxmemory-policy": func(w string) bool { _, ok := evictions[w]; return ok },
		"io-backend":       func(w string) bool { _, ok := backends[w]; return ok },
		"loglevel":         func(w string) bool { _, ok := levels[w]; return ok },
	}
	found := 0
	for _, s := range config.Describe() {
		for _, row := range s.Rows {
			known := maps[row.Name]
			if known == nil {
				continue
			}
			found++
			for word := range strings.SplitSeq(row.Values, ", ") {
				require.True(t, known(word), "%s %s", row.Name, word)
			}
		}
	}
	require.Equal(t, len(maps), found)
}

// What the system does not grant lowers maxclients, with a warning.
func TestLowFileLimit(t *testing.T) {
	out := newOutput()
	log := newLogger(out, "", server.LevelNotice)
	cfg, err := limitClients(config.Default().With("maxclients", "4294967295"), log)
	require.NoError(t, err)
	granted := cfg.Int("maxclients")
	require.Less(t, granted, int64(4294967295))
	require.Positive(t, granted)
	require.Contains(t, out.String(), "maxclients has been reduced to "+cfg.Text("maxclients"))

	same, err := limitClients(config.Default().With("maxclients", "10"), log)
	require.NoError(t, err)
	require.EqualValues(t, 10, same.Int("maxclients"))
}

func TestLogger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	out := newOutput()
	log := newLogger(out, path, server.LevelNotice)
	log.printf(server.LevelVerbose, "not this")
	log.notice("first %d", 1)
	require.NoError(t, os.Rename(path, path+".1"))
	log.setLevel(server.LevelDebug)
	log.printf(server.LevelDebug, "second")

	rotated, err := os.ReadFile(path + ".1")
	require.NoError(t, err)
	require.Regexp(t, `^\d+:M .* \* first 1\n$`, string(rotated))
	current, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Regexp(t, `^\d+:M .* \. second\n$`, string(current))
	require.Empty(t, out.String())

	lost := newLogger(out, filepath.Join(path, "not", "possible"), server.LevelNotice)
	lost.warning("kept")
	require.Regexp(t, ` # kept\n$`, out.String())
}

// A file that cannot be replaced stays as it was.
func TestRewriteFileKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.conf")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	temp, err := os.CreateTemp(dir, "x")
	require.NoError(t, err)
	require.NoError(t, temp.Close())
	require.Error(t, replaceBy(temp, []byte("new"), 0o600, path), "writing to a closed file")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(content))

	require.Error(t, rewriteFile(filepath.Join(dir, "none", "a.conf"), func([]byte) []byte { return nil }))
}
