package sim

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// How other stores lost what they had acknowledged, each as a test of its own.
// Every do is checked against the model, every restart against what may be
// left; the tests only bring about the situation.

// both runs f with a kill and with power cuts.
func both(t *testing.T, f func(t *testing.T, w *world, how crash)) {
	for name, how := range map[string]crash{"kill": kill, "power": power} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				w := newWorld(t, seed+1, options{clients: 2, shards: 4, segmentBytes: 8 << 10})
				f(t, w, how)
				w.discard()
			}
		})
	}
}

// A module's state was not part of what the log was rewritten to: after the
// rewrite, messages that had been seen were accepted again.
func TestDeduplicationSurvivesTheLog(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		c := w.clients[0]
		require.Contains(t, w.do(c, "IDEM", "pending", "BEGIN", "f", "a", "60000"), "acquired")
		require.Contains(t, w.do(c, "IDEM", "done", "BEGIN", "f", "a", "60000"), "acquired")
		require.Equal(t, ":1\r\n", w.do(c, "IDEM", "done", "COMPLETE", "f", "a", "result"))
		require.Equal(t, ":1\r\n", w.do(c, "ONCE", "once", "60000"))
		require.Contains(t, w.do(c, "LIMIT", "limit", "3", "60000", "3"), "*4\r\n:1\r\n")
		// Two snapshots, and a log whose first segments are gone.
		for range 3 {
			for range 4 {
				w.do(c, "SET", "filler", strings.Repeat("x", 3000))
			}
			w.snapshot()
		}
		w.restart(how)
		c = w.clients[0]
		require.Contains(t, w.do(c, "IDEM", "pending", "BEGIN", "f", "b", "60000"), "pending")
		require.Contains(t, w.do(c, "IDEM", "done", "BEGIN", "f", "b", "60000"), "result")
		require.Equal(t, ":0\r\n", w.do(c, "ONCE", "once", "60000"))
		require.Contains(t, w.do(c, "LIMIT", "limit", "3", "60000"), "*4\r\n:0\r\n")
	})
}

// Keys came back from a snapshot with a deadline that nothing looked at any
// more: they never expired.
func TestExpiryWorksAfterASnapshot(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		c := w.clients[0]
		w.do(c, "SET", "soon", "x", "PX", "100")
		w.do(c, "SET", "later", "x", "PX", "5000")
		w.do(c, "IDEM", "i", "BEGIN", "f", "a", "5000")
		w.snapshot()
		w.source.AdvanceMilli(200)
		w.restart(how)
		c = w.clients[0]
		require.Equal(t, "$-1\r\n", w.do(c, "GET", "soon"))
		require.Equal(t, "$1\r\nx\r\n", w.do(c, "GET", "later"))
		w.source.AdvanceMilli(10_000)
		w.expire()
		require.Empty(t, w.contents()[0], "reclaimed by itself")
		require.Contains(t, w.do(c, "IDEM", "i", "BEGIN", "g", "b", "5000"), "acquired")
	})
}

// A command about a whole database, or about two of them, was logged as a
// command about keys, or missed the part of the keys that were saved already.
func TestDatabaseCommandsInTheMiddleOfASnapshot(t *testing.T) {
	commands := [][]string{
		{"FLUSHDB"}, {"FLUSHALL"}, {"SWAPDB", "0", "1"}, {"SWAPDB", "1", "2"}, {"MOVE", "k0", "2"}, {"MOVE", "k9", "1"},
		{"COPY", "k1", "k0", "DB", "1", "REPLACE"}, {"RENAME", "k0", "k7"}, {"RENAME", "k7", "k0"},
	}
	for _, command := range commands {
		t.Run(strings.Join(command, " "), func(t *testing.T) {
			t.Parallel()
			pieces := 1
			for after := 0; after < pieces; after++ { // after every number of steps
				w := newWorld(t, 1, options{clients: 2, shards: 4, segmentBytes: 8 << 10})
				c, other := w.clients[0], w.clients[1]
				fill := []string{"MSET"}
				for _, k := range []string{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"} {
					fill = append(fill, k, k+strings.Repeat("v", 40))
				}
				w.do(c, fill...)
				w.do(other, "SELECT", "1")
				w.do(other, "MSET", "k0", "one", "k5", "one")
				w.startSnapshot()
				w.stepSnapshot(after)
				w.do(c, command...)
				w.do(c, "SET", "k5", "after")
				w.do(other, "SET", "k2", "after")
				steps := after + 1
				for !w.stepSnapshot(1) {
					steps++
				}
				pieces = max(pieces, steps)
				// The snapshot alone is what the next start reads.
				require.NoError(t, w.stop())
				w.recover(power)
				w.do(w.clients[0], "KEYS", "*")
				w.discard()
			}
			require.Greater(t, pieces, 10, "the snapshot had no middle")
		})
	}
}

// A key that was deleted and written again came back with the old value, or
// not at all, because the deletion was replayed behind the new write.
func TestDeletedAndWrittenAgain(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		c := w.clients[0]
		w.do(c, "SET", "k", "old", "PX", "1000")
		w.startSnapshot()
		for done := false; !done; {
			w.do(c, "DEL", "k")
			done = w.stepSnapshot(1)
			w.do(c, "SET", "k", "new")
			done = w.stepSnapshot(1) || done
		}
		w.source.AdvanceMilli(2000) // the deadline of the old one
		w.restart(how)
		require.Equal(t, "$3\r\nnew\r\n", w.do(w.clients[0], "GET", "k"))
	})
}

// A crash while the data was loaded left half of it, and the next start took
// that for the whole.
func TestCrashDuringTheLoad(t *testing.T) {
	t.Parallel()
	for n := 0; ; n++ {
		w := newWorld(t, uint64(n+1), options{clients: 1, shards: 4, segmentBytes: 8 << 10})
		c := w.clients[0]
		for range 3 {
			w.do(c, "MSET", "a", "1", "b", strings.Repeat("b", 2000), "c", "3")
			w.snapshot()
			w.do(c, "INCR", "a")
		}
		w.crashed(kill)
		w.fs.HaltAfter(n)
		err := w.open()
		through := err == nil && !w.halted()
		total.recoveryCrashes.Add(1)
		w.crashed(power)
		w.recover(power)
		require.Equal(t, "$1\r\n2\r\n", w.do(w.clients[0], "GET", "a"))
		w.discard()
		if through {
			require.Greater(t, n, 3, "a start that changes nothing")
			return
		}
	}
}

// A command that changed nothing answered at once from what another client had
// written and nobody had synced: the crash took it back.
func TestNothingIsAnsweredFromUnsyncedWrites(t *testing.T) {
	cases := []struct {
		name         string
		durable      [][]string
		write, reads []string
	}{
		{"identical COMPLETE", [][]string{{"IDEM", "i", "BEGIN", "f", "a", "60000"}},
			[]string{"IDEM", "i", "COMPLETE", "f", "a", "r"}, []string{"IDEM", "i", "COMPLETE", "f", "a", "r"}},
		{"completed BEGIN", [][]string{{"IDEM", "i", "BEGIN", "f", "a", "60000"}},
			[]string{"IDEM", "i", "COMPLETE", "f", "a", "r"}, []string{"IDEM", "i", "BEGIN", "f", "b", "60000"}},
		{"pending BEGIN", nil, []string{"IDEM", "i", "BEGIN", "f", "a", "60000"}, []string{"IDEM", "i", "BEGIN", "f", "a", "60000"}},
		{"SET NX that fails", nil, []string{"SET", "k", "1"}, []string{"SET", "k", "2", "NX"}},
		{"DEL of nothing", [][]string{{"SET", "k", "1"}}, []string{"DEL", "k"}, []string{"DEL", "k"}},
		{"ONCE that comes second", nil, []string{"ONCE", "o", "60000"}, []string{"ONCE", "o", "60000"}},
		{"MSETNX that fails", nil, []string{"SET", "k", "1"}, []string{"MSETNX", "k", "2", "l", "3"}},
		{"EXPIRE of nothing", [][]string{{"SET", "k", "1"}}, []string{"DEL", "k"}, []string{"PEXPIRE", "k", "1000"}},
		{"GET", nil, []string{"SET", "k", "1"}, []string{"GET", "k"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				w := newWorld(t, seed+1, options{clients: 2, shards: 4, segmentBytes: 8 << 10})
				for _, args := range c.durable {
					w.do(w.clients[0], args...)
				}
				w.send(w.clients[0], c.write...)
				w.send(w.clients[1], c.reads...)
				require.NotEmpty(t, w.clients[1].expected, "the reply left before the write was synced")
				w.restart(power)
				w.do(w.clients[0], "KEYS", "*")
				w.discard()
			}
		})
	}
}

// The log began one record too late or too early behind the snapshot: one was
// lost, or applied twice. INCR and APPEND show either.
func TestSnapshotAndLogMeet(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		c := w.clients[0]
		for range 3 {
			w.startSnapshot()
			for done := false; !done; {
				w.do(c, "INCR", "n")
				w.do(c, "APPEND", "s", "x")
				done = w.stepSnapshot(1)
			}
			w.restart(how)
			c = w.clients[0]
			w.do(c, "INCR", "n")
		}
		require.Len(t, w.contents()[0], 2)
	})
}

// The machine came back with a clock behind, and what had expired, or been
// limited, was alive, or free, again.
func TestRestartWithTheClockBehind(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		for _, saved := range []bool{false, true} {
			c := w.clients[0]
			w.do(c, "SET", "gone", "x", "PX", "1000")
			w.do(c, "IDEM", "i", "BEGIN", "f", "a", "1000")
			w.source.AdvanceMilli(4000) // T runs at half speed while the clock is behind
			require.Equal(t, "$-1\r\n", w.do(c, "GET", "gone"))
			require.Contains(t, w.do(c, "IDEM", "i", "BEGIN", "f", "b", "1000"), "acquired")
			if saved {
				w.snapshot()
			}
			before := w.now()
			w.crashed(how)
			w.source.StepWallMilli(-3_600_000)
			w.recover(how)
			c = w.clients[0]
			require.GreaterOrEqual(t, w.now(), before)
			require.Equal(t, "$-1\r\n", w.do(c, "GET", "gone"))
			require.Contains(t, w.do(c, "IDEM", "i", "BEGIN", "f", "c", "1000"), "pending")
			w.source.AdvanceMilli(4000)
			require.Contains(t, w.do(c, "IDEM", "i", "BEGIN", "f", "c", "1000"), "acquired")
			w.do(c, "DEL", "i")
		}
	})
}

// A sync that failed was tried again and succeeded, as the kernel had already
// forgotten what it could not write; then it was acknowledged, and never on
// disk.
func TestFailedSyncIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		for nth := 1; nth <= 3; nth++ {
			w := newWorld(t, seed+1, options{clients: 1, shards: 4, segmentBytes: 8 << 10})
			w.do(w.clients[0], "SET", "k", "before")
			w.faulty = true
			w.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Nth: nth, Err: syscall.EIO})
			failed := false
			for i := 0; i < nth && !failed; i++ { // a further write would bring the lost one along
				w.send(w.clients[0], "APPEND", "k", "more")
				failed = w.settle(w.clients[0]) != nil
			}
			total.faults.Add(1)
			w.restart(power)
			w.do(w.clients[0], "GET", "k")
			w.discard()
		}
	}
}

// What a client was told is gone was there again after a start with the clock
// behind, because nothing had been written when it was seen to expire.
func TestExpiryThatWasSeenStays(t *testing.T) {
	both(t, func(t *testing.T, w *world, how crash) {
		looks := [][]string{{"GET", "k"}, {"EXISTS", "k"}, {"KEYS", "*"}, {"DEL", "k"}, {"IDEM", "k", "COMPLETE", "f", "a", "r"}, {"PTTL", "k"}}
		for _, look := range looks {
			c := w.clients[0]
			w.do(c, "IDEM", "k", "BEGIN", "f", "a", "1000")
			w.source.AdvanceMilli(10_000)
			w.do(c, look...)
			w.crashed(how)
			w.source.StepWallMilli(-3_600_000)
			w.recover(how)
			require.Equal(t, "$-1\r\n", w.do(w.clients[0], "GET", "k"))
		}
	})
}
