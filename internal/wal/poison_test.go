package wal

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// Any write or sync that fails ends the log: Durable stands still, everybody
// gets the error, nothing is written or synced again, and the next start
// serves nothing that is not on disk (I8).
func TestEveryFailedOperationPoisons(t *testing.T) {
	t.Parallel()
	for _, fault := range []vfs.Fault{
		{Op: vfs.OpWrite, Err: syscall.ENOSPC, ShortBytes: 700},
		{Op: vfs.OpWrite, Err: syscall.EDQUOT, ShortBytes: 400},
		{Op: vfs.OpWrite, Err: syscall.EIO},
		{Op: vfs.OpSync, Err: syscall.EIO},
		{Op: vfs.OpCreate, Err: syscall.ENOSPC},
		{Op: vfs.OpRename, Err: syscall.EIO},
		{Op: vfs.OpSyncDir, Err: syscall.EIO},
		{Op: vfs.OpOpen, Err: syscall.EMFILE},
	} {
		for _, way := range ways(Always, Never) {
			t.Run(fmt.Sprintf("%v %d %s", fault.Err, fault.Op, way.name), func(t *testing.T) {
				t.Parallel()
				if way.direct && fault.Op == vfs.OpOpen {
					t.Skip("a direct write that cannot be opened is made the other way")
				}
				hits := 0
				for nth := 1; failNth(t, fault, way, nth); nth++ {
					hits++
				}
				require.GreaterOrEqual(t, hits, 2, "the fault was hardly ever hit")
			})
		}
	}
}

// failNth is false when the workload made fewer than nth such calls.
func failNth(t *testing.T, fault vfs.Fault, way way, nth int) bool {
	mem := directMem()
	faulty := vfs.NewFaulty(mem)
	o := way.options(faulty)
	l, _, _ := mustOpen(t, o)
	// The fault is not sticky: if the log tried again, it would succeed.
	fault.Nth = nth
	faulty.Inject(fault)
	var acked, synced LSN
	for range 14 {
		if l.Commit(appendScripted(l, 1)) != nil {
			break
		}
		acked = l.Last()
		synced = l.Synced()
	}
	if l.Err() == nil {
		return false
	}
	note := fmt.Sprintf("call %d", nth)
	changes := faulty.Changes()
	durable := l.Durable()
	require.Equal(t, acked, durable, note)
	require.ErrorIs(t, l.Err(), fault.Err, note)
	require.ErrorContains(t, l.Err(), fmt.Sprintf("nothing after record %d is durable", durable))
	for range 3 {
		require.Equal(t, l.Err(), l.Commit(appendScripted(l, 20)), note)
		l.Kick()
		l.onTick()
	}
	require.NoError(t, l.Commit(durable), "what was promised before stays promised")
	require.Equal(t, durable, l.Durable(), note)
	require.Less(t, l.BufferBytes(), int64(4000), "appending to a failed log piles nothing up")
	require.Equal(t, l.Err(), l.Close(), note)
	require.Equal(t, changes, faulty.Changes(), "%s: a failed log was touched again", note)

	// A start reads what the kernel still has, serves it, and the power goes.
	after := o
	killed := mem.Kill()
	after.FS = killed
	l, _, got := mustOpen(t, after)
	require.GreaterOrEqual(t, LSN(len(got)), acked, note)
	checkRecords(t, got, note)
	require.NoError(t, l.Err())
	for seed := range uint64(3) {
		after.FS = killed.Crash(seed)
		_, _, again := mustOpen(t, after)
		require.Equal(t, got, again, "%s: served, then lost", note)
		after.FS = mem.Crash(seed)
		_, _, got := mustOpen(t, after)
		require.GreaterOrEqual(t, LSN(len(got)), synced, note)
		checkRecords(t, got, note)
	}
	return true
}

// Open itself does not go on over a failure.
func TestOpenFailsOnEveryFailedOperation(t *testing.T) {
	t.Parallel()
	built := builtLog(t, 14, false)
	name := segments(t, built)
	torn := readFile(t, built, name[len(name)-1])
	require.Less(t, used(torn), sectorBytes)
	copy(torn[700:], "torn") // the sector with the frame's header is not there
	writeFile(t, built, name[len(name)-1], torn)
	for _, op := range []vfs.Op{vfs.OpMkdir, vfs.OpList, vfs.OpOpen, vfs.OpRead, vfs.OpSize, vfs.OpCreate,
		vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir} {
		hits := 0
		for nth := 1; ; nth++ {
			faulty := vfs.NewFaulty(built.Kill())
			faulty.Inject(vfs.Fault{Op: op, Nth: nth, Err: syscall.EIO})
			_, _, got, err := openLog(testOptions(faulty))
			if err == nil {
				require.Len(t, got, 14)
				break
			}
			hits++
			require.ErrorIs(t, err, syscall.EIO)
		}
		require.Positive(t, hits, "operation %d", op)
	}
}

// Everybody who waits when a sync fails gets the error, and so does whoever
// asks the syncer.
func TestFailureReachesEveryWaiter(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	o.Inline, o.SegmentBytes = false, 1<<20
	l, _, _ := mustOpen(t, o)
	told := make(chan struct{}, 100)
	l.OnDurable(func() { told <- struct{}{} })
	syncing, release := make(chan struct{}), make(chan struct{})
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Path: segmentName(1), Err: syscall.EIO, Before: func() {
		close(syncing)
		<-release
	}})
	errs := make(chan error, 9)
	commit := func() { errs <- l.Commit(appendRun(l, 1, "x")) }
	go commit()
	<-syncing
	var started sync.WaitGroup
	for range 8 {
		started.Add(1)
		go func() {
			lsn := appendRun(l, 1, "y")
			started.Done()
			errs <- l.Commit(lsn)
		}()
	}
	started.Wait()
	require.Zero(t, l.Durable())
	close(release)
	for range 9 {
		require.ErrorIs(t, <-errs, syscall.EIO)
	}
	<-told
	require.Error(t, l.Err())
	l.Kick()
	<-told
	require.Zero(t, l.Durable())
	require.Zero(t, l.Synced())
	require.Error(t, l.Close())
}

// A log that failed without a leader at work, as an oversized record makes it,
// leaves nobody waiting either.
func TestFailureBetweenCommits(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	l, _, _ := mustOpen(t, background(faulty))
	syncing, release := make(chan struct{}), make(chan struct{})
	countSyncs(faulty, func(int64) {
		close(syncing)
		<-release
	})
	var all sync.WaitGroup
	all.Go(func() { require.NoError(t, l.Commit(appendRun(l, 1, "x"))) })
	<-syncing
	for range 5 {
		all.Go(func() { require.Error(t, l.Commit(appendRun(l, 1, "y"))) })
	}
	for l.Last() < 6 {
		runtime.Gosched()
	}
	l.failed.CompareAndSwap(nil, &failure{errRecordTooLarge})
	close(release)
	all.Wait()
	require.ErrorIs(t, l.Close(), errRecordTooLarge)
}

// A full disk shows while the present segment still has room, and when the
// room is back, the log goes on.
func TestNoRoomForTheNextSegment(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(2), Sticky: true, Err: syscall.ENOSPC})
	var mu sync.Mutex
	var lines []string
	o := testOptions(faulty)
	o.Inline = false
	tick := make(chan time.Time)
	o.Tick = tick
	o.Logf = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, fmt.Sprintf(format, args...))
	}
	l, _, _ := mustOpen(t, o)
	for l.SpaceErr() == nil {
		tick <- time.Time{} // each try is asked for by a tick at the latest
	}
	require.ErrorIs(t, l.SpaceErr(), syscall.ENOSPC)
	require.NoError(t, l.Commit(appendRun(l, 1, "still room")))
	require.NoError(t, l.Err())
	for range 3 {
		tick <- time.Time{}
	}
	faulty.Clear()
	for l.SpaceErr() != nil {
		tick <- time.Time{}
	}
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", 800))), "in the next segment")
	require.NoError(t, l.Close())
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, lines, 1, "reported once, not at every try")
	require.Contains(t, lines[0], "no space left")
}

func TestRunningOutOfRoomPoisons(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(2), Sticky: true, Err: syscall.ENOSPC})
	l, _, _ := mustOpen(t, testOptions(faulty))
	require.NoError(t, l.Commit(appendRun(l, 1, "fits")))
	err := l.Commit(appendRun(l, 1, strings.Repeat("x", 800)))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualValues(t, 1, l.Durable())
	require.True(t, errors.Is(l.Close(), syscall.ENOSPC))
	_, _, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 1)
}
