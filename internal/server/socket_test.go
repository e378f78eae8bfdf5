package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestManyClientsAtOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		const clients, each = 20, 50
		var all sync.WaitGroup
		for i := range clients {
			p := l.dial()
			all.Go(func() {
				for n := range each {
					key := fmt.Sprintf("k%d-%d", i, n)
					if got := p.do("SET", key, key); got != "+OK" {
						t.Errorf("SET: %s", got)
					}
					if got := p.do("GET", key); got != key {
						t.Errorf("GET: %s", got)
					}
					p.do("INCR", "sum")
				}
			})
		}
		all.Wait()
		p := l.dial()
		require.Equal(t, strconv.Itoa(clients*each), p.do("GET", "sum"))
		require.Equal(t, ":"+strconv.Itoa(clients*each+1), p.do("DBSIZE"))
	})
}

// Pipelines of writes to the same few keys on all loops: what is parsed ahead
// and prefetched in one loop changes under it in another.
func TestPipelinesMeetOnTheSameKeys(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, inMemory)
		var all sync.WaitGroup
		for i := range 8 {
			p := l.dial()
			all.Go(func() {
				for n := range 20 {
					var sent, want strings.Builder
					for k := range 30 {
						sent.WriteString(wire("SET", "k"+strconv.Itoa(k), strings.Repeat("v", n*k)) + wire("INCR", "n"+strconv.Itoa(i)))
						want.WriteString("+OK\r\n:" + strconv.Itoa(n*30+k+1) + "\r\n")
					}
					p.send(sent.String())
					p.expect(want.String())
				}
			})
		}
		all.Wait()
		require.Equal(t, ":38", l.dial().do("DBSIZE"))
	})
}

// A pipeline of 100,000 commands is answered in order and in bounded memory,
// while another client gets its answers in between.
func TestLongPipelineStarvesNobody(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		long, short := l.dial(), l.dial()
		const commands = 100_000
		var sent sync.WaitGroup
		sent.Go(func() {
			b := []byte(strings.Repeat(wire("INCR", "n"), 1000))
			for range commands / 1000 {
				if _, err := long.Conn.Write(b); err != nil {
					t.Errorf("write: %v", err)
				}
			}
		})
		long.expect(":1\r\n")
		for range 10 {
			require.Equal(t, "+PONG", short.do("PING"))
		}
		for n := 2; n <= commands; n++ {
			long.expect(":" + strconv.Itoa(n) + "\r\n")
		}
		sent.Wait()
	})
}

func TestBarrierPipelineOverSockets(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		p.send(strings.Repeat(wire("SET", "a", "1")+wire("DBSIZE")+wire("CLIENT", "GETNAME")+wire("GET", "a"), 100))
		p.expect(strings.Repeat("+OK\r\n:1\r\n$-1\r\n$1\r\n1\r\n", 100))
		require.Equal(t, "+PONG", p.do("PING"), "and input is watched again")
	})
}

func TestBytesOneAtATime(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		for _, c := range []byte(wire("SET", "a", "12345") + "get a\r\n" + wire("STRLEN", "a")) {
			p.send(string([]byte{c}))
		}
		p.expect("+OK\r\n$5\r\n12345\r\n:5\r\n")
	})
}

func TestLargeValues(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		for _, size := range []int{0, 1, readBytes/2 - 1, readBytes, readBytes + 1, 5_000_000} {
			value := strings.Repeat("v", size)
			require.Equal(t, "+OK", p.do("SET", "k", value))
			var sent sync.WaitGroup // who sends much has to read meanwhile
			sent.Go(func() { p.send(wire("GET", "k") + wire("SET", "k2", value) + wire("STRLEN", "k2")) })
			p.expect(fmt.Sprintf("$%d\r\n%s\r\n+OK\r\n:%d\r\n", size, value, size))
			sent.Wait()
		}
	})
}

// A client that shuts down its side after sending gets every answer.
func TestHalfClosed(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		// No pause: the end comes while much is still to be sent.
		l := serve(t, v, tuned(func(t *Tunables) { t.OutputPauseBytes = 1 << 30 }))
		big := strings.Repeat("v", 1<<20)
		require.Equal(t, "+OK", l.dial().do("SET", "big", big))
		bigReply := "$1048576\r\n" + big + "\r\n"
		for _, c := range []struct{ sent, want string }{
			{strings.Repeat(wire("GET", "big"), 20), strings.Repeat(bigReply, 20)}, // more than the socket takes at once
			{"", ""},
			{"PING\r\n", "+PONG\r\n"},
			{"SET a 1\r\nDBSIZE\r\nINCR a\r\nDBSIZE\r\nGET a\r\nGE", "+OK\r\n:2\r\n:2\r\n:2\r\n$1\r\n2\r\n"},
			{strings.Repeat("PING\r\n", 50_000), strings.Repeat("+PONG\r\n", 50_000)},
		} {
			p := l.dial()
			var sent sync.WaitGroup
			sent.Go(func() {
				_, _ = io.WriteString(p.Conn, c.sent)
				_ = p.Conn.(*net.TCPConn).CloseWrite()
			})
			p.expect(c.want)
			p.expectEnd()
			sent.Wait()
		}
		eventually(t, "closed connections are forgotten", func() bool { return l.srv.clients.count.Load() == 1 })
	})
}

func TestResetIsForgotten(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		for range 20 {
			p := l.dial()
			p.send("PING\r\nGET ")
			_ = p.Conn.(*net.TCPConn).SetLinger(0)
			p.Close()
		}
		require.Equal(t, "+PONG", l.dial().do("PING"))
		eventually(t, "one is left", func() bool { return l.srv.clients.count.Load() == 1 })
	})
}

func TestMaxClients(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.MaxClients = 3 }))
		peers := []*peer{l.dial(), l.dial(), l.dial()}
		for _, p := range peers {
			require.Equal(t, "+PONG", p.do("PING"))
		}
		over := l.dial()
		over.expect("-ERR max number of clients reached\r\n")
		over.expectEnd()
		peers[0].Close()
		eventually(t, "the place is free", func() bool { return l.srv.clients.count.Load() == 2 })
		require.Equal(t, "+PONG", l.dial().do("PING"))
		require.Contains(t, peers[1].do("INFO", "stats"), "rejected_connections:1")
	})
}

func TestProtectedModeLetsLoopbackIn(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.ProtectedMode = true }))
		require.Equal(t, "+PONG", l.dial().do("PING"))
	})
	l := newLab(t, tuned(func(t *Tunables) { t.ProtectedMode = true }))
	far := client{addr: "192.0.2.7:4711"}
	require.Contains(t, l.srv.refusal(&far), "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set")
	for _, near := range []*client{{addr: "127.9.9.9:1"}, {addr: "[::1]:1"}, {addr: "[::ffff:127.0.0.1]:1"}, {addr: "/x:0", unixSocket: true}} {
		require.Empty(t, l.srv.refusal(near), near.addr)
	}
	l.srv.Retune(Tunables{ProtectedMode: true, Password: "x"})
	require.Empty(t, l.srv.refusal(&far))
}

func TestUnixSocket(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		path := t.TempDir() + "/s"
		l := serve(t, v, func(s *setup) {
			s.options.UnixSocket, s.options.UnixSocketPerm, s.options.NoTCP = path, 0o700, true
		})
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.EqualValues(t, 0o700, info.Mode().Perm())
		c, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer c.Close()
		p := &peer{t: t, Conn: c, r: bufio.NewReader(c)}
		list := p.do("CLIENT", "LIST")
		require.Contains(t, list, "addr="+path+":0")
		require.Contains(t, list, "flags=U")
		require.NoError(t, l.halt())
		_, err = os.Stat(path)
		require.ErrorIs(t, err, os.ErrNotExist, "an orderly stop takes its socket file away")
	})
}

func TestIdleTimeout(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.TimeoutSec = 1 }))
		p := l.dial()
		require.Equal(t, "+PONG", p.do("PING"))
		p.expectEnd()
	})
}

// A client that asks for much and never reads costs little, and is let be.
func TestNeverReadingClientsStaySmall(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "big", strings.Repeat("v", 1<<20)))
		const clients = 10
		for range clients {
			l.dial().send(strings.Repeat(wire("GET", "big"), 400))
		}
		eventually(t, "all are stopped by their output", func() bool {
			stopped := 0
			for _, s := range l.srv.clients.all() {
				s.mu.Lock()
				if s.shown.outputLen > 0 {
					stopped++
				}
				s.mu.Unlock()
			}
			return stopped == clients
		})
		for _, s := range l.srv.clients.all() {
			s.mu.Lock()
			held := s.shown.outputCap + s.shown.input + s.shown.inputFree
			s.mu.Unlock()
			require.Less(t, held, 5<<20)
		}
		require.Equal(t, "+PONG", p.do("PING"))
	})
}

// The same client, once it reads, gets all of it.
func TestSlowReaderGetsEverything(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		value := strings.Repeat("v", 1<<20)
		require.Equal(t, "+OK", p.do("SET", "big", value))
		p.send(strings.Repeat(wire("GET", "big"), 50) + wire("DBSIZE"))
		for range 50 {
			p.expect("$1048576\r\n" + value + "\r\n")
		}
		p.expect(":1\r\n")
	})
}

func TestOutputLimitCloses(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) {
			t.OutputHardLimit = 100_000
			t.OutputPauseBytes = 16 << 20
		}))
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "big", strings.Repeat("v", 1<<20)))
		lazy := l.dial()
		lazy.send(strings.Repeat(wire("GET", "big"), 30))
		eventually(t, "the client that does not read is closed", func() bool {
			return strings.Contains(l.logs.String(), "output buffer limits") && l.srv.clients.count.Load() == 1
		})
		require.Contains(t, p.do("INFO", "hapax"), "output_limit_closes:1")
	})
}

// One reply over every limit is delivered, to a client that takes its time.
func TestOneLargeReplyIsNoBacklog(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.OutputHardLimit, t.OutputPauseBytes = 100_000, 50_000 }))
		value := strings.Repeat("v", 20<<20) // more than the sockets between them hold
		require.Equal(t, "+OK", l.dial().do("SET", "big", value))
		p := l.dial()
		p.send(wire("GET", "big"))
		eventually(t, "the sockets are full", func() bool {
			for _, s := range l.srv.clients.all() {
				s.mu.Lock()
				unsent := s.shown.outputLen
				s.mu.Unlock()
				if unsent > 0 {
					return true
				}
			}
			return false
		})
		p.expect(fmt.Sprintf("$%d\r\n%s\r\n", len(value), value))
		require.Equal(t, "+PONG", p.do("PING"))
	})
}

func TestSoftOutputLimitCloses(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.OutputSoftLimit, t.OutputSoftSec = 100_000, 1 }))
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "big", strings.Repeat("v", 16<<20)))
		lazy := l.dial()
		lazy.send(wire("GET", "big"))
		eventually(t, "closed", func() bool {
			return strings.Contains(l.logs.String(), "output buffer limits") && l.srv.clients.count.Load() == 1
		})
	})
}

// 200 connections that declare a million arguments of 512 MB each.
func TestDeclarationsReserveNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		const received = 40_000
		peers := make([]*peer, 200)
		for i := range peers {
			peers[i] = l.dial()
			peers[i].send("*1000000\r\n$536870912\r\nabc")
		}
		for _, p := range peers { // a second read goes to a buffer of the request's own
			p.send(strings.Repeat("x", received))
		}
		eventually(t, "all is read", func() bool {
			reading := 0
			for _, s := range l.srv.clients.all() {
				s.mu.Lock()
				if s.shown.input > received {
					reading++
				}
				if s.shown.input+s.shown.inputFree > 2*readBytes {
					t.Errorf("holds %d", s.shown.input+s.shown.inputFree)
				}
				s.mu.Unlock()
			}
			return reading == len(peers) || t.Failed()
		})
		require.Equal(t, "+PONG", l.dial().do("PING"))
	})
}

func TestForeignProtocols(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		hello := "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\xab", 500)
		for name, sent := range map[string]string{
			"HTTP":   "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
			"TLS":    hello + "\n" + hello,
			"random": strings.Repeat("\x00\xff*$\r\n\x01", 20_000),
		} {
			p := l.dial()
			// The server may close before it has read all; that is an answer too.
			_, _ = io.WriteString(p.Conn, sent)
			_ = p.Conn.(*net.TCPConn).CloseWrite()
			rest, _ := io.ReadAll(p.r)
			for _, line := range strings.Split(strings.TrimSuffix(string(rest), "\r\n"), "\r\n") {
				require.True(t, line == "" || line[0] == '-', "%s: %q", name, line)
			}
		}
		require.Equal(t, "+PONG", l.dial().do("PING"))
	})
}

func TestServeRecoversAndAnswersMeanwhile(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, func(s *setup) { s.loading = true })
		p := l.dial()
		eventually(t, "loaded", func() bool {
			got := p.do("SET", "a", "1")
			require.True(t, got == "+OK" || strings.HasPrefix(got, "-LOADING"), got)
			return got == "+OK"
		})
	})
}

func TestOrderlyStop(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p, idle := l.dial(), l.dial()
		require.Equal(t, "+PONG", idle.do("PING"))
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		require.NoError(t, l.halt())
		p.expectEnd()
		idle.expectEnd()
		require.Equal(t, l.eng.Last(), l.eng.Synced())
		_, err := net.DialTimeout("tcp", l.srv.Addrs()[0].String(), time.Second)
		require.Error(t, err, "no longer listening")
	})
}

func TestShutdownCommand(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		p.send("SET a 1\r\nSHUTDOWN\r\nSET a 2\r\n")
		p.expect("+OK\r\n")
		require.NoError(t, <-l.served)
		l.served = nil
		p.expectEnd()
		require.Equal(t, "$1\r\n1\r\n", l.session().do("GET", "a"))
	})
}

func TestListenErrors(t *testing.T) {
	l := newLab(t)
	require.NoError(t, l.srv.Listen())
	require.Error(t, l.srv.Listen(), "once")
	port := l.srv.Addrs()[0].(*net.TCPAddr).Port

	other, err := New(Options{Binds: []string{"127.0.0.1"}, Port: port}, l.eng)
	require.NoError(t, err)
	require.ErrorContains(t, other.Listen(), fmt.Sprintf("127.0.0.1 port %d", port))

	other, err = New(Options{Binds: []string{"-203.0.113.77", "127.0.0.1"}}, l.eng)
	require.NoError(t, err)
	require.NoError(t, other.Listen(), "an address marked as optional may be missing")
	require.Len(t, other.Addrs(), 1)
	other.closeListeners()

	_, err = New(Options{Backend: "magic"}, l.eng)
	require.ErrorContains(t, err, "magic")
	l.srv.closeListeners()
}
