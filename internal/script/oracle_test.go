package script

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// oracle is a redis-server of its own, on a Unix socket.
type oracle struct {
	t       *testing.T
	socket  string
	version string
}

// hangGuard bounds how long a test waits for a server that stopped answering;
// it only turns a hang into a message.
const hangGuard = time.Minute

// requireOracle is set where a missing redis-server is a failure.
const requireOracle = "HAPAX_REQUIRE_ORACLE"

// startOracle starts redis-server, or skips the test where there is none.
func startOracle(t *testing.T) *oracle {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(requireOracle) != "" {
			t.Fatal("redis-server is not installed, and " + requireOracle + " is set")
		}
		t.Skip("redis-server is not installed: nothing to compare with")
	}
	// A Unix socket's path must be short, which t.TempDir does not promise.
	dir, err := os.MkdirTemp("", "oracle")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	o := &oracle{t: t, socket: filepath.Join(dir, "s")}
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", o.socket, "--dir", dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no", "--enable-debug-command", "local")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	o.version = awaitReady(t, bufio.NewScanner(out))
	return o
}

var versionLine = regexp.MustCompile(`Redis version=([0-9.]+)`)

// awaitReady reads the log until the server serves, and on so that it never
// blocks on a full pipe.
func awaitReady(t *testing.T, log *bufio.Scanner) (version string) {
	var seen []string
	for log.Scan() {
		seen = append(seen, log.Text())
		if m := versionLine.FindStringSubmatch(log.Text()); m != nil {
			version = m[1]
		}
		if strings.Contains(strings.ToLower(log.Text()), "ready to accept connections") {
			go func() {
				for log.Scan() {
				}
			}()
			return version
		}
	}
	t.Fatalf("redis-server did not start:\n%s", strings.Join(seen, "\n"))
	return ""
}

func (o *oracle) Dial() (Conn, error) { return dial("unix", o.socket) }

func dial(network, addr string) (Conn, error) {
	c, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(hangGuard))
	return NewNetConn(c), nil
}

// Advance sleeps: nothing else moves the time of a real server.
func (o *oracle) Advance(milli int64) error {
	time.Sleep(time.Duration(milli) * time.Millisecond)
	return nil
}

func (o *oracle) Reopen() error { panic("a script with @reopen is @local") }

// TestOracle runs the shared scripts against redis-server: what a script
// expects of Hapax is what Redis does.
func TestOracle(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		if s.Local != "" {
			t.Skip("Hapax only: " + s.Local)
		}
		forEachProto(t, s, func(t *testing.T, proto int) {
			o := startOracle(t)
			r := Runner{Target: o, Proto: proto, Oracle: o.version}
			require.NoError(t, r.Run(s))
		})
	})
}
