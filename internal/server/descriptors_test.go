//go:build unix

package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const childEnv = "HAPAX_TEST_FEW_DESCRIPTORS"

// A server without descriptors goes on serving whom it has, does not spin on
// the connections it cannot take, and takes them when some close. It runs in
// a process of its own, whose limit can be lowered.
func TestOutOfDescriptors(t *testing.T) {
	if backend := os.Getenv(childEnv); backend != "" {
		serveWithFewDescriptors(t, backend)
		return
	}
	everywhere(t, func(t *testing.T, v variant) {
		child := exec.Command(os.Args[0], "-test.run=^TestOutOfDescriptors$")
		child.Env = append(os.Environ(), childEnv+"="+v.backend)
		stdin, err := child.StdinPipe()
		require.NoError(t, err)
		stdout, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		lines := bufio.NewReader(stdout)
		addr, err := lines.ReadString('\n')
		require.NoError(t, err)
		addr = strings.TrimSpace(addr)

		dial := func() *peer {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			return &peer{t: t, Conn: c, r: bufio.NewReader(c)}
		}
		first := dial()
		require.Equal(t, "+PONG", first.do("PING"))
		var others []*peer
		for range 60 { // the kernel's queue takes those that the server cannot
			others = append(others, dial())
		}
		for range 2000 {
			require.Equal(t, "+PONG", first.do("PING"))
		}
		for _, p := range others {
			p.Close()
		}
		require.Equal(t, "+PONG", dial().do("PING"))
		require.NoError(t, stdin.Close())
		report, err := io.ReadAll(lines)
		require.NoError(t, err)
		require.NoError(t, child.Wait(), string(report))
		var refused int
		_, err = fmt.Sscanf(string(report), "refused %d", &refused)
		require.NoError(t, err, string(report))
		require.NotZero(t, refused, "the limit was never reached")
		require.Less(t, refused, 1000, "it tried again without a pause")
	})
}

// serveWithFewDescriptors is the other process.
func serveWithFewDescriptors(t *testing.T, backend string) {
	l := serve(t, variant{backend, 1})
	fd, err := unix.Dup(0)
	require.NoError(t, err)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(fd) + 20, Max: uint64(fd) + 20}))
	require.NoError(t, unix.Close(fd))
	fmt.Println(l.srv.Addrs()[0]) // not before the limit holds: clients come at once
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	fmt.Println("refused", strings.Count(l.logs.String(), "Accepting client connection"))
}
