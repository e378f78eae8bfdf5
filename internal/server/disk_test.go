package server

import (
	"regexp"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// places are where a commit of a loop can run.
func places(t *testing.T, test func(t *testing.T, v variant, place string)) {
	everywhere(t, func(t *testing.T, v variant) {
		test(t, v, "loop")
	})
	if loopsAvailable {
		for _, loops := range []int{1, 4} {
			t.Run("syncer-"+variant{"epoll", loops}.String(), func(t *testing.T) {
				t.Parallel()
				test(t, variant{"epoll", loops}, "syncer")
			})
		}
	}
}

// (I5) over sockets, with a disk that stands still: what observed the write
// that waits for it gets no answer; on the syncer's thread, others do.
func TestSlowDiskHoldsRepliesBack(t *testing.T) {
	places(t, func(t *testing.T, v variant, place string) {
		l := serve(t, v, tuned(func(t *Tunables) { t.SyncPlace = place }))
		writer, reader, other := l.dial(), l.dial(), l.dial()
		require.Equal(t, "+OK", other.do("SET", "mine", "1"))
		require.Equal(t, "+PONG", reader.do("PING"))

		entered, release := l.slowSync()
		before := l.eng.Durable()
		writer.send(wire("SET", "a", "1"))
		<-entered
		reader.send(wire("GET", "a"))
		if place == "syncer" || v.backend == "goroutine" {
			require.Equal(t, "1", other.do("GET", "mine"), "another slot does not wait")
			require.Equal(t, "+PONG", other.do("PING"))
		}
		if place == "syncer" {
			eventually(t, "both are parked", func() bool { return (*l.srv.backend.Load()).parked() == 2 })
			require.Equal(t, "syncer", (*l.srv.backend.Load()).syncPlace())
		}
		require.Equal(t, before, l.eng.Durable())
		require.False(t, writer.hasAnswer(), "an answer before the sync")
		require.False(t, reader.hasAnswer(), "an answer to a read before the sync of what it read")
		release()
		writer.expect("+OK\r\n")
		reader.expect("$1\r\n1\r\n")
		if v.backend != "goroutine" {
			counted := regexp.MustCompile(`(?s)group_commits:[1-9].*grouped_replies:[1-9]`)
			eventually(t, "commits are counted wherever the sync runs", func() bool {
				return counted.MatchString(other.do("INFO", "hapax"))
			})
		}
	})
}

// hasAnswer says whether something can be read at this moment.
func (p *peer) hasAnswer() bool {
	p.t.Helper()
	if p.r.Buffered() > 0 {
		return true
	}
	// A read whose deadline is over looks at no socket.
	raw, err := p.Conn.(syscall.Conn).SyscallConn()
	require.NoError(p.t, err)
	n := 0
	require.NoError(p.t, raw.Read(func(fd uintptr) bool {
		n, _, err = unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return true
	}))
	require.True(p.t, err == nil || err == unix.EAGAIN, err)
	return n > 0
}

// (I8) over sockets: a failed sync releases no reply, closes connections, and
// Serve says why.
func TestFailedSyncStopsTheServer(t *testing.T) {
	places(t, func(t *testing.T, v variant, place string) {
		l := serve(t, v, tuned(func(t *Tunables) { t.SyncPlace = place }))
		peers := make([]*peer, 8)
		for i := range peers {
			peers[i] = l.dial()
			require.Equal(t, "+OK", peers[i].do("SET", "a", "0"))
		}
		l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Err: errDisk, Sticky: true})
		var all sync.WaitGroup
		for _, p := range peers {
			all.Go(func() {
				// Some may find the connection closed already.
				_, _ = p.Conn.Write([]byte(wire("SET", "a", "1") + wire("GET", "a")))
				p.expectEnd()
			})
		}
		all.Wait()
		require.ErrorIs(t, <-l.served, errDisk)
		l.served = nil
		require.Equal(t, l.eng.Durable(), l.eng.Synced())
		require.Less(t, l.eng.Durable(), l.eng.Last())
	})
}

// An orderly stop waits for the disk, and delivers what waited for it.
func TestStopDeliversParkedReplies(t *testing.T) {
	places(t, func(t *testing.T, v variant, place string) {
		l := serve(t, v, tuned(func(t *Tunables) { t.SyncPlace = place }))
		p, q := l.dial(), l.dial()
		require.Equal(t, "+PONG", q.do("PING"))
		entered, release := l.slowSync()
		p.send(wire("SET", "a", "1"))
		<-entered
		if place == "syncer" {
			q.send(wire("SET", "b", "1")) // appended, and in no batch yet
			eventually(t, "both are parked", func() bool { return (*l.srv.backend.Load()).parked() == 2 })
		}
		l.stop()
		release()
		require.NoError(t, <-l.served)
		l.served = nil
		p.expect("+OK\r\n")
		p.expectEnd()
		if place == "syncer" {
			q.expect("+OK\r\n")
		}
		require.Equal(t, l.eng.Last(), l.eng.Synced())
	})
}

// Pipelined writers on the syncer's thread: replies keep their order while
// commits overtake each other.
func TestSyncerKeepsOrder(t *testing.T) {
	places(t, func(t *testing.T, v variant, place string) {
		l := serve(t, v, tuned(func(t *Tunables) { t.SyncPlace = place }))
		var all sync.WaitGroup
		for range 8 {
			p := l.dial()
			all.Go(func() {
				for n := range 50 {
					p.send(wire("SET", "k", "v") + wire("GET", "k") + wire("ECHO", "x") + wire("DBSIZE"))
					p.expect("+OK\r\n$1\r\nv\r\n$1\r\nx\r\n:1\r\n")
					_ = n
				}
			})
		}
		all.Wait()
		require.Equal(t, l.eng.Last(), l.eng.Durable())
	})
}
