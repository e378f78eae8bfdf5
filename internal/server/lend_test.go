package server

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// lenderOf counts what it lent and got back.
type lenderOf struct{ out map[uint64]bool }

func (l *lenderOf) Return(token uint64) { delete(l.out, token) }

// Whatever a session's output consists of, and however it leaves, what leaves
// are the bytes in order, and lent pieces go back when they have left.
func TestOutputIsAStream(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		lender := &lenderOf{out: map[uint64]bool{}}
		var s Session
		var b bufferStack
		var w resp.Writer
		var want, got []byte
		var token uint64
		durable := wal.LSN(0)
		for range 300 {
			switch rnd.IntN(5) {
			case 0, 1: // a reply, perhaps with lent pieces, perhaps taken back
				w = resp.Writer{Buf: s.out, Pieces: s.pieces, LentBytes: s.lentBytes}
				mark, before := len(w.Buf), w.Len()
				var flat resp.Writer
				for range 1 + rnd.IntN(3) {
					text := bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, rnd.IntN(20_000))
					flat.Bulk(text)
					if rnd.IntN(2) == 0 {
						w.Bulk(text)
						continue
					}
					token++
					lender.out[token] = true
					w.Lend(text, lender, token)
				}
				require.Equal(t, before+len(flat.Buf), w.Len())
				if rnd.IntN(6) == 0 {
					w.Truncate(mark)
				} else {
					want = append(want, flat.Buf...)
				}
				s.out, s.pieces, s.lentBytes = w.Buf, w.Pieces, w.LentBytes
				s.need += wal.LSN(rnd.IntN(2))
			case 2:
				durable += wal.LSN(rnd.IntN(3))
			default:
				ready := s.releasable(durable)
				require.GreaterOrEqual(t, ready, 0)
				if ready == 0 {
					continue
				}
				parts, n := s.appendFront(nil, 1+rnd.IntN(100_000))
				flat := bytes.Join(parts, nil)
				require.Len(t, flat, n)
				require.LessOrEqual(t, n, ready)
				require.Positive(t, n)
				if !s.lends() {
					require.Equal(t, flat, s.front(n))
				}
				n = rnd.IntN(n) + 1 // the socket takes less
				got = append(got, flat[:n]...)
				s.left(&b, n)
			}
			require.Equal(t, len(want)-len(got), s.unsent())
		}
		for durable = s.need; s.releasable(durable) > 0; {
			parts, n := s.appendFront(nil, 1<<20)
			got = append(got, bytes.Join(parts, nil)...)
			s.left(&b, n)
		}
		require.True(t, bytes.Equal(want, got), "seed %d", seed)
		require.Empty(t, lender.out)
		require.LessOrEqual(t, cap(s.pieces), keptPieces)
	}
}

func (l *lab) nothingLent() {
	l.t.Helper()
	eventually(l.t, "all loans returned", func() bool { return l.eng.Store.Lent() == shard.Lent{} })
}

// bigValue does not fit the buffers of a socket whose client has small ones and
// does not read: Linux gives the server's side 4 MiB at most.
var bigValue = strings.Repeat("0123456789abcdef", 6<<20/16)

// dialSlow is dial for a client that takes little at a time.
func (l *lab) dialSlow() *peer {
	p := l.dial()
	require.NoError(l.t, p.Conn.(*net.TCPConn).SetReadBuffer(16<<10))
	return p
}

// What has left of a stream that never gets empty is not carried along (I12).
func TestEndlessStreamStaysSmall(t *testing.T) {
	lender := &lenderOf{out: map[uint64]bool{}}
	var s Session
	var b bufferStack
	text := bytes.Repeat([]byte("v"), 100)
	for token := range uint64(20_000) {
		w := resp.Writer{Buf: s.out, Pieces: s.pieces, LentBytes: s.lentBytes}
		lender.out[token] = true
		w.Lend(text, lender, token)
		s.out, s.pieces, s.lentBytes = w.Buf, w.Pieces, w.LentBytes
		if ready := s.releasable(0); ready > 500 {
			s.left(&b, ready-50)
		}
	}
	require.Positive(t, s.unsent())
	require.LessOrEqual(t, len(lender.out), 6)
	require.Less(t, cap(s.pieces), 4*keptPieces)
	require.Less(t, cap(s.out), 4*compactBytes)
}

// A client that reads slowly gets the value as it was, whatever becomes of it;
// then its memory is free.
func TestSlowReaderGetsWhatItAskedFor(t *testing.T) {
	reply := fmt.Sprintf("$%d\r\n%s\r\n", len(bigValue), bigValue)
	for _, c := range []struct{ name, ask, change string }{
		{"replaced", wire("GET", "k"), wire("SET", "k", "other")},
		{"deleted", wire("GET", "k"), wire("DEL", "k")},
		{"edited", wire("GETRANGE", "k", "0", "-1"), wire("SETRANGE", "k", "6291000", "xyz")},
		{"appended to", wire("GETEX", "k", "EX", "100"), wire("APPEND", "k", "xyz")},
		{"renamed over", wire("GET", "k"), wire("SET", "a", "b") + wire("RENAME", "a", "k")},
		{"renamed away", wire("GET", "k"), wire("RENAME", "k", "z") + wire("DEL", "z")},
		{"moved", wire("GET", "k"), wire("MOVE", "k", "1") + wire("SELECT", "1") + wire("DEL", "k")},
		{"copied", wire("GET", "k"), wire("COPY", "k", "c") + wire("DEL", "k", "c")},
		{"expired", wire("GET", "k"), wire("PEXPIREAT", "k", "1")},
		{"taken away by its own command", wire("GETDEL", "k"), wire("SET", "k", "new")},
		{"replaced by its own command", wire("GETSET", "k", "new"), wire("PING")},
		{"replaced by SET GET", wire("SET", "k", "new", "GET"), wire("PING")},
		{"flushed", wire("GET", "k"), wire("FLUSHALL") + wire("SET", "k", "new")},
		{"swapped and moved", wire("GET", "k"), wire("SWAPDB", "0", "1") + wire("SELECT", "1") + wire("FLUSHDB")},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, v variant) {
				if c.name != "replaced" && (v.backend == plain || v.loops > 1) {
					t.Skip("like the other loops")
				}
				l := serve(t, v, inMemory)
				other := l.dial()
				require.Equal(t, "+OK", other.do("SET", "k", bigValue))
				slow := l.dialSlow()
				slow.send(c.ask)
				eventually(t, "the loan", func() bool { return l.eng.Store.Lent().Loans == 1 })
				other.send(c.change + wire("ECHO", "changed"))
				for line := ""; line != "changed\r\n"; {
					var err error
					line, err = other.r.ReadString('\n')
					require.NoError(t, err)
				}
				require.Equal(t, int64(1), l.eng.Store.Lent().Loans)
				slow.expect(reply)
				l.nothingLent()
			})
		})
	}
}

// A connection that ends while it is sent something gives everything back.
func TestEndedReaderReturnsLoans(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, inMemory)
		other := l.dial()
		require.Equal(t, "+OK", other.do("SET", "k", bigValue))
		for _, killed := range []bool{false, true} {
			slow := l.dialSlow()
			slow.send(strings.Repeat(wire("GET", "k"), 5))
			eventually(t, "the loan", func() bool { return l.eng.Store.Lent().Loans > 0 })
			require.LessOrEqual(t, l.eng.Store.Lent().Loans, int64(1), "executed on over unread replies")
			if killed {
				require.Equal(t, ":1", other.do("CLIENT", "KILL", "ADDR", slow.LocalAddr().String()))
			} else {
				_, err := io.CopyN(io.Discard, slow.r, 1<<20)
				require.NoError(t, err)
				slow.Close()
			}
			require.Equal(t, ":1", other.do("DEL", "k"))
			require.Equal(t, "+OK", other.do("SET", "k", bigValue))
			l.nothingLent()
		}
	})
}

// Loans of replies that nobody is to see end at once.
func TestReplyTakenBackReturnsLoans(t *testing.T) {
	l := newLab(t, tuned(func(t *Tunables) { t.MaxBulkBytes = 1 << 20 }))
	m := l.session()
	big := strings.Repeat("v", 300_000)
	require.Equal(t, "+OK\r\n", m.do("SET", "k", big))
	require.Equal(t, "-ERR the values together exceed the maximum string size (proto-max-bulk-len)\r\n",
		m.do("MGET", "k", "k", "k", "k"))
	require.Equal(t, shard.Lent{}, l.eng.Store.Lent())
	require.Empty(t, m.ask(wire("CLIENT", "REPLY", "SKIP")+wire("GET", "k")))
	require.Empty(t, m.ask(wire("CLIENT", "REPLY", "OFF")+wire("GET", "k")))
	require.Equal(t, shard.Lent{}, l.eng.Store.Lent())
	require.Equal(t, "+OK\r\n", m.do("CLIENT", "REPLY", "ON"))
	require.Equal(t, fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$-1\r\n", len(big), big), m.do("MGET", "k", "none"))
	require.Equal(t, shard.Lent{}, l.eng.Store.Lent())
}

// A lent reply waits for the log like any other, and counts as output.
func TestLentReplyWaitsAndCounts(t *testing.T) {
	l := newLab(t)
	m, other := l.session(), l.session()
	big := strings.Repeat("v", 200_000)
	m.feed(wire("SET", "k", big) + wire("GET", "k"))
	require.Empty(t, m.Output(), "left before it was durable")
	require.Equal(t, int64(1), l.eng.Store.Lent().Loans)
	require.Greater(t, m.Held(), len(big))
	require.Contains(t, other.do("CLIENT", "LIST", "ID", fmt.Sprint(m.State().ID)), fmt.Sprintf(" obl=%d ", m.Held()))
	require.NoError(t, m.Settle())
	require.Equal(t, fmt.Sprintf("+OK\r\n$%d\r\n%s\r\n", len(big), big), string(m.Output()))
	require.Equal(t, shard.Lent{}, l.eng.Store.Lent())
}

// Large values in a loop leave nothing to the collector.
func TestLargeValuesAllocateNothing(t *testing.T) {
	l := newLab(t, inMemory)
	m := l.session()
	const size = 4 << 20
	set, get := []byte(wire("SET", "k", strings.Repeat("v", size))), []byte(wire("GET", "k"))
	run := func() {
		if m.Feed(set) != nil || m.Feed(get) != nil || m.Settle() != nil || len(m.Output()) < size {
			panic("no reply")
		}
	}
	for range 3 {
		run()
	}
	require.Less(t, testing.AllocsPerRun(5, run), 10.0) // what a session without a socket costs; no buffer
	var before, after uint64 = heapAllocated(), 0
	for range 5 {
		run()
	}
	after = heapAllocated()
	require.Less(t, after-before, uint64(size))
}

// heapAllocated is how many bytes were ever allocated on the Go heap.
func heapAllocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
