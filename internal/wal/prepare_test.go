package wal

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// Whoever makes a segment takes time over it only while nobody needs it.
func TestPreparingHurriesWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	o := testOptions(vfs.NewMem())
	o.SegmentBytes = 1 << 20
	l, _, _ := mustOpen(t, o)
	require.True(t, l.hurried(), "a simulation has no time to pass")
	l.o.Inline = false
	require.False(t, l.hurried())
	l.busy.wait.Store(1)
	require.True(t, l.hurried(), "somebody waits")
	l.busy.wait.Store(0)
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", 400_000))))
	require.False(t, l.hurried())
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", 200_000))))
	require.True(t, l.hurried(), "the live segment is half full")
}

// While nobody needs it, a segment is filled with rests between its chunks.
func TestPreparingRests(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	o.Inline, o.SegmentBytes = false, 4<<20
	chunks := make(chan time.Time, 100)
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(2), Sticky: true, Before: func() { chunks <- time.Now() }})
	l, _, _ := mustOpen(t, o)
	begun := <-chunks // the header
	for range 3 {
		<-chunks
	}
	last := <-chunks
	require.GreaterOrEqual(t, last.Sub(begun), 3*chunkRest, "back to back")
	require.NoError(t, l.Close())
}
