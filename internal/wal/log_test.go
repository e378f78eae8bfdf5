package wal

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

func TestAppendCommitReopen(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, report, got := mustOpen(t, testOptions(mem))
	require.Equal(t, Report{LogID: l.ID(), Segments: 1}, report)
	require.Empty(t, got)
	require.Zero(t, l.Last())
	require.NoError(t, l.Commit(5), "nobody can wait for what nobody appended")

	require.EqualValues(t, 2, appendRun(l, 1000, "first", ""))
	require.EqualValues(t, 2, l.Last())
	require.EqualValues(t, 1000, l.LastT())
	require.Zero(t, l.Durable())
	require.Positive(t, l.BufferBytes())
	require.NoError(t, l.Commit(1))
	require.EqualValues(t, 2, l.Durable(), "a commit takes all there is")
	require.EqualValues(t, 2, l.Synced())
	require.Zero(t, l.BufferBytes())
	require.EqualValues(t, 3, appendRun(l, 900, "third"))
	require.EqualValues(t, 1000, l.LastT(), "T never decreases in the log")
	require.EqualValues(t, 4, appendRun(l, 1500, strings.Repeat("x", 5000)))
	require.NoError(t, l.Close())
	require.ErrorIs(t, l.Close(), ErrClosed)

	want := []record{{1, 1000, "first"}, {2, 1000, ""}, {3, 1000, "third"}, {4, 1500, strings.Repeat("x", 5000)}}
	for range 3 {
		l, report, got = mustOpen(t, testOptions(mem))
		require.Equal(t, want, got)
		require.EqualValues(t, 1, report.FirstLSN)
		require.EqualValues(t, 4, report.LastLSN)
		require.EqualValues(t, 4, report.Records)
		require.EqualValues(t, 1500, report.LastT)
		require.Zero(t, report.CutBytes)
		require.EqualValues(t, 4, l.Last())
		require.EqualValues(t, 4, l.Durable())
		require.EqualValues(t, 4, l.Synced())
		require.EqualValues(t, 1500, l.LastT())
		require.NoError(t, l.Close())
	}
}

// Starting and stopping without work between must not make the log grow.
func TestRestartsDoNotGrowTheLog(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	o := testOptions(mem)
	l, _, _ := mustOpen(t, o)
	appendScripted(l, 5)
	require.NoError(t, l.Close())
	l, _, _ = mustOpen(t, o)
	size, segs := l.Stats().SizeBytes, segments(t, mem)
	for i := range 20 {
		if i%2 == 0 {
			require.NoError(t, l.Close())
		}
		mem = mem.Kill()
		o.FS = mem
		l, _, _ = mustOpen(t, o)
		require.Equal(t, size, l.Stats().SizeBytes)
		require.Equal(t, segs, segments(t, mem))
	}
}

func TestRotationKeepsOrderAcrossSegments(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	for range 60 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	stats := l.Stats()
	require.Greater(t, stats.Segments, int64(8))
	require.Len(t, segments(t, mem), int(stats.Segments))
	require.NoError(t, l.Close())
	l, report, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 60)
	checkRecords(t, got, "")
	require.Equal(t, stats.Segments, int64(report.Segments))
	l.prepareOne()
	require.NoError(t, l.Close())
	l, report, _ = mustOpen(t, testOptions(mem))
	require.Equal(t, stats.Segments+1, int64(report.Segments), "one is prepared")
	require.Equal(t, stats.Segments, l.Stats().Segments)
}

// A frame is a whole batch: the run between Lock and Unlock is never split.
func TestRunIsOneFrame(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	before := l.Stats().Frames
	require.NoError(t, l.Commit(appendScripted(l, 40)), "far larger than a segment")
	require.Equal(t, before+1, l.Stats().Frames)
	require.NoError(t, l.Close())
	_, _, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 40)
}

func TestApplyErrorNamesThePlace(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	require.NoError(t, l.Commit(appendScripted(l, 3)))
	require.NoError(t, l.Close())
	unknown := errors.New("unknown opcode 99")
	_, _, err := Open(testOptions(mem), func(lsn LSN, _ int64, _ []byte) error {
		if lsn == 2 {
			return unknown
		}
		return nil
	}, nil)
	require.ErrorIs(t, err, unknown)
	for _, part := range []string{"record 2", "offset 64", segmentName(1)} {
		require.ErrorContains(t, err, part)
	}
	_, _, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 3, "nothing was changed")
}

func TestProgressReachesTheTotal(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	for range 30 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	require.NoError(t, l.Close())
	var dones []int64
	var total int64
	_, _, err := Open(testOptions(mem), func(LSN, int64, []byte) error { return nil }, func(d, n int64) {
		dones, total = append(dones, d), n
	})
	require.NoError(t, err)
	require.Greater(t, len(dones), 5)
	require.IsNonDecreasing(t, dones)
	require.Equal(t, total, dones[len(dones)-1])
}

// Next without Done appends nothing.
func TestAbandonedRecord(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	l.Lock()
	_ = append(l.Next(77_000), "never"...)
	l.Unlock()
	require.Zero(t, l.LastT())
	require.EqualValues(t, 1, appendRun(l, 50, "real"))
	require.NoError(t, l.Close())
	_, _, got := mustOpen(t, testOptions(mem))
	require.Equal(t, []record{{1, 50, "real"}}, got)
}

func TestDoneRejectsAForeignBuffer(t *testing.T) {
	t.Parallel()
	l, _, _ := mustOpen(t, testOptions(vfs.NewMem()))
	l.Lock()
	defer l.Unlock()
	require.Panics(t, func() { l.Done(nil) })
}

// A large batch does not stay in memory.
func TestLargeBufferIsGivenBack(t *testing.T) {
	t.Parallel()
	l, _, _ := mustOpen(t, testOptions(vfs.NewMem()))
	large := strings.Repeat("x", keepBufferBytes)
	for range 3 {
		require.NoError(t, l.Commit(appendRun(l, 1, large)))
	}
	require.LessOrEqual(t, cap(l.open.buf), keepBufferBytes)
	require.LessOrEqual(t, cap(l.w.spare), keepBufferBytes)
}
