package server

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// ages is a rule that is never due, but says that there are rules.
var ages = engine.CheckpointRules{Save: []engine.SaveRule{{Seconds: 1_000_000, Changes: 1}}}

// over waits for Serve to end by itself.
func (l *lab) over() error {
	err := <-l.served
	l.served = nil
	return err
}

func TestShutdownSaves(t *testing.T) {
	for _, c := range []struct {
		rules engine.CheckpointRules
		args  []string
		saves bool
	}{
		{engine.CheckpointRules{}, nil, false},
		{engine.CheckpointRules{}, []string{"SAVE"}, true},
		{engine.CheckpointRules{}, []string{"SAVE", "NOW", "FORCE"}, true},
		{ages, nil, true},
		{ages, []string{"NOSAVE"}, false},
	} {
		t.Run(fmt.Sprint(c.saves, c.args), func(t *testing.T) {
			everywhere(t, func(t *testing.T, v variant) {
				l := serve(t, v, inMemory, tuned(func(t *Tunables) { t.Checkpoint = c.rules }))
				p := l.dial()
				require.Equal(t, "+OK", p.do("SET", "a", "1"))
				p.send(wire(append([]string{"SHUTDOWN"}, c.args...)...) + wire("SET", "a", "2"))
				p.expectEnd()
				require.NoError(t, l.over())
				want := "$-1\r\n"
				if c.saves {
					want = "$1\r\n1\r\n"
				}
				require.Equal(t, want, l.reopened(inMemory).session().do("GET", "a"))
			})
		})
	}
}

// Without a log the last snapshot is all there is. Whatever was acknowledged is
// in it, however hard clients write while it is taken.
func TestLastSnapshotHasAllThatWasAcknowledged(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, inMemory)
		var writers sync.WaitGroup
		acknowledged := make([]int64, 8)
		var total atomic.Int64
		for n := range acknowledged {
			p := l.dial()
			writers.Go(func() {
				for {
					_, err := io.WriteString(p.Conn, wire("INCR", fmt.Sprint("n", n)))
					if err != nil {
						return
					}
					line, err := p.r.ReadString('\n')
					if err != nil {
						return
					}
					got, err := strconv.ParseInt(strings.Trim(line, ":\r\n"), 10, 64)
					if err != nil || got != acknowledged[n]+1 {
						t.Errorf("%q after %d", line, acknowledged[n])
						return
					}
					acknowledged[n] = got
					total.Add(1)
				}
			})
		}
		eventually(t, "all are under way", func() bool { return total.Load() > 500 })
		l.srv.Stop(command.ShutdownMode{Save: true})
		require.NoError(t, l.over())
		writers.Wait()
		m := l.reopened(inMemory).session()
		for n, want := range acknowledged {
			reply := strings.Split(m.do("GET", fmt.Sprint("n", n)), "\r\n")
			got, err := strconv.ParseInt(reply[1], 10, 64)
			require.NoError(t, err)
			// One more may have run whose reply got lost with the connection.
			require.Contains(t, []int64{want, want + 1}, got, "writer %d", n)
		}
	})
}

// A stop whose snapshot fails is refused, and everybody goes on.
func TestShutdownIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.Checkpoint = ages }))
		p, q := l.dial(), l.dial()
		require.Equal(t, "+OK", q.do("SET", "a", "1"))
		l.fs.Inject(vfs.Fault{Op: vfs.OpWrite, Path: engine.SnapshotDir, Err: errDisk, Sticky: true})
		for range 2 {
			p.send(wire("SHUTDOWN") + wire("GET", "a"))
			p.expect("-ERR Errors trying to SHUTDOWN. Check logs.\r\n$1\r\n1\r\n")
			require.Equal(t, "+OK", q.do("SET", "a", "1"))
		}
		<-l.srv.Stop(command.ShutdownMode{}) // a signal
		require.Equal(t, "+PONG", q.do("PING"))
		require.Contains(t, l.logs.String(), "can't exit: write data/snapshot")
		require.Equal(t, "-ERR No shutdown in progress.", q.do("SHUTDOWN", "ABORT"))
		p.send(wire("SHUTDOWN", "FORCE"))
		p.expectEnd()
		require.NoError(t, l.over())
		require.Contains(t, l.logs.String(), "Exit anyway")
		require.Equal(t, "$1\r\n1\r\n", l.reopened().session().do("GET", "a"), "the log has it")
	})
}

// What runs when a stop comes would not have everything: it is given up, and
// whoever waits for it loses the connection or the snapshot, never both sides.
func TestShutdownDuringASnapshot(t *testing.T) {
	for _, mode := range []string{"NOSAVE", "SAVE"} {
		t.Run(mode, func(t *testing.T) {
			everywhere(t, func(t *testing.T, v variant) {
				l := serve(t, v)
				saver, p := l.dial(), l.dial()
				require.Equal(t, "+OK", p.do("SET", "a", "1"))
				entered, release := l.holdSnapshot()
				saver.send(wire("SAVE"))
				<-entered
				require.Equal(t, "+OK", p.do("SET", "a", "2"))
				p.send(wire("SHUTDOWN", mode))
				if mode == "SAVE" {
					eventually(t, "the stop has begun", func() bool { return strings.Contains(l.logs.String(), "final snapshot") })
					release()
				}
				p.expectEnd()
				_, err := io.ReadAll(saver.r)
				if err != nil && !errors.Is(err, io.EOF) {
					require.ErrorContains(t, err, "reset")
				}
				require.NoError(t, l.over())
				release()
				started := l.eng.SnapshotStatus().Started
				back := l.reopened()
				require.Equal(t, "$1\r\n2\r\n", back.session().do("GET", "a"))
				if mode == "SAVE" {
					require.EqualValues(t, 2, started)
					require.EqualValues(t, 1, back.eng.SnapshotStatus().LastKeys)
				}
			})
		})
	}
}

// The last snapshot needs the log; if that fails the server ends by it (I8).
func TestShutdownOnABrokenLog(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, tuned(func(t *Tunables) { t.Fsync = wal.Never }))
		p := l.dial()
		require.Equal(t, "+OK", p.do("SET", "a", "1"))
		l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Err: errDisk, Sticky: true})
		p.send(wire("SHUTDOWN", "SAVE", "FORCE"))
		p.expectEnd()
		require.ErrorIs(t, l.over(), errDisk)
	})
}

// A stop waits a second for clients that take their last replies, however many
// writes that are.
func TestStopDeliversALargeReply(t *testing.T) {
	everywhere(t, func(t *testing.T, v variant) {
		l := serve(t, v, inMemory)
		text := strings.Repeat("v", 12<<20)
		p := l.dial()
		go func() { _, _ = io.WriteString(p.Conn, wire("SET", "k", text)) }()
		p.expect("+OK\r\n")
		p.send(wire("GET", "k"))
		head := make([]byte, 1)
		_, err := io.ReadFull(p.r, head) // the reply has begun
		require.NoError(t, err)
		l.stop()
		rest, err := io.ReadAll(p.r)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d\r\n%s\r\n", len(text), text), string(rest))
	})
}
