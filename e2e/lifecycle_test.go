package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStopInOrder: SIGTERM and SIGINT end the process with 0, and everything is
// there after the next start.
func TestStopInOrder(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, dir)
			c := dial(t, s)
			c.want("+OK", "SET a 1")
			c.want(`["acquired"]`, "IDEM order:42 BEGIN digest attempt 600000")
			c.want("+OK", "SELECT 5")
			c.want("+OK", "SET b 2 PXAT 4102444800123")
			if code := s.stop(sig); code != 0 {
				t.Errorf("exit code %d, want 0:\n%s", code, tail(s.log.String(), 20))
			}
			c.closed()

			c = dial(t, start(t, dir))
			c.want(`"1"`, "GET a")
			c.want(`["pending"]`, "IDEM order:42 BEGIN digest attempt 600000")
			c.want("+OK", "SELECT 5")
			c.want("4102444800123", "PEXPIRETIME b")
		})
	}
}

// TestShutdownCommand: SHUTDOWN ends the process as SIGTERM does.
func TestShutdownCommand(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	c := dial(t, s)
	c.want("+OK", "SET a 1")
	c.send(encode("SHUTDOWN"))
	if code := s.wait(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if said := c.closed(); said != "" {
		t.Errorf("SHUTDOWN answered %q", said)
	}
	dial(t, start(t, dir)).want(`"1"`, "GET a")
}

// TestOneServerPerDir: a second server on the same dir refuses to start and
// leaves the first alone.
func TestOneServerPerDir(t *testing.T) {
	dir := t.TempDir()
	first := start(t, dir)
	c := dial(t, first)
	c.want("+OK", "SET a 1")
	second := launch(t, dir)
	if code := second.wait(); code == 0 {
		t.Error("the second server ended with 0")
	}
	if said := second.log.String(); !strings.Contains(said, dir) {
		t.Errorf("the second server doesn't say which directory is taken:\n%s", said)
	}
	c.want("+OK", "SET a 2")
	first.kill()
	dial(t, start(t, dir)).want(`"2"`, "GET a")
}

// TestLoading: while a long log is read, the server answers LOADING and says
// so in INFO; afterwards everything is there.
func TestLoading(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "--appendfsync", "no")
	c := dial(t, s)
	const rounds, perRound = 60, 5000
	value := strings.Repeat("v", 100)
	for r := range rounds {
		var batch []byte
		for i := range perRound {
			batch = append(batch, encode("SET", fmt.Sprintf("k:%d:%d", r, i), value)...)
		}
		c.send(batch)
		for range perRound {
			if got := c.reply().String(); got != "+OK" {
				t.Fatal(got)
			}
		}
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s = launch(t, dir)
	s.readyFor("-LOADING")
	if got := s.log.String(); strings.Contains(got, "panic") {
		t.Error(got)
	}
	s.ready()
	c = dial(t, s)
	c.want(fmt.Sprint(rounds*perRound), "DBSIZE")
	if got := c.info("loading"); got != "0" {
		t.Errorf("loading:%s after the load", got)
	}
}

// TestNothingOnDisk: with appendonly no nothing is written, and nothing is
// there after a restart.
func TestNothingOnDisk(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "--appendonly", "no", "--save", "")
	dial(t, s).want("+OK", "SET a 1")
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n := dirSizeBytes(t, dir); n != 0 {
		t.Errorf("%d bytes on disk", n)
	}
	dial(t, start(t, dir, "--appendonly", "no", "--save", "")).want("nil", "GET a")
}

// TestCommandLine: what the binary says and returns without serving.
func TestCommandLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.conf", "# a comment\nport 6390\nappendfsync always\nsave 3600 1\nmaxmemory 100mb\nrdbcompression yes\n")
	typo := write("typo.conf", "port 6390\nappendfsink always\n")
	bad := write("bad.conf", "port 6390\nmaxmemory lots\n")
	for _, test := range []struct {
		name string
		env  []string
		args []string
		code int
		says []string
	}{
		{"version", nil, []string{"--version"}, 0, []string{"Hapax"}},
		{"help", nil, []string{"--help"}, 0, []string{"--port", "--check-config"}},
		{"good file", nil, []string{good, "--check-config"}, 0, nil},
		{"unknown directive names the nearest", nil, []string{typo, "--check-config"}, 1, []string{"typo.conf:2", "appendfsink", "appendfsync"}},
		{"unknown directive stops a start", nil, []string{typo}, 1, []string{"typo.conf:2", "appendfsync"}},
		{"bad value", nil, []string{bad, "--check-config"}, 1, []string{"bad.conf:2", "maxmemory"}},
		{"unknown flag names the nearest", nil, []string{"--appendfsink", "no", "--check-config"}, 1, []string{"appendfsync"}},
		{"bad environment", []string{"HAPAX_PORT=many"}, []string{"--check-config"}, 1, []string{"HAPAX_PORT"}},
		{"no such file", nil, []string{filepath.Join(dir, "none.conf")}, 1, []string{"none.conf"}},
		{"nobody to be healthy", []string{"HAPAX_PORT=" + freePort(t)}, []string{"--healthcheck"}, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, said := hapax(t, test.env, test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(said, want) {
					t.Errorf("it doesn't mention %q", want)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}

// TestHealthcheck asks a running server through the binary, as the container's
// health check does: with the address and the password from the environment.
func TestHealthcheck(t *testing.T) {
	s := launch(t, t.TempDir(), "--requirepass", "sesame")
	s.pass = "sesame"
	s.ready()
	if code, said := hapax(t, []string{"HAPAX_PORT=" + s.port, "HAPAX_REQUIREPASS=sesame"}, "--healthcheck"); code != 0 {
		t.Errorf("exit code %d of a healthy server: %s", code, said)
	}
	if code, said := hapax(t, []string{"HAPAX_PORT=" + s.port, "HAPAX_REQUIREPASS=wrong"}, "--healthcheck"); code != 1 {
		t.Errorf("exit code %d with a wrong password: %s", code, said)
	}
}

// TestArguments: what the official Redis image's users type after the image's
// name works as arguments of the binary.
func TestArguments(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(conf, []byte("requirepass fromfile\nmaxclients 123\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		first []string
		want  string
	}{
		{"flags", nil, "10000"},
		{"a file", []string{conf}, "123"},
		{"our name", []string{"hapax-server"}, "10000"},
		{"our name and a file", []string{"hapax-server", conf}, "123"},
		{"redis's name", []string{"redis-server", conf}, "123"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := launchArgs(t, dir, nil, test.first, "--requirepass", "typed")
			s.pass = "typed"
			s.ready()
			c := dial(t, s)
			c.want("+OK", "AUTH typed")
			c.want(fmt.Sprintf("[\"maxclients\" %q]", test.want), "CONFIG GET maxclients")
			s.stop(syscall.SIGTERM)
		})
	}
}
