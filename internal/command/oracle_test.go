package command

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dialRedis starts a redis-server of its own and connects to it. It skips the
// test where none is installed, unless HAPAX_REQUIRE_ORACLE is set.
func dialRedis(t *testing.T) net.Conn {
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("HAPAX_REQUIRE_ORACLE") != "" {
			t.Fatal("redis-server is not installed, and HAPAX_REQUIRE_ORACLE is set")
		}
		t.Skip("redis-server is not installed: nothing to compare with")
	}
	dir, err := os.MkdirTemp("", "redis") // a Unix socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(bin, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no")
	log, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(log)
	ready := false
	for !ready && lines.Scan() {
		ready = strings.Contains(lines.Text(), "eady to accept connections")
	}
	require.True(t, ready, "redis-server did not start")
	go func() {
		for lines.Scan() { // so that it never blocks on a full pipe
		}
	}()
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// request is a command as a client sends it.
func request(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return b.String()
}

// startRedis returns a function that asks a redis-server for one line or bulk
// string.
func startRedis(t *testing.T) func(args ...string) string {
	conn := dialRedis(t)
	in := bufio.NewReader(conn)
	return func(args ...string) string {
		_, err := io.WriteString(conn, request(args...))
		require.NoError(t, err)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if line[0] == '$' {
			line, err = in.ReadString('\n')
			require.NoError(t, err)
		}
		return strings.TrimSuffix(line, "\r\n")
	}
}

// askRedis asks a redis-server for a whole reply.
func askRedis(t *testing.T, conn net.Conn, in *bufio.Reader, args ...string) any {
	_, err := io.WriteString(conn, request(args...))
	require.NoError(t, err)
	return readReply(t, in)
}

// The shapes that readReply tells apart; everything else is an array or a
// string.
type (
	replyMap   []any // keys and values in turn
	replySet   []any
	replyError string
	replyNull  struct{}
	verbatim   string
)

// readReply reads one reply of either protocol.
func readReply(t testing.TB, in *bufio.Reader) any {
	line, err := in.ReadString('\n')
	require.NoError(t, err)
	kind, text := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+':
		return text
	case '-':
		return replyError(text)
	case ':':
		n, err := strconv.ParseInt(text, 10, 64)
		require.NoError(t, err)
		return n
	case ',':
		f, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		return f
	case '_':
		return replyNull{}
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "%q", line)
	if n < 0 {
		return replyNull{}
	}
	switch kind {
	case '$', '=':
		b := make([]byte, n+2)
		_, err := io.ReadFull(in, b)
		require.NoError(t, err)
		if kind == '=' {
			return verbatim(b[len("txt:"):n])
		}
		return string(b[:n])
	case '%':
		return replyMap(readItems(t, in, 2*n))
	case '~':
		return replySet(readItems(t, in, n))
	case '*', '>':
		return readItems(t, in, n)
	}
	t.Fatalf("unknown reply %q", line)
	return nil
}

func readItems(t testing.TB, in *bufio.Reader, n int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = readReply(t, in)
	}
	return items
}

// at is the value of a key of a map, in either protocol; nil when absent.
func at(reply any, key string) any {
	items, ok := reply.(replyMap)
	if !ok {
		items = replyMap(reply.([]any))
	}
	for i := 0; i+1 < len(items); i += 2 {
		if items[i] == key {
			return items[i+1]
		}
	}
	return nil
}

// list is an array's or a set's items.
func list(reply any) []any {
	if set, ok := reply.(replySet); ok {
		return set
	}
	return reply.([]any)
}
