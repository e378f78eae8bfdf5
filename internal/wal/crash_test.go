package wal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// crashed is what is known about the log when the machine stopped.
type crashed struct {
	written LSN   // Commit returned nil
	synced  LSN   // Commit returned nil under Always, or Synced said so
	last    LSN   // appended
	runs    []LSN // last record of each run
}

// workload appends runs, commits, ticks, stops and starts until the file
// system halts, and remembers what was promised.
func workload(o Options, rounds int) (c crashed, finished bool) {
	return workloadWith(o, rounds, func(*Log, int) {})
}

// workloadWith calls before at the beginning of each round.
func workloadWith(o Options, rounds int, before func(l *Log, round int)) (c crashed, finished bool) {
	l, _, _, err := openLog(o)
	if err != nil {
		return c, false
	}
	for round := range rounds {
		before(l, round)
		c.last = appendScripted(l, 1+round%3)
		c.runs = append(c.runs, c.last)
		if round%4 != 1 { // some commits take two runs
			if l.Commit(c.last) == nil {
				c.written = c.last
			}
		}
		if round%2 == 0 {
			l.prepareOne() // what the goroutine does in a log that is not inline
		}
		if round%5 == 4 {
			l.onTick()
		}
		c.synced = max(c.synced, l.Synced())
		if l.Err() != nil {
			_ = l.Close()
			return c, false
		}
		if round%7 == 6 {
			err := l.Close()
			c.synced = max(c.synced, l.Synced())
			if err != nil {
				return c, false
			}
			c.written, c.synced = c.last, c.last
			if l, _, _, err = openLog(o); err != nil {
				return c, false
			}
		}
	}
	return c, l.Close() == nil
}

// verify opens what the crash left, checks the promise, goes on writing, and
// checks once more after another crash.
func verify(t *testing.T, o Options, c crashed, atLeast LSN, note string) {
	t.Helper()
	l, report, got, err := openLog(o)
	require.NoError(t, err, note)
	last := LSN(len(got))
	require.GreaterOrEqual(t, last, atLeast, "%s: a promised record is gone", note)
	require.LessOrEqual(t, last, c.last, note)
	require.Equal(t, last, report.LastLSN, note)
	checkRecords(t, got, note)
	if last > 0 {
		require.Contains(t, c.runs, last, "%s: half a run", note)
	}
	require.NoError(t, l.Commit(appendScripted(l, 3)), note)
	end := l.Last()
	// The second crash: what Commit or Open promised stays.
	o.FS = o.FS.(*vfs.Mem).Crash(uint64(last))
	atLeast = last
	if o.Policy == Always {
		atLeast = end
	}
	_, _, got, err = openLog(o)
	require.NoError(t, err, note)
	require.GreaterOrEqual(t, LSN(len(got)), atLeast, "%s: recovered once, then lost", note)
	checkRecords(t, got, note)
}

// The machine stops after every single operation on files. What was promised
// is there, in order; what was not is a prefix of whole runs.
func TestEveryCrashPoint(t *testing.T) {
	t.Parallel()
	for _, way := range ways(Always, EverySec, Never) {
		policy := way.policy
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			for step, finished := 0, false; !finished; step++ {
				mem := directMem()
				faulty := vfs.NewFaulty(mem)
				faulty.HaltAfter(step)
				o := way.options(faulty)
				o.Tick = nil
				if policy == EverySec {
					o.Tick = make(chan time.Time)
				}
				var c crashed
				c, finished = workload(o, 24)
				check := o
				for seed := range uint64(4) {
					check.FS = mem.Crash(seed)
					verify(t, check, c, c.synced, fmt.Sprintf("power cut after step %d, seed %d", step, seed))
				}
				check.FS = mem.Kill()
				verify(t, check, c, c.written, fmt.Sprintf("SIGKILL after step %d", step))
			}
		})
	}
}

// Recovery itself crashes after every single operation, over and over, and
// still nothing promised is lost.
func TestEveryCrashPointOfRecovery(t *testing.T) {
	t.Parallel()
	for _, way := range ways(Always, Never) {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			crashRecovery(t, way)
		})
	}
}

func crashRecovery(t *testing.T, way way) {
	for step, finished := 0, false; !finished; step += 3 {
		mem := directMem()
		faulty := vfs.NewFaulty(mem)
		faulty.HaltAfter(step)
		o := way.options(faulty)
		var c crashed
		c, finished = workload(o, 16)
		for seed := range uint64(2) {
			left, atLeast := mem.Crash(seed), c.synced
			if seed == 0 {
				left, atLeast = mem.Kill(), c.written
			}
			for inner, opened := 0, false; !opened; inner++ {
				// Each crash goes on from the one before it.
				again := vfs.NewFaulty(left)
				again.HaltAfter(inner)
				o.FS = again
				l, _, got, err := openLog(o)
				note := fmt.Sprintf("step %d, seed %d, step %d of recovery", step, seed, inner)
				if opened = err == nil; opened {
					require.GreaterOrEqual(t, LSN(len(got)), atLeast, note)
					checkRecords(t, got, note)
					require.NoError(t, l.Err())
				} else {
					require.ErrorIs(t, err, vfs.ErrHalted, note)
				}
				if seed == 0 && !opened {
					left = left.Kill()
				} else {
					left = left.Crash(uint64(step + inner))
				}
			}
			check := o
			check.FS = left
			verify(t, check, c, atLeast, fmt.Sprintf("step %d, seed %d after recoveries", step, seed))
		}
	}
}

// The preparer must not run ahead while a segment is being ended: after a
// crash there would be two empty segments behind one without an end, which
// looks like a loss.
func TestNothingIsPreparedInTheMiddleOfARotation(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	o := testOptions(faulty)
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendRun(l, 1, "first")))
	l.prepareOne()
	var left *vfs.Mem
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(1), Before: func() {
		l.prepareOne() // as the goroutine might, just before the end frame
		left = mem.Kill()
	}})
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", 800))))
	require.Len(t, segments(t, left), 2)
	o.FS = left
	_, _, got := mustOpen(t, o)
	require.Len(t, got, 1)
}
