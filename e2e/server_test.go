package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// startTimeout is when a server that neither answers nor ends counts as hung.
const startTimeout = 60 * time.Second

// server is one running process.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	port string
	pass string // set by a test that gives the server a password
	log  *logBuffer
	done chan struct{} // closed when the process has ended
}

// logBuffer keeps what a server printed. Safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// start runs a server that keeps its data in dir and waits until it answers.
func start(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	s := launch(t, dir, args...)
	s.ready()
	return s
}

// launch runs a server and doesn't wait for it.
func launch(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	return launchArgs(t, dir, nil, nil, args...)
}

// launchArgs is launch with settings for the environment, and with arguments
// that stand before all others.
func launchArgs(t *testing.T, dir string, env, first []string, args ...string) *server {
	t.Helper()
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	s := &server{
		t: t, port: port, addr: net.JoinHostPort("127.0.0.1", port),
		log: &logBuffer{}, done: make(chan struct{}),
	}
	all := append(append([]string{}, first...), "--port", port, "--dir", dir)
	s.cmd = exec.Command(bin, append(all, args...)...)
	s.cmd.Dir = dir
	s.cmd.Env = cleanEnv(env...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(s.cleanup)
	return s
}

// cleanEnv is the environment without settings meant for a server.
func cleanEnv(extra ...string) []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "HAPAX_") {
			env = append(env, e)
		}
	}
	return append(env, extra...)
}

func (s *server) cleanup() {
	s.kill()
	if s.t.Failed() {
		s.t.Logf("what the server on %s printed:\n%s", s.addr, tail(s.log.String(), 60))
	}
	if strings.Contains(s.log.String(), "DATA RACE") {
		s.t.Errorf("the race detector found a race in the server:\n%s", tail(s.log.String(), 200))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// ready waits until the server answers PING, and fails the test if it ends
// before or never does.
func (s *server) ready() {
	s.t.Helper()
	s.readyFor("+PONG")
}

// readyFor waits until PING's reply starts with want.
func (s *server) readyFor(want string) {
	s.t.Helper()
	deadline := time.Now().Add(startTimeout)
	for {
		reply, err := ping(s.addr, s.pass)
		if err == nil && strings.HasPrefix(reply, want) {
			return
		}
		select {
		case <-s.done:
			s.t.Fatalf("the server ended before it answered %q (exit %d):\n%s", want, s.exitCode(), tail(s.log.String(), 40))
		case <-time.After(2 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server never answered %q; last: %q, %v", want, reply, err)
		}
	}
}

func ping(addr, pass string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	r := bufio.NewReader(c)
	if pass != "" {
		if _, err := c.Write(encode("AUTH", pass)); err != nil {
			return "", err
		}
		if line, err := r.ReadString('\n'); err != nil || line != "+OK\r\n" {
			return line, err
		}
	}
	if _, err := c.Write(encode("PING")); err != nil {
		return "", err
	}
	return r.ReadString('\n')
}

// kill ends the process at once, as a crash would. Idempotent.
func (s *server) kill() {
	s.cmd.Process.Kill()
	<-s.done
}

// stop asks the process to end in order and returns its exit code.
func (s *server) stop(sig syscall.Signal) int {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		s.t.Fatal(err)
	}
	return s.wait()
}

// wait returns the exit code once the process has ended by itself.
func (s *server) wait() int {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(startTimeout):
		s.t.Fatalf("the server did not end")
	}
	return s.exitCode()
}

// ended says whether the process has.
func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *server) exitCode() int { return s.cmd.ProcessState.ExitCode() }

// hapax runs the binary to its end, for --version and the like.
func hapax(t *testing.T, env []string, args ...string) (code int, output string) {
	t.Helper()
	bin, err := serverBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = cleanEnv(env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// freePort finds a loopback port that nobody listens on. Port 0 can't be given
// to the server itself: in redis.conf it means no TCP at all.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// memory reads a line such as VmRSS or VmHWM (the peak) of the server, in bytes.
func (s *server) memory(line string) int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.t.Skipf("no /proc here to read the server's memory from: %v", err)
	}
	for _, l := range strings.Split(string(status), "\n") {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return kb << 10
		}
	}
	s.t.Fatalf("no %s in /proc status", line)
	return 0
}

// dirSizeBytes adds up the files below dir.
func dirSizeBytes(t *testing.T, dir string) int64 {
	t.Helper()
	var sum int64
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}
