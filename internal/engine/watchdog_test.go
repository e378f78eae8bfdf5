package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/vfs"
)

const milli = int64(time.Millisecond)

func watching(report, fatal time.Duration) (w *watchdog, log *lines, fatals *[]error) {
	log, fatals = &lines{}, &[]error{}
	w = &watchdog{logf: log.logf, fatal: func(err error) { *fatals = append(*fatals, err) }}
	w.reportNano.Store(int64(report))
	w.fatalNano.Store(int64(fatal))
	return w, log, fatals
}

func TestHangIsReportedThenFatal(t *testing.T) {
	w, log, fatals := watching(time.Second, 5*time.Second)
	now := 1000 * milli
	w.look(0, now)
	since := now + 50*milli
	for now < since+5000*milli {
		now += 100 * milli
		w.look(since, now)
	}
	require.Equal(t, 3, len(log.all)-1, "at 1, 2 and 4 s: %v", log.all)
	require.Contains(t, log.all[0], "has been under way for 1050 ms")
	require.Len(t, *fatals, 1)
	require.ErrorContains(t, (*fatals)[0], "the disk is given up")
	w.look(since, now+100*milli)
	require.Len(t, *fatals, 1)
}

func TestHangThatEndsIsReportedOnce(t *testing.T) {
	w, log, fatals := watching(time.Second, 0)
	now := int64(0)
	for range 30 {
		now += 100 * milli
		w.look(1*milli, now)
	}
	w.look(0, now+100*milli)
	w.look(0, now+200*milli)
	require.Len(t, log.all, 3)
	require.Contains(t, log.all[2], "answers again")
	require.Empty(t, *fatals)
}

// Many short writes are no hang, however busy the disk.
func TestShortWritesAreNoHang(t *testing.T) {
	w, log, fatals := watching(time.Second, 2*time.Second)
	for i := range int64(200) {
		w.look(i*100*milli+90*milli, i*100*milli+100*milli)
	}
	require.Empty(t, log.all)
	require.Empty(t, *fatals)
}

// A machine that slept in the middle of a sync has no hanging disk.
func TestSuspendIsNoHang(t *testing.T) {
	w, log, fatals := watching(time.Second, 2*time.Second)
	w.look(0, 0)
	w.look(50*milli, 100*milli)
	w.look(50*milli, 3_600_000*milli)
	require.Empty(t, log.all)
	require.Empty(t, *fatals)
}

func TestZeroBoundsDoNothing(t *testing.T) {
	w, log, fatals := watching(0, 0)
	for now := int64(0); now < 1_000_000*milli; now += 100 * milli {
		w.look(1, now)
	}
	require.Empty(t, log.all)
	require.Empty(t, *fatals)
}

// The whole of it: a sync that does not return, seen by the goroutine.
func TestHangingSyncIsFatal(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	o := options(fs, clock.System())
	given := make(chan error, 1)
	o.SyncReport, o.SyncFatal = time.Millisecond, 300*time.Millisecond
	o.Fatal = func(err error) { given <- err }
	e := opened(t, o)
	release := make(chan struct{})
	fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "data/wal/wal-0000000000000001", Before: func() { <-release }})
	lsn := put(t, e, "a", "1", 0)
	committed := make(chan error, 1)
	go func() { committed <- e.Log().Commit(lsn) }()
	require.ErrorContains(t, <-given, "hanging")
	close(release)
	require.NoError(t, <-committed)
	require.NoError(t, e.Close())
}
