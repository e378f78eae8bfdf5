//go:build linux

package server

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/netpoll"
)

// atOnce makes what do sends reach the loops in one round.
func (l *lab) atOnce(do func()) {
	resume := (*l.srv.backend.Load()).pause()
	do()
	resume()
}

// More connections than a vector holds have something to say in one round:
// whole requests, pieces of one, several, an end, a request and an end.
func TestManyReadyInOneRound(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		if v.backend == "goroutine" {
			t.Skip("it has no rounds")
		}
		l := serve(t, v)
		const clients = 3*netpoll.VectorCalls + 5
		peers := make([]*peer, clients)
		for i := range peers {
			peers[i] = l.dial()
			require.Equal(t, "+PONG", peers[i].do("PING"))
		}
		for round := range 20 {
			kind := func(i int) int { return (i + round) % 5 }
			text := func(i int) string { return strings.Repeat("v", i*round) }
			l.atOnce(func() {
				for i, p := range peers {
					key := fmt.Sprint("k", i)
					set := wire("SET", key, text(i))
					switch kind(i) {
					case 0:
						p.send(set + wire("GET", key))
					case 1:
						p.send(set[:len(set)/2])
					case 2: // nothing
					case 3:
						p.send(set)
						require.NoError(t, p.Conn.(*net.TCPConn).CloseWrite())
					case 4:
						p.Close()
					}
				}
			})
			for i, p := range peers {
				key := fmt.Sprint("k", i)
				set := wire("SET", key, text(i))
				bulk := fmt.Sprintf("$%d\r\n%s\r\n", len(text(i)), text(i))
				switch kind(i) {
				case 0:
					p.expect("+OK\r\n" + bulk)
				case 1:
					p.send(set[len(set)/2:])
					p.expect("+OK\r\n")
				case 2:
					require.Equal(t, "+PONG", p.do("PING"))
				case 3:
					p.expect("+OK\r\n")
					p.expectEnd()
					peers[i] = l.dial()
				case 4:
					peers[i] = l.dial()
				}
			}
		}
	})
}

// (I5) for replies that leave many at a time: none before the sync of what any
// of the round wrote.
func TestARoundOfWritersWaitsForItsSync(t *testing.T) {
	l := serve(t, variant{"epoll", 1}, tuned(func(t *Tunables) { t.SyncPlace = "loop" }))
	peers := make([]*peer, netpoll.VectorCalls+8)
	for i := range peers {
		peers[i] = l.dial()
		require.Equal(t, "+PONG", peers[i].do("PING"))
	}
	entered, release := l.slowSync()
	l.atOnce(func() {
		for i, p := range peers {
			p.send(wire("SET", fmt.Sprint("k", i), "v"))
		}
	})
	<-entered
	for i, p := range peers {
		require.False(t, p.hasAnswer(), "client %d has an answer before the sync", i)
	}
	release()
	for _, p := range peers {
		p.expect("+OK\r\n")
	}
}

// One kills others whose requests came in the same round.
func TestKillWithinARound(t *testing.T) {
	l := serve(t, variant{"epoll", 1})
	killer := l.dial()
	require.Equal(t, "+PONG", killer.do("PING"))
	victims := make([]*peer, 40)
	for i := range victims {
		victims[i] = l.dial()
		require.Equal(t, "+OK", victims[i].do("CLIENT", "SETNAME", "victim"))
	}
	l.atOnce(func() {
		for _, p := range victims[:20] {
			p.send(wire("SET", "k", "v"))
		}
		killer.send(wire("CLIENT", "KILL", "TYPE", "normal"))
		for _, p := range victims[20:] {
			p.send(wire("SET", "k", "v"))
		}
	})
	killer.expect(":40\r\n")
	for _, p := range victims {
		_, _ = p.r.ReadString('\n') // its answer, if it was before the killer
		p.expectEnd()
	}
	require.Equal(t, "+PONG", killer.do("PING"))
}

const lostRingEnv = "HAPAX_TEST_LOST_RING"

// When the system fails the ring, the loop goes on without it and no request
// is lost. It runs in a process of its own, whose descriptors it may take.
func TestLoopWithoutItsRing(t *testing.T) {
	if os.Getenv(lostRingEnv) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestLoopWithoutItsRing$", "-test.v")
		child.Env = append(os.Environ(), lostRingEnv+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, string(out))
		if strings.Contains(string(out), "SKIP") {
			t.Skip("no io_uring here")
		}
		return
	}
	l := serve(t, variant{"epoll", 1})
	const clients = 40
	peers := make([]*peer, clients)
	for i := range peers {
		peers[i] = l.dial()
		require.Equal(t, "+PONG", peers[i].do("PING"))
	}
	if !l.srv.batched.Load() {
		t.Skip("no io_uring here")
	}
	l.atOnce(func() {
		takeRings(t)
		for i, p := range peers {
			p.send(wire("SET", fmt.Sprint("k", i), "v") + wire("GET", fmt.Sprint("k", i)))
		}
	})
	for _, p := range peers {
		p.expect("+OK\r\n$1\r\nv\r\n")
	}
	require.False(t, l.srv.batched.Load())
	require.Contains(t, l.logs.String(), "one by one from now on")
	require.Contains(t, peers[0].do("INFO", "hapax"), "io_uring:0")
}

// takeRings puts something else in the place of every io_uring.
func takeRings(t *testing.T) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	taken := 0
	for _, fd := range fds {
		if target, _ := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); target == "anon_inode:[io_uring]" {
			var n int
			_, err := fmt.Sscan(fd.Name(), &n)
			require.NoError(t, err)
			require.NoError(t, unix.Dup3(int(null.Fd()), n, unix.O_CLOEXEC))
			taken++
		}
	}
	require.NotZero(t, taken)
}
