package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

func workers(n int) func(o *Options) {
	return func(o *Options) { o.Inline, o.LoadWorkers, o.Shards = false, n, 8 }
}

// Several workers leave what one does, whole-database records included.
func TestReplayIsTheSameWithAnyNumberOfWorkers(t *testing.T) {
	for seed := range uint64(6) {
		w := newWorld(t, 60+seed)
		w.opts.SegmentBytes = 1 << 20
		require.NoError(t, w.open())
		for range 3000 {
			w.random()
			w.states, w.acked = w.states[len(w.states)-1:], 0
		}
		w.commit()
		w.stop()
		for _, n := range []int{1, 2, 3, 7} {
			back := w.copied(t, workers(n))
			require.NoError(t, back.open(), "%d workers", n)
			back.check(fmt.Sprint(n, " workers"))
			require.NoError(t, back.eng.Close())
		}
	}
}

// A record that does not fit is named by its number and place, however far
// the reader was ahead of the worker that met it; and nothing was changed.
func TestReplayNamesTheRecordThatDoesNotFit(t *testing.T) {
	w := newWorld(t, 70)
	w.opts.SegmentBytes = 1 << 20
	require.NoError(t, w.open())
	l := w.eng.Log()
	logged := func(o *op.Op) wal.LSN {
		l.Lock()
		defer l.Unlock()
		return l.Done(op.Append(l.Next(startMilli), o))
	}
	for i := range 1000 {
		logged(&op.Op{Code: op.Put, Key: fmt.Append(nil, i), Value: []byte("x")})
	}
	require.NoError(t, l.Commit(l.Last()))
	bad := logged(&op.Op{Code: op.Delete, Key: []byte("was never there")})
	for i := range 20_000 {
		logged(&op.Op{Code: op.Put, Key: fmt.Append(nil, i), Value: []byte("x")})
		if i%1000 == 0 {
			require.NoError(t, l.Commit(l.Last()))
		}
	}
	require.NoError(t, w.eng.Close())
	w.eng = nil
	for _, n := range []int{1, 4} {
		back := w.copied(t, workers(n))
		back.refused(fmt.Sprintf("log record %d (T %d), in the frame at offset ", bad, startMilli),
			"of data/wal/wal-0000000000000001.seg", "its key does not exist")
	}
}
