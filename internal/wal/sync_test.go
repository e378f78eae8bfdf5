package wal

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

func TestSyncWhateverThePolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{Always, EverySec, Never} {
		mem := vfs.NewMem()
		faulty := vfs.NewFaulty(mem)
		o := testOptions(faulty)
		o.Policy, o.Tick = policy, make(chan time.Time)
		l, _, _ := mustOpen(t, o)
		require.NoError(t, l.Sync(), "nothing to do")
		appendScripted(l, 3)
		require.NoError(t, l.Sync())
		require.EqualValues(t, 3, l.Synced())
		o.FS = mem.Crash(0)
		_, _, got := mustOpen(t, o)
		require.Len(t, got, 3)
		broken := errors.New("broken")
		faulty.Inject(vfs.Fault{Op: vfs.OpSync, Err: broken})
		appendScripted(l, 1)
		require.ErrorIs(t, l.Sync(), broken)
		require.ErrorIs(t, l.Sync(), broken)
		require.EqualValues(t, 3, l.Synced())
	}
}

// While a write, a sync or the wait for a segment hangs, it shows since when.
func TestWritingSince(t *testing.T) {
	t.Parallel()
	for _, op := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
		faulty := vfs.NewFaulty(vfs.NewMem())
		o := testOptions(faulty)
		now := int64(1000)
		o.MonoNano = func() int64 { return now }
		l, _, _ := mustOpen(t, o)
		require.Zero(t, l.WritingSinceNano())
		var during []int64
		look := func() {
			during = append(during, l.WritingSinceNano())
			now += 10
		}
		faulty.Inject(vfs.Fault{Op: op, Sticky: true, Before: look})
		require.NoError(t, l.Commit(appendRun(l, 1, "x")))
		require.Zero(t, l.WritingSinceNano())
		require.Equal(t, []int64{1000}, during)
		require.NoError(t, l.Commit(appendRun(l, 1, string(make([]byte, 900)))), "with a segment made")
		require.Zero(t, l.WritingSinceNano())
		for _, since := range during[1:] {
			require.Greater(t, since, int64(1000))
		}
		require.NoError(t, l.Close())
		for _, since := range during {
			require.NotZero(t, since)
		}
		require.Zero(t, l.WritingSinceNano())
	}
}
