package server

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// A full disk, from its first sign to the end of the reserve and back.

const refusedForRoom = "-MISCONF Errors writing to the AOF file: "

func smallSegments(s *setup) { s.segment = 64 << 10 }

// until repeats a command until its reply begins with want.
func (m *mem) until(want string, args ...string) {
	m.t.Helper()
	for range 10_000 {
		if strings.HasPrefix(m.do(args...), want) {
			return
		}
	}
	require.Fail(m.t, "it never came to that", "%q: %s", args, want)
}

func TestFullDisk(t *testing.T) {
	l := newLab(t, smallSegments)
	m := l.session()
	long := strings.Repeat("v", 5000)
	for _, args := range [][]string{
		{"SET", "old", "1"}, {"SET", "long", long}, {"SET", "soon", "1", "PX", "1000"}, {"SET", "later", "1", "PX", "5000"},
	} {
		require.Equal(t, "+OK\r\n", m.do(args...))
	}
	require.Contains(t, m.do("IDEM", "op", "BEGIN", "fp", "me", "60000"), "acquired")
	l.fs.Full(true)
	m.until(refusedForRoom+"the log cannot grow", "SET", "k", long)
	l.srv.tick(m.ex)
	require.Contains(t, l.logs.String(), "Writes are refused, but for those that make room: MISCONF")

	last := l.eng.Last()
	for _, args := range [][]string{
		{"SET", "k", "2"}, {"INCR", "old"}, {"APPEND", "old", "x"}, {"MSET", "a", "1", "b", "2"}, {"GETSET", "old", "2"},
		{"RENAME", "long", "x"}, {"COPY", "long", "x"}, {"MOVE", "long", "1"},
		{"IDEM", "new", "BEGIN", "fp", "me", "1000"}, {"IDEM", "op", "COMPLETE", "fp", "me", "result"},
		{"ONCE", "new", "1000"}, {"LIMIT", "new", "1", "1000"},
	} {
		require.Contains(t, m.do(args...), refusedForRoom, "%q", args)
	}
	require.Equal(t, last, l.eng.Last(), "nothing was appended")
	require.Equal(t, "$1\r\n1\r\n", m.do("GET", "old"))
	require.Equal(t, "*1\r\n$7\r\npending\r\n", m.do("IDEM", "op", "BEGIN", "fp", "me", "1000"))
	require.Equal(t, ":1\r\n", m.do("EXPIRE", "long", "100"))
	require.Equal(t, ":1\r\n", m.do("PERSIST", "long"))
	require.Equal(t, ":1\r\n", m.do("DEL", "k"))
	require.Equal(t, "$1\r\n1\r\n", m.do("GET", "soon"))
	l.clock.AdvanceMilli(1000)
	require.Equal(t, "$-1\r\n", m.do("GET", "soon"), "the reserve is for this too")

	// The reserve ends.
	m.until(refusedForRoom+"the log has no room", "EXPIRE", "old", "100")
	l.srv.tick(m.ex)
	require.Contains(t, l.logs.String(), "All writes are refused, and nothing expires: MISCONF")
	last = l.eng.Last()
	l.clock.AdvanceMilli(50_000)
	for _, args := range [][]string{
		{"DEL", "old"}, {"EXPIRE", "old", "1"}, {"FLUSHALL"}, {"SWAPDB", "0", "1"}, {"SET", "k", "1"}, {"RENAME", "old", "x"},
	} {
		require.Contains(t, m.do(args...), refusedForRoom, "%q", args)
	}
	require.Equal(t, "$1\r\n1\r\n", m.do("GET", "later"), "nothing expires: nobody could make it last")
	require.Equal(t, ":4\r\n", m.do("TTL", "later"))
	require.Equal(t, "*1\r\n$7\r\npending\r\n", m.do("IDEM", "op", "BEGIN", "fp", "me", "1000"))
	require.Equal(t, "+PONG\r\n", m.do("PING"))
	require.Contains(t, m.do("INFO", "persistence"), "aof_last_write_status:err\r\n")
	l.srv.tick(m.ex)
	require.Equal(t, last, l.eng.Last(), "reads append nothing, and nothing happens by itself")
	require.NoError(t, l.eng.Err())

	l.fs.Full(false)
	eventually(t, "writes are accepted", func() bool { return m.do("SET", "k", "1") == "+OK\r\n" })
	l.srv.tick(m.ex)
	require.Contains(t, l.logs.String(), "The log has room again")
	require.Equal(t, "$-1\r\n", m.do("GET", "later"))
	require.Equal(t, ":1\r\n", m.do("IDEM", "op", "COMPLETE", "fp", "me", "result"), "its time is not over")
	require.Contains(t, m.do("INFO", "persistence"), "aof_last_write_status:ok\r\n")

	back := l.reopened(smallSegments).session()
	require.Equal(t, "$1\r\n1\r\n", back.do("GET", "k"))
	require.Equal(t, ":5000\r\n", back.do("STRLEN", "long"))
	require.Equal(t, "$-1\r\n", back.do("GET", "later"))
}

// Everybody writes while the disk is full, over sockets: the log never fails,
// readers are served, and all that was acknowledged is there afterwards.
func TestFullDiskUnderLoad(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, smallSegments)
		l.fs.Full(true)
		value := strings.Repeat("v", 1000)
		var writers sync.WaitGroup
		var refused, healed atomic.Int64
		var stop atomic.Bool
		acknowledged := make([]string, 6)
		for n := range acknowledged {
			p := l.dial()
			writers.Go(func() {
				key := fmt.Sprint("k", n)
				for i := 0; !stop.Load(); i++ {
					next := fmt.Sprint(i, value)
					switch got := p.do("SET", key, next); {
					case got == "+OK":
						acknowledged[n] = next
						healed.Add(1)
					case strings.HasPrefix(got, refusedForRoom):
						refused.Add(1)
					default:
						t.Errorf("SET: %.100q", got)
						return
					}
					if got := p.do("DEL", key+"gone"); got != ":0" && !strings.HasPrefix(got, refusedForRoom) {
						t.Errorf("DEL: %.100q", got)
					}
					if got := p.do("GET", key); got != acknowledged[n] && acknowledged[n] != "" {
						t.Errorf("GET: %.100q, want %.100q", got, acknowledged[n])
					}
				}
			})
		}
		eventually(t, "all are refused", func() bool { return refused.Load() > 100 })
		l.fs.Full(false)
		before := healed.Load()
		eventually(t, "all are accepted", func() bool { return healed.Load() > before+100 })
		stop.Store(true)
		writers.Wait()
		require.NoError(t, l.halt())
		m := l.reopened(smallSegments).session()
		for n, want := range acknowledged {
			require.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(want), want), m.do("GET", fmt.Sprint("k", n)))
		}
	})
}

// Room for snapshots is nobody's but theirs: without it they fail, and the
// server goes on.
func TestNoRoomForASnapshot(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		l.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "snapshot", Err: syscall.ENOSPC, Sticky: true})
		require.Contains(t, p.do("SAVE"), "-ERR ")
		require.Equal(t, "+OK", p.do("SET", "a", "2"))
		require.Contains(t, p.do("INFO", "persistence"), "rdb_last_bgsave_status:err\r\n")
		l.fs.Clear()
		require.Equal(t, "+OK", p.do("SAVE"))
		require.Contains(t, p.do("INFO", "persistence"), "rdb_last_bgsave_status:ok\r\n")
	})
}
