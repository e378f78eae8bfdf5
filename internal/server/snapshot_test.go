package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// holdSnapshot makes the next snapshot wait before it syncs its file, until
// release is called.
func (l *lab) holdSnapshot() (entered <-chan struct{}, release func()) {
	gate, arrived := make(chan struct{}), make(chan struct{}, 1000)
	l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: engine.SnapshotDir, Sticky: true, Before: func() {
		arrived <- struct{}{}
		<-gate
	}})
	var once sync.Once
	release = func() { once.Do(func() { close(gate) }) }
	l.t.Cleanup(release)
	return arrived, release
}

// ended waits until so many snapshots are over.
func (l *lab) ended(n int64) {
	l.t.Helper()
	eventually(l.t, fmt.Sprintf("%d snapshots are over", n), func() bool { return l.eng.SnapshotStatus().Ended >= n })
}

// reopened is a lab on what is on disk after the first was closed.
func (l *lab) reopened(change ...func(s *setup)) *lab {
	l.t.Helper()
	require.NoError(l.t, l.eng.Close())
	l.eng = nil
	l.fs.Clear()
	return newLab(l.t, append([]func(s *setup){func(s *setup) { s.files, s.realTime = l.fs, true }}, change...)...)
}

const (
	saving    = "-ERR Background save already in progress"
	rewriting = "-ERR Background append only file rewriting already in progress"
)

func TestSaveParksItsClientAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		saver, other := l.dial(), l.dial()
		id := strings.TrimPrefix(saver.do("CLIENT", "ID"), ":")
		require.Equal(t, "+OK", other.do("SET", "a", "1"))
		before := other.do("LASTSAVE")
		entered, release := l.holdSnapshot()
		saver.send(wire("SAVE") + wire("GET", "a"))
		<-entered
		require.Equal(t, "+OK", other.do("SET", "a", "2"))
		require.Equal(t, "2", other.do("GET", "a"))
		require.Contains(t, other.do("CLIENT", "LIST", "ID", id), " flags=b ")
		require.Equal(t, ":0", other.do("CLIENT", "UNBLOCK", id), "it does not wait for something that may not come")
		require.Equal(t, saving, other.do("BGSAVE"))
		info := other.do("INFO", "persistence")
		require.Contains(t, info, "rdb_bgsave_in_progress:1\r\n")
		require.Contains(t, info, "current_save_keys_processed:1\r\n")
		require.Contains(t, other.do("INFO", "clients"), "blocked_clients:1\r\n")
		require.Equal(t, before, other.do("LASTSAVE"))
		require.False(t, saver.hasAnswer())
		release()
		saver.expect("+OK\r\n$1\r\n2\r\n")
		info = other.do("INFO", "persistence")
		require.Contains(t, info, "rdb_bgsave_in_progress:0\r\n")
		require.Contains(t, info, "rdb_saves:1\r\n")
		require.Contains(t, info, "rdb_last_bgsave_status:ok\r\n")
		require.Contains(t, other.do("INFO", "clients"), "blocked_clients:0\r\n")
	})
}

// As in Redis each is answered by a snapshot that began after it came.
func TestTwoSaves(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		first, second, third := l.dial(), l.dial(), l.dial()
		entered, release := l.holdSnapshot()
		first.send(wire("SAVE"))
		<-entered
		second.send(wire("SAVE"))
		third.send(wire("SAVE"))
		eventually(t, "all are parked", func() bool { return l.srv.clients.waiting.Load() == 3 })
		release()
		first.expect("+OK\r\n")
		second.expect("+OK\r\n")
		third.expect("+OK\r\n")
		st := l.eng.SnapshotStatus()
		require.EqualValues(t, 2, st.Started, "one for the first, one for both others")
		require.EqualValues(t, 2, st.LastGood)
	})
}

func TestCancelDuringSave(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		saver, other := l.dial(), l.dial()
		entered, release := l.holdSnapshot()
		saver.send(wire("SAVE"))
		<-entered
		require.Equal(t, "+Background saving cancelled", other.do("BGSAVE", "CANCEL"))
		release()
		saver.expect("-ERR the snapshot was cancelled\r\n")
		require.Contains(t, other.do("INFO", "persistence"), "rdb_last_bgsave_status:ok\r\n", "it says nothing about the disk")
		require.Equal(t, "-ERR Background saving is currently not in progress or scheduled", other.do("BGSAVE", "CANCEL"))
		require.Equal(t, "+OK", saver.do("SAVE"))
	})
}

func TestClientLeavesItsSave(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		saver, killed, other := l.dial(), l.dial(), l.dial()
		id := strings.TrimPrefix(killed.do("CLIENT", "ID"), ":")
		entered, release := l.holdSnapshot()
		saver.send(wire("SAVE"))
		<-entered
		killed.send(wire("SAVE"))
		eventually(t, "both are parked", func() bool { return l.srv.clients.waiting.Load() == 2 })
		require.NoError(t, saver.Close())
		require.Equal(t, ":1", other.do("CLIENT", "KILL", "ID", id))
		killed.expectEnd()
		eventually(t, "both are gone", func() bool { return l.srv.clients.count.Load() == 1 })
		require.Zero(t, l.srv.clients.waiting.Load())
		release()
		l.ended(2)
		require.EqualValues(t, 2, l.eng.SnapshotStatus().LastGood, "both snapshots are taken all the same")
		require.Equal(t, "+PONG", other.do("PING"))
	})
}

func TestRewriteAndSaveTakeTurns(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p, saver := l.dial(), l.dial()
		entered, release := l.holdSnapshot()
		require.Equal(t, "+Background append only file rewriting started", p.do("BGREWRITEAOF"))
		<-entered
		require.Equal(t, rewriting, p.do("BGREWRITEAOF"))
		require.Contains(t, p.do("BGSAVE"), "-ERR Another child process is active (AOF?)")
		require.Equal(t, "+Background saving scheduled", p.do("BGSAVE", "SCHEDULE"))
		require.Equal(t, "+Scheduled background saving cancelled", p.do("BGSAVE", "CANCEL"))
		require.Equal(t, "+Background saving scheduled", p.do("BGSAVE", "SCHEDULE"))
		info := p.do("INFO", "persistence")
		require.Contains(t, info, "aof_rewrite_in_progress:1\r\n")
		require.Contains(t, info, "rdb_bgsave_in_progress:0\r\n")
		saver.send(wire("SAVE"))
		eventually(t, "it is parked", func() bool { return l.srv.clients.waiting.Load() == 1 })
		release()
		saver.expect("+OK\r\n")
		require.EqualValues(t, 2, l.eng.SnapshotStatus().Started, "SAVE and the scheduled BGSAVE are one")
		info = p.do("INFO", "persistence")
		require.Contains(t, info, "aof_rewrites:1\r\n")
		require.Contains(t, info, "rdb_saves:1\r\n")
	})
}

func TestRewriteIsScheduledBehindASave(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		entered, release := l.holdSnapshot()
		require.Equal(t, "+Background saving started", p.do("BGSAVE"))
		<-entered
		require.Equal(t, "+Background append only file rewriting scheduled", p.do("BGREWRITEAOF"))
		require.Equal(t, "+Background append only file rewriting scheduled", p.do("BGREWRITEAOF"))
		require.Contains(t, p.do("INFO", "persistence"), "aof_rewrite_scheduled:1\r\n")
		require.Equal(t, saving, p.do("SAVE"), "as in Redis")
		release()
		l.ended(2)
		require.Contains(t, p.do("INFO", "persistence"), "aof_rewrite_scheduled:0\r\n")
		require.Contains(t, p.do("INFO", "persistence"), "aof_rewrites:1\r\n")
	})
}

// The log's growth and save rules start snapshots, and only when configured.
func TestSnapshotsStartByThemselves(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v)
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "a", strings.Repeat("v", 10_000)))
		require.Zero(t, l.eng.SnapshotStatus().Started)
		l.srv.Retune(Tunables{Checkpoint: engine.CheckpointRules{LogMinBytes: 5000, LogGrowthPercent: 100}})
		l.ended(1)
		require.Contains(t, p.do("INFO", "persistence"), "aof_rewrites:1\r\n")
		base := l.eng.SnapshotStatus().LastSizeBytes
		require.Contains(t, p.do("INFO", "persistence"), fmt.Sprintf("aof_base_size:%d\r\n", base))

		l.srv.Retune(Tunables{Checkpoint: engine.CheckpointRules{Save: []engine.SaveRule{{Seconds: 0, Changes: 2}}}})
		require.Equal(t, ":1", p.do("INCR", "n"))
		require.Equal(t, ":2", p.do("INCR", "n"))
		l.ended(2)
		require.Contains(t, p.do("INFO", "persistence"), "rdb_saves:1\r\n")
	})
}

const misconfSave = "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. "

// stop-writes-on-bgsave-error, as Redis has it.
func TestFailedSnapshotStopsWrites(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		rules := engine.CheckpointRules{Save: []engine.SaveRule{{Seconds: 1_000_000, Changes: 1}}}
		l := serve(t, v, tuned(func(t *Tunables) { t.Checkpoint, t.StopWritesOnError = rules, true }))
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		l.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: engine.SnapshotDir, Err: errDisk, Sticky: true})
		require.Contains(t, p.do("SAVE"), "-ERR ")
		for _, args := range [][]string{
			{"SET", "a", "2"}, {"DEL", "a"}, {"EXPIRE", "a", "1"}, {"FLUSHALL"}, {"PING"}, {"SWAPDB", "0", "1"},
			{"IDEM", "op", "BEGIN", "f", "o", "1000"}, {"ONCE", "x", "1000"}, {"LIMIT", "l", "1", "1000"},
		} {
			require.Contains(t, p.do(args...), misconfSave, "%q", args)
		}
		require.Equal(t, "1", p.do("GET", "a"))
		require.Equal(t, ":1", p.do("DBSIZE"))
		info := p.do("INFO", "persistence")
		require.Contains(t, info, "rdb_last_bgsave_status:err\r\n")
		require.Contains(t, info, "aof_rewrites_consecutive_failures:1\r\n")

		l.srv.Retune(Tunables{Checkpoint: rules})
		require.Equal(t, "+OK", p.do("SET", "a", "2"), "unless the configuration says no")
		l.srv.Retune(Tunables{StopWritesOnError: true})
		require.Equal(t, "+OK", p.do("SET", "a", "3"), "or nobody relies on snapshots")
		l.srv.Retune(Tunables{Checkpoint: rules, StopWritesOnError: true})
		require.Contains(t, p.do("PING"), misconfSave)
		l.fs.Clear()
		require.Equal(t, "+OK", p.do("SAVE"))
		require.Equal(t, "+OK", p.do("SET", "a", "4"))
		require.Equal(t, "+PONG", p.do("PING"))
	})
}

// Writers go on while snapshots follow each other; what is on disk afterwards
// is what was there.
func TestSnapshotsBesideWriters(t *testing.T) {
	for _, memory := range []bool{false, true} {
		t.Run(fmt.Sprintf("memory=%t", memory), func(t *testing.T) {
			everywhere(t, func(t *testing.T, v variant) {
				l := serve(t, v, func(s *setup) { s.memory = memory })
				var writers sync.WaitGroup
				var stop atomic.Bool
				counts := make([]int, 6)
				for n := range counts {
					p := l.dial()
					writers.Go(func() {
						for !stop.Load() {
							counts[n]++
							p.send(wire("INCR", fmt.Sprint("n", n)) + wire("SET", fmt.Sprint("k", n, counts[n]%97), "v") +
								wire("MSET", "{t}a", fmt.Sprint(counts[n]), "{t}b", fmt.Sprint(counts[n])) + wire("DEL", "gone"))
							p.expect(fmt.Sprintf(":%d\r\n+OK\r\n+OK\r\n:0\r\n", counts[n]))
						}
					})
				}
				saver := l.dial()
				for range 8 {
					require.Equal(t, "+OK", saver.do("SAVE"))
				}
				stop.Store(true)
				writers.Wait()
				size := saver.do("DBSIZE")
				if memory {
					require.Equal(t, "+OK", saver.do("SAVE"))
				}
				require.NoError(t, l.halt())
				back := l.reopened(func(s *setup) { s.memory = memory })
				m := back.session()
				require.Equal(t, size+"\r\n", m.do("DBSIZE"))
				for n, count := range counts {
					text := strconv.Itoa(count)
					require.Equal(t, fmt.Sprintf("$%d\r\n%s\r\n", len(text), text), m.do("GET", fmt.Sprint("n", n)))
				}
				require.Equal(t, m.do("GET", "{t}a"), m.do("GET", "{t}b"))
			})
		})
	}
}
