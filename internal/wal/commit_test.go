package wal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// countSyncs counts the syncs of segments under way to be committed to.
func countSyncs(faulty *vfs.Faulty, before func(nth int64)) *atomic.Int64 {
	var n atomic.Int64
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Path: segmentName(1), Sticky: true, Before: func() {
		before(n.Add(1))
	}})
	return &n
}

// background is a log with its goroutines and room enough not to rotate.
func background(fsys vfs.FS) Options {
	o := testOptions(fsys)
	o.Inline, o.SegmentBytes = false, 1<<20
	return o
}

// While one sync is under way, everything that arrives shares the next one.
func TestOneSyncPerBatch(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	l, _, _ := mustOpen(t, background(faulty))
	syncing, release := make(chan struct{}), make(chan struct{})
	syncs := countSyncs(faulty, func(nth int64) {
		if nth == 1 {
			close(syncing)
			<-release
		}
	})
	var all sync.WaitGroup
	all.Go(func() { require.NoError(t, l.Commit(appendRun(l, 1, "leader"))) })
	<-syncing
	const followers = 20
	var appended sync.WaitGroup
	appended.Add(followers)
	for range followers {
		all.Go(func() {
			lsn := appendRun(l, 1, "follower")
			appended.Done()
			require.NoError(t, l.Commit(lsn))
			require.GreaterOrEqual(t, l.Durable(), lsn)
		})
	}
	appended.Wait()
	l.Kick() // the syncer is one more follower
	require.Zero(t, l.Durable())
	close(release)
	all.Wait()
	require.EqualValues(t, 2, syncs.Load())
	require.EqualValues(t, followers+1, l.Synced())
	require.EqualValues(t, followers+1, l.Stats().SyncedRecords)
	require.NoError(t, l.Close())
}

// Loops that commit by themselves, loops that ask the syncer, ticks and
// rotations, all at once: nobody is told too early, nobody waits for ever.
func TestConcurrentCommitAndKick(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{Always, EverySec, Never} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			t.Parallel()
			mixed(t, policy)
		})
	}
}

func mixed(t *testing.T, policy Policy) {
	const workers, rounds = 6, 150
	mem := vfs.NewMem()
	tick := make(chan time.Time)
	o := testOptions(mem)
	o.Inline, o.Policy, o.Tick, o.SegmentBytes = false, policy, tick, 4000
	l, _, _ := mustOpen(t, o)
	moved := sync.NewCond(&sync.Mutex{})
	l.OnDurable(func() {
		moved.L.Lock() // a waiter between its check and its Wait must not miss this
		moved.Broadcast()
		moved.L.Unlock()
	})
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range rounds {
				lsn := appendRun(l, int64(i), fmt.Sprintf("%d %d", w, i), fmt.Sprintf("%d %d again", w, i))
				if w%2 == 0 {
					if err := l.Commit(lsn); err != nil || l.Durable() < lsn {
						t.Errorf("commit of %d: %v, durable %d", lsn, err, l.Durable())
					}
					continue
				}
				l.Kick()
				moved.L.Lock()
				for l.Durable() < lsn {
					moved.Wait()
				}
				moved.L.Unlock()
				if policy == Always && l.Synced() < lsn {
					t.Errorf("%d is durable but not synced", lsn)
				}
			}
		})
	}
	stopTicks := make(chan struct{})
	ticking := make(chan struct{})
	go func() {
		defer close(ticking)
		for {
			select {
			case tick <- time.Time{}:
			case <-stopTicks:
				return
			}
		}
	}()
	all.Wait()
	close(stopTicks)
	<-ticking
	require.NoError(t, l.Close())
	require.NoError(t, l.Err())

	_, report, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 2*workers*rounds)
	require.Greater(t, report.Segments, 5)
	next := map[byte]int{}
	for i := 0; i < len(got); i += 2 {
		w := got[i].payload[0]
		want := fmt.Sprintf("%c %d", w, next[w])
		require.Equal(t, want, got[i].payload)
		require.Equal(t, want+" again", got[i+1].payload, "a run stays together")
		require.Equal(t, LSN(i+1), got[i].lsn)
		next[w]++
	}
}

// EverySec and Never write before Commit returns and do not sync; a tick
// syncs for EverySec and tells.
func TestPoliciesThatDoNotWait(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{EverySec, Never} {
		mem := vfs.NewMem()
		tick := make(chan time.Time)
		o := background(mem)
		o.Policy, o.Tick = policy, tick
		l, _, _ := mustOpen(t, o)
		require.NoError(t, l.Commit(appendScripted(l, 3)))
		require.EqualValues(t, 3, l.Durable())
		require.Zero(t, l.Synced())
		_, _, got := mustOpen(t, withFS(o, mem.Kill()))
		require.Len(t, got, 3, "SIGKILL loses nothing")

		told := make(chan struct{}, 10)
		l.OnDurable(func() { told <- struct{}{} })
		tick <- time.Time{}
		if policy == EverySec {
			<-told
			require.EqualValues(t, 3, l.Synced())
			_, _, got = mustOpen(t, withFS(o, mem.Crash(1)))
			require.Len(t, got, 3, "a power cut loses nothing that a tick synced")
		}
		appendScripted(l, 1) // by somebody who does not wait
		tick <- time.Time{}
		tick <- time.Time{} // the one before is done when this one is taken
		require.EqualValues(t, 4, l.Durable())
		if policy == Never {
			require.Zero(t, l.Synced())
		}
		l.SetPolicy(Always)
		require.EqualValues(t, 4, l.Synced())
		require.NoError(t, l.Commit(appendScripted(l, 1)))
		require.EqualValues(t, 5, l.Synced())
		l.SetPolicy(Never)
		require.NoError(t, l.Commit(appendScripted(l, 1)))
		require.EqualValues(t, 5, l.Synced())
		require.NoError(t, l.Close())
		_, _, got = mustOpen(t, withFS(o, mem.Crash(2)))
		require.Len(t, got, 6, "an orderly stop syncs under every policy")
	}
}

func withFS(o Options, fsys vfs.FS) Options {
	o.FS, o.Inline, o.Tick = fsys, true, nil
	return o
}

// Without a tick, EverySec must not turn into Never.
func TestEverySecWithoutTickSyncs(t *testing.T) {
	t.Parallel()
	o := testOptions(vfs.NewMem())
	o.Policy = EverySec
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	require.EqualValues(t, 1, l.Synced())
}

// A slow tick's sync holds up no Commit under EverySec.
func TestTickDoesNotBlockCommits(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	tick := make(chan time.Time)
	o := background(faulty)
	o.Policy, o.Tick = EverySec, tick
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	syncing, release := make(chan struct{}), make(chan struct{})
	countSyncs(faulty, func(nth int64) {
		if nth == 1 {
			close(syncing)
			<-release
		}
	})
	tick <- time.Time{}
	<-syncing
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	told := make(chan struct{}, 10)
	l.OnDurable(func() { told <- struct{}{} })
	appendScripted(l, 1)
	l.Kick()
	<-told
	require.EqualValues(t, 3, l.Durable())
	require.Zero(t, l.Synced())
	close(release)
	require.NoError(t, l.Close())
	require.EqualValues(t, 3, l.Synced())
}

func TestInlineKickNotifies(t *testing.T) {
	t.Parallel()
	l, _, _ := mustOpen(t, testOptions(vfs.NewMem()))
	var seen []LSN
	l.OnDurable(func() { seen = append(seen, l.Durable()) })
	l.OnDurable(func() { seen = append(seen, 100) })
	appendScripted(l, 2)
	l.Kick()
	require.Equal(t, []LSN{2, 100}, seen)
}

func TestCommitAfterClose(t *testing.T) {
	t.Parallel()
	l, _, _ := mustOpen(t, background(vfs.NewMem()))
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	require.NoError(t, l.Close())
	require.NoError(t, l.Commit(1))
	require.ErrorIs(t, l.Commit(appendScripted(l, 1)), ErrClosed)
	l.Kick()
}

func TestLatencyFollowsTheClock(t *testing.T) {
	t.Parallel()
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := testOptions(faulty)
	o.SegmentBytes = 1 << 20
	var now, step int64
	o.MonoNano = func() int64 { return now }
	l, _, _ := mustOpen(t, o)
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Sticky: true, Before: func() { now += step }})
	step = 100_000
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	require.EqualValues(t, 100, l.SyncLatencyMicro(), "the first sample is all there is")
	step = 2_000_000
	for range 40 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	require.InDelta(t, 2000, l.SyncLatencyMicro(), 20)
	require.EqualValues(t, 2000, l.Stats().LastSyncMicro)
	require.EqualValues(t, 41, l.Stats().Syncs)
}

// The hot path: appending and committing a small record allocates nothing.
func TestAppendAndCommitAllocateNothing(t *testing.T) {
	o := testOptions(vfs.OS())
	o.Dir, o.SegmentBytes = t.TempDir(), 4<<20
	l, _, _, err := openLog(o)
	require.NoError(t, err)
	payload := make([]byte, 120)
	commit := func() {
		l.Lock()
		lsn := l.Done(append(l.Next(1), payload...))
		l.Unlock()
		if err := l.Commit(lsn); err != nil {
			t.Fatal(err)
		}
	}
	commit() // both buffers are there after two
	commit()
	require.Zero(t, testing.AllocsPerRun(200, commit))
	require.NoError(t, l.Close())
}
