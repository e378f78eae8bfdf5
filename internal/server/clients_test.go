package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/wal"
)

func (p *peer) id() string { return strings.TrimPrefix(p.do("CLIENT", "ID"), ":") }

func TestClientListShowsEverybody(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		peers := make([]*peer, 6)
		for i := range peers {
			peers[i] = l.dial()
			require.Equal(t, "+OK", peers[i].do("CLIENT", "SETNAME", "peer-"+strconv.Itoa(i)))
			require.Equal(t, "+OK", peers[i].do("SELECT", strconv.Itoa(i)))
		}
		var lines []string
		eventually(t, "each has published its name", func() bool {
			lines = strings.Split(strings.TrimSpace(peers[3].do("CLIENT", "LIST")), "\n")
			all := strings.Join(lines, "\n")
			for i := range peers {
				if !strings.Contains(all, fmt.Sprintf("name=peer-%d ", i)) || !strings.Contains(all, fmt.Sprintf("db=%d ", i)) {
					return false
				}
			}
			return true
		})
		require.Len(t, lines, len(peers))
		for i, line := range lines {
			require.Contains(t, line, fmt.Sprintf("name=peer-%d ", i), "in id order")
			require.Contains(t, line, "addr="+peers[i].LocalAddr().String()+" ")
			require.Contains(t, line, "laddr="+peers[i].RemoteAddr().String()+" ")
		}
		require.Contains(t, lines[3], "cmd=client|list")
		require.Contains(t, lines[2], "cmd=select")
		require.Contains(t, peers[0].do("CLIENT", "INFO"), "name=peer-0 ")
	})
}

func TestClientKillReachesOtherLoops(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		killer := l.dial()
		for range 8 {
			victim := l.dial()
			id := victim.id()
			require.Equal(t, ":1", killer.do("CLIENT", "KILL", "ID", id))
			victim.expectEnd()
			eventually(t, "forgotten", func() bool { return killer.do("CLIENT", "KILL", "ID", id) == ":0" })
		}
		require.Equal(t, ":1", killer.do("CLIENT", "KILL", "ID", killer.id(), "SKIPME", "no"))
		killer.expectEnd()
		require.Equal(t, "+PONG", l.dial().do("PING"))
	})
}

// Clients of all loops list, kill and unblock each other all the time: no
// deadlock, and the race detector has something to look at.
func TestClientsMeddleWithEachOther(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 10 {
					victim, p := l.dial(), l.dial()
					p.do("CLIENT", "SETNAME", "n"+strconv.Itoa(i))
					id := victim.id()
					victim.send(wire("WAIT", "1", "0"))
					eventually(t, "unblocked", func() bool { return p.do("CLIENT", "UNBLOCK", id) == ":1" })
					victim.expect(":0\r\n")
					p.do("CLIENT", "LIST")
					p.do("INFO", "everything")
					p.do("CLIENT", "KILL", "ID", id)
					victim.expectEnd()
					p.Close()
				}
			})
		}
		all.Wait()
		eventually(t, "all are gone", func() bool { return l.srv.clients.count.Load() == 0 })
		require.Zero(t, l.srv.clients.waiting.Load())
	})
}

func TestBlockedWait(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p, other := l.dial(), l.dial()
		// What was sent behind it waits with it.
		p.send(wire("SET", "a", "1") + wire("WAIT", "1", "30") + wire("GET", "a"))
		p.expect("+OK\r\n:0\r\n$1\r\n1\r\n")

		id := p.id()
		p.send(wire("WAIT", "1", "0") + wire("PING"))
		eventually(t, "blocked", func() bool { return strings.Contains(other.do("INFO", "clients"), "blocked_clients:1") })
		require.Contains(t, other.do("CLIENT", "LIST", "ID", id), "flags=b")
		require.Equal(t, ":1", other.do("CLIENT", "UNBLOCK", id, "ERROR"))
		p.expect("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n+PONG\r\n")
		require.Equal(t, ":0", other.do("CLIENT", "UNBLOCK", id), "it waits no more")

		p.send(wire("WAIT", "1", "0"))
		eventually(t, "blocked", func() bool { return l.srv.clients.waiting.Load() == 1 })
		p.Close()
		eventually(t, "a blocked client that went away is forgotten", func() bool {
			return l.srv.clients.waiting.Load() == 0 && l.srv.clients.count.Load() == 1
		})
	})
}

func TestKillOfABlockedClient(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p, other := l.dial(), l.dial()
		id := p.id()
		p.send(wire("WAIT", "1", "0"))
		eventually(t, "blocked", func() bool { return l.srv.clients.waiting.Load() == 1 })
		require.Equal(t, ":1", other.do("CLIENT", "KILL", "ID", id))
		p.expectEnd()
		eventually(t, "forgotten", func() bool { return l.srv.clients.waiting.Load() == 0 })
	})
}

func TestStopWithABlockedClient(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		p.send(wire("WAIT", "1", "0"))
		eventually(t, "blocked", func() bool { return l.srv.clients.waiting.Load() == 1 })
		require.NoError(t, l.halt())
		p.expectEnd()
	})
}

// WAITAOF under everysec is the one command that waits for the disk itself.
func TestWaitAOF(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		p.send(wire("SET", "a", "1") + wire("WAITAOF", "1", "0", "0"))
		p.expect("+OK\r\n")
		require.Equal(t, "[:1 :0]", p.reply())
	})
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.Fsync = wal.EverySec }))
		p, other := l.dial(), l.dial()
		entered, release := l.slowSync()
		p.send(wire("SET", "a", "1") + wire("WAITAOF", "1", "0", "0") + wire("GET", "a"))
		p.expect("+OK\r\n")
		<-entered
		eventually(t, "blocked", func() bool { return l.srv.clients.waiting.Load() == 1 })
		require.Equal(t, "1", other.do("GET", "a"))
		require.False(t, p.hasAnswer())
		release()
		require.Equal(t, "[:1 :0]", p.reply())
		p.expect("$1\r\n1\r\n")
	})
}
