package wal

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// appendAsked appends one record of size bytes if the log says it may.
func appendAsked(l *Log, may func(int64) error, size int) error {
	if err := may(int64(size) + 16); err != nil {
		return err
	}
	appendRun(l, 1, strings.Repeat("x", size))
	return nil
}

// Whoever asks before he appends never makes the log fail, whenever the disk
// is full and for how long, however large a record is; and when there is room
// again, everything is accepted.
func TestFullDiskNeverFailsWhoAsks(t *testing.T) {
	t.Parallel()
	refused, exhausted, deleted := 0, 0, 0
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		mem := vfs.NewMem()
		faulty := vfs.NewFaulty(mem)
		o := testOptions(faulty)
		o.SegmentBytes = 2000
		o.Policy = Policy(seed % 3)
		l, _, _ := mustOpen(t, o)
		for range 150 {
			switch rnd.IntN(12) {
			case 0:
				faulty.Full(true)
			case 1:
				if rnd.IntN(8) == 0 {
					faulty.Full(false)
				}
			case 2:
				l.onTick()
			case 3, 4:
				require.NoError(t, l.Commit(l.Last()))
			case 5, 6:
				if appendAsked(l, l.MayAppend, 20) == nil {
					deleted++
				} else {
					exhausted++
				}
			default:
				size := []int{1, 50, 700, 3500, 9000}[rnd.IntN(5)]
				err := appendAsked(l, l.MayGrow, size)
				var space *SpaceError
				if err != nil {
					require.ErrorAs(t, err, &space, "seed %d", seed)
					require.ErrorIs(t, err, syscall.ENOSPC)
					refused++
				}
			}
			require.NoError(t, l.Err(), "seed %d", seed)
		}
		faulty.Full(false)
		l.onTick()
		require.NoError(t, appendAsked(l, l.MayGrow, 5000))
		require.NoError(t, appendAsked(l, l.MayAppend, 50))
		require.NoError(t, l.Close(), "seed %d", seed)
		last := l.Last()
		l, _, _ = mustOpen(t, o)
		require.Equal(t, last, l.Last())
	}
	require.Greater(t, refused, 100)
	require.Greater(t, exhausted, 50)
	require.Greater(t, deleted, 500)
}

// What grows leaves a quarter of the segment alone; what may use the reserve
// gets all of it, down to the end frame and the seal.
func TestReserve(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	o := testOptions(faulty)
	o.SegmentBytes = 100_000
	l, _, _ := mustOpen(t, o)
	faulty.Full(true)
	whole := l.ReserveBytes()
	require.EqualValues(t, 100_000-segmentHeaderBytes-spareBytes, whole)
	grow := func() error {
		if err := appendAsked(l, l.MayGrow, 100); err != nil {
			return err
		}
		return l.Commit(l.Last())
	}
	for grow() == nil {
		require.NoError(t, l.SpaceErr())
	}
	err := grow()
	var space *SpaceError
	require.ErrorAs(t, err, &space)
	require.False(t, space.Exhausted)
	require.ErrorContains(t, err, "the log cannot grow")
	require.ErrorIs(t, l.SpaceErr(), syscall.ENOSPC)
	left := l.ReserveBytes()
	require.GreaterOrEqual(t, left, whole/4)
	require.Less(t, left, whole/4+1000)

	deletes := int64(0)
	for appendAsked(l, l.MayAppend, 20) == nil {
		require.NoError(t, l.Commit(l.Last()))
		deletes++
	}
	require.Greater(t, deletes*120, left-1000, "nearly all of it was of use")
	err = l.MayAppend(40)
	require.ErrorAs(t, err, &space)
	require.True(t, space.Exhausted)
	require.ErrorContains(t, err, "its reserve is used up")
	require.Error(t, l.MayGrow(0))
	require.NoError(t, l.Err())

	faulty.Full(false)
	require.NoError(t, grow(), "healed")
	require.NoError(t, l.SpaceErr())
	faulty.Full(true)
	require.NoError(t, grow(), "a whole segment is ready")
	require.NoError(t, l.Close())
}

// For a record larger than the prepared segment that one is enlarged first, and
// is read back as any other.
func TestLargeRecordsAreAskedFor(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	o := testOptions(faulty)
	l, _, _ := mustOpen(t, o)
	require.NoError(t, appendAsked(l, l.MayGrow, 20_000))
	faulty.Full(true)
	require.NoError(t, l.Commit(l.Last()), "its room is there already")
	err := appendAsked(l, l.MayGrow, 30_000)
	require.ErrorIs(t, err, syscall.ENOSPC)
	faulty.Full(false)
	require.NoError(t, l.MayGrow(10), "one that was too large did no harm")
	for step, finished := 0, false; !finished; step++ {
		left := mem.Kill()
		again := vfs.NewFaulty(left)
		o.FS = again
		l, _, _ := mustOpen(t, o)
		again.HaltAfter(step)
		if finished = appendAsked(l, l.MayGrow, 20_000) == nil; finished {
			finished = appendAsked(l, l.MayGrow, 90_000) == nil && l.Commit(l.Last()) == nil // larger still
		}
		for seed := range uint64(3) {
			o.FS = left.Crash(seed)
			_, _, got := mustOpen(t, o)
			require.True(t, len(got) == 1 && !finished || len(got) == 3, "step %d seed %d: %d records", step, seed, len(got))
		}
	}
}

// A disk that is broken, rather than full, ends the log when it shows while a
// segment is prepared.
func TestBrokenDiskWhilePreparing(t *testing.T) {
	t.Parallel()
	for _, fault := range []vfs.Fault{
		{Op: vfs.OpWrite, Err: syscall.EIO},
		{Op: vfs.OpSync, Err: syscall.EIO},
		{Op: vfs.OpRename, Err: syscall.EIO},
		{Op: vfs.OpSyncDir, Err: syscall.EIO},
		{Op: vfs.OpCreate, Err: syscall.EROFS},
	} {
		for _, ask := range []bool{false, true} {
			faulty := vfs.NewFaulty(vfs.NewMem())
			l, _, _ := mustOpen(t, testOptions(faulty))
			faulty.Inject(fault)
			if ask {
				require.ErrorIs(t, l.MayGrow(5000), fault.Err)
			} else {
				l.prepareOne()
			}
			require.ErrorIs(t, l.Err(), fault.Err)
			require.ErrorContains(t, l.Err(), "next segment")
			require.Error(t, l.MayGrow(1))
			require.Error(t, l.MayAppend(1))
			changes := faulty.Changes()
			l.onTick()
			l.prepareOne()
			require.Equal(t, changes, faulty.Changes())
		}
	}
	faulty := vfs.NewFaulty(vfs.NewMem())
	l, _, _ := mustOpen(t, testOptions(faulty))
	faulty.Inject(vfs.Fault{Op: vfs.OpOpen, Err: syscall.EMFILE})
	l.prepareOne()
	require.ErrorIs(t, l.SpaceErr(), syscall.EMFILE)
	l.onTick()
	require.NoError(t, l.SpaceErr(), "tried again")
	require.NoError(t, l.Err())
}

// Writers who ask wait for a segment that is slow to be made, and are refused
// when it is not made, and nobody waits for ever.
func TestAskersWaitForTheSegmentBeingMade(t *testing.T) {
	t.Parallel()
	for _, outcome := range []error{nil, syscall.ENOSPC, syscall.EIO} {
		faulty := vfs.NewFaulty(vfs.NewMem())
		o := testOptions(faulty)
		o.Inline = false
		now := int64(5)
		o.MonoNano = func() int64 { return now }
		making, release := make(chan struct{}), make(chan struct{})
		faulty.Inject(vfs.Fault{Op: vfs.OpCreate, Path: segmentName(2), Err: outcome, Before: func() {
			close(making)
			<-release
		}})
		l, _, _ := mustOpen(t, o)
		<-making
		require.NoError(t, l.MayGrow(10), "there is room yet")
		require.NoError(t, l.MayAppend(550), "in the reserve")
		answers := make(chan error, 4)
		for range 4 {
			go func() { answers <- l.MayGrow(600) }()
		}
		for l.WritingSinceNano() == 0 {
			runtime.Gosched() // until one of them waits
		}
		require.Empty(t, answers)
		close(release)
		for range 4 {
			require.ErrorIs(t, <-answers, outcome)
		}
		if outcome == nil {
			require.NoError(t, l.Close())
		} else {
			_ = l.Close() // fails with the log, or not
		}
		require.Zero(t, l.WritingSinceNano())
	}
}

// What is on its way to the disk counts, too.
func TestFramesInFlightTakeRoom(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	l, _, _ := mustOpen(t, o)
	faulty.Full(true)
	l.prepareOne()
	require.Error(t, l.SpaceErr())
	require.NoError(t, appendAsked(l, l.MayAppend, 400))
	require.NoError(t, l.MayAppend(100))
	asked := 0
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(1), Before: func() {
		asked++
		require.NoError(t, l.MayAppend(100))
		require.Error(t, l.MayAppend(300), "there is not as much behind the frame that is being written")
	}})
	require.NoError(t, l.Commit(l.Last()))
	require.Equal(t, 1, asked)
}

// Whoever waits for a rotation that fails is told.
func TestAskersLearnThatARotationFailed(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", 600))))
	o.MonoNano = func() int64 { return 7 }
	l.now = o.MonoNano
	answer := make(chan error, 1)
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(1), Err: syscall.EIO, Before: func() {
		go func() { answer <- l.MayGrow(100_000) }()
		for l.busy.wait.Load() == 0 {
			runtime.Gosched()
		}
	}})
	require.ErrorIs(t, l.Commit(appendRun(l, 1, strings.Repeat("y", 600))), syscall.EIO)
	require.ErrorIs(t, <-answer, syscall.EIO)
}

// Loops that ask, append and commit beside each other, while the disk is full
// now and then.
func TestFullDiskBesideAppends(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	tick := make(chan time.Time)
	o.Inline, o.SegmentBytes, o.Tick = false, 1<<20, tick
	l, _, _ := mustOpen(t, o)
	var refused, accepted atomic.Int64
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 2))
			for range 400 {
				may, size := l.MayGrow, rnd.IntN(9000)
				if rnd.IntN(4) == 0 {
					may, size = l.MayAppend, 20
				}
				if appendAsked(l, may, size) != nil {
					refused.Add(1)
				} else {
					accepted.Add(1)
				}
				if err := l.Commit(l.Last()); err != nil {
					t.Errorf("a commit failed: %v", err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	for i := 0; ; i++ {
		faulty.Full(i%8 >= 4)
		select {
		case tick <- time.Time{}:
			continue
		case <-done:
		}
		break
	}
	faulty.Full(false)
	require.NoError(t, l.Err())
	require.Positive(t, accepted.Load())
	require.NoError(t, l.Close())
	t.Logf("%d refused, %d accepted", refused.Load(), accepted.Load())
}

func TestSpaceErrorSaysWhy(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk quota exceeded")
	require.EqualError(t, &SpaceError{Err: cause}, "the log cannot grow: disk quota exceeded")
	require.ErrorIs(t, &SpaceError{Exhausted: true, Err: cause}, cause)
}
