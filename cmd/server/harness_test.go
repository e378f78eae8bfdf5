package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
)

// output is what a process printed; a test can wait for a text in it.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	change chan struct{} // closed and renewed with every write
}

func newOutput() *output { return &output{change: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	close(o.change)
	o.change = make(chan struct{})
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// running is a server in this process.
type running struct {
	t       *testing.T
	addr    string
	signals chan os.Signal
	exit    chan int
	stdout  *output
	stderr  *output
}

// run runs the program to its end and returns what it did.
func run(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	r := begin(t, env, "", args...)
	return <-r.exit, r.stdout.String(), r.stderr.String()
}

func begin(t *testing.T, env []string, stdin string, args ...string) *running {
	t.Helper()
	r := &running{t: t, signals: make(chan os.Signal, 4), exit: make(chan int, 1), stdout: newOutput(), stderr: newOutput()}
	p := &process{
		args: args, env: env, dir: t.TempDir(),
		stdin: strings.NewReader(stdin), stdout: r.stdout, stderr: r.stderr, signals: r.signals,
	}
	go func() { r.exit <- p.main() }()
	return r
}

// serve starts a server on a free port that keeps nothing on disk unless args
// say so, and returns once it is ready. It is stopped when the test ends.
func serve(t *testing.T, env []string, args ...string) *running {
	t.Helper()
	port := freePort(t)
	r := begin(t, env, "", append(args, "--port", port, "--appendonly", "no")...)
	r.addr = net.JoinHostPort("127.0.0.1", port)
	t.Cleanup(func() {
		r.signals <- syscall.SIGTERM
		<-r.exit
	})
	r.await("Ready to accept connections")
	return r
}

// await returns when the log holds text; it fails when the program ends first.
func (r *running) await(text string) {
	r.t.Helper()
	for {
		r.stdout.mu.Lock()
		found, change := strings.Contains(r.stdout.text.String(), text), r.stdout.change
		r.stdout.mu.Unlock()
		if found {
			return
		}
		select {
		case <-change:
		case code := <-r.exit:
			r.exit <- code
			r.t.Fatalf("ended with %d before it printed %q:\n%s%s", code, text, r.stdout, r.stderr)
		}
	}
}

// stop asks for an orderly stop and returns the exit code.
func (r *running) stop() int {
	r.signals <- syscall.SIGTERM
	code := <-r.exit
	r.exit <- code // for the cleanup
	return code
}

// client is one connection that sends commands and reads one line each.
type client struct {
	t       *testing.T
	conn    net.Conn
	replies *bufio.Reader
}

func (r *running) dial() *client {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { conn.Close() })
	return &client{r.t, conn, bufio.NewReader(conn)}
}

func (c *client) send(args ...string) {
	c.t.Helper()
	var w resp.Writer
	w.Array(len(args))
	for _, a := range args {
		w.BulkString(a)
	}
	_, err := c.conn.Write(w.Buf)
	require.NoError(c.t, err)
}

// do sends a command and returns the first line of the reply; of an array all
// its bulk strings, with spaces between.
func (c *client) do(args ...string) string {
	c.t.Helper()
	c.send(args...)
	line := c.line()
	var n int
	if _, err := fmt.Sscanf(line, "*%d", &n); err != nil {
		return line
	}
	parts := make([]string, n)
	for i := range parts {
		c.line() // the length
		parts[i] = c.line()
	}
	return strings.Join(parts, " ")
}

func (c *client) line() string {
	c.t.Helper()
	line, err := c.replies.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimRight(line, "\r\n")
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}
