package clock_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
)

const start = int64(1_700_000_000_000)

// journal collects what a clock reports.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) logf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

// move is what happens before a reading; t is T then, relative to start.
type move struct {
	pass, step, raise int64 // milliseconds; raise is relative to start, 0 is none
	follow            bool
	t, offset         int64
}

func TestServerTime(t *testing.T) {
	t.Parallel()
	f := func(name string, reports []string, moves ...move) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkMoves(t, reports, moves)
		})
	}
	agree := "agree again"
	f("follows the wall clock", nil,
		move{},
		move{pass: 1, t: 1},
		move{pass: 86_400_000, t: 86_400_001})
	f("suspend moves both clocks, so it is time that passed", nil,
		move{pass: 8 * 3600_000, t: 8 * 3600_000})
	f("a small backward step is slewed silently", nil,
		move{step: -100, t: 0, offset: 100},
		move{pass: 100, t: 50, offset: 50},
		move{pass: 100, t: 100},
		move{pass: 100, t: 200})
	f("a large backward step is reported and slewed", []string{"10s behind", agree},
		move{step: -10_000, t: 0, offset: 10_000},
		move{pass: 10_000, t: 5_000, offset: 5_000},
		move{pass: 20_000, t: 20_000},
		move{pass: 1, t: 20_001})
	f("a small forward step is slewed silently", nil,
		move{step: 100, t: 0, offset: -100},
		move{pass: 3200, t: 3250, offset: -50},
		move{pass: 6400, t: 9700},
		move{pass: 1, t: 9701})
	f("a large forward step is reported and followed at 1/64", []string{"1h0m0s ahead", agree},
		move{step: 3600_000, t: 0, offset: -3600_000},
		move{pass: 64_000, t: 65_000, offset: -3599_000},
		move{pass: 3600_000 * 64, t: 3600_000*65 + 64_000})
	f("a forward step is followed at once on the operator's word", []string{"1h0m0s ahead", agree},
		move{step: 3600_000, t: 0, offset: -3600_000},
		move{follow: true, t: 3600_000},
		move{pass: 5, t: 3600_005})
	f("the operator's word does not turn time back", []string{"1m0s behind"},
		move{step: -60_000, t: 0, offset: 60_000},
		move{follow: true, t: 0, offset: 60_000})
	f("many small forward steps do not add up unnoticed", []string{"300ms ahead"},
		move{step: 100, t: 0, offset: -100},
		move{step: 100, t: 0, offset: -200},
		move{step: 100, t: 0, offset: -300})
	f("a second step is reported again", []string{"1s ahead", "2s ahead"},
		move{step: 1000, t: 0, offset: -1000},
		move{step: 100, t: 0, offset: -1100},
		move{step: 900, t: 0, offset: -2000})
	f("a step that changes sides is reported", []string{"1s ahead", "1s behind"},
		move{step: 1000, t: 0, offset: -1000},
		move{step: -2000, t: 0, offset: 1000})
	f("a step undone leaves no trace", []string{"1h0m0s ahead", agree},
		move{step: 3600_000, t: 0, offset: -3600_000},
		move{step: -3600_000, t: 0},
		move{pass: 10, t: 10})
	f("restart with the clock behind the log", []string{"1m0s behind", agree},
		move{raise: 60_000, t: 60_000, offset: 60_000},
		move{pass: 60_000, t: 90_000, offset: 30_000},
		move{pass: 60_000, t: 120_000},
		move{pass: 1, t: 120_001})
	f("restart with the clock ahead of the log trusts it", nil,
		move{raise: -3600_000, t: 0},
		move{pass: 7, t: 7})
}

func checkMoves(t *testing.T, reports []string, moves []move) {
	src := clock.NewManual(start)
	var j journal
	c := clock.New(src, j.logf)
	for i, m := range moves {
		src.AdvanceMilli(m.pass)
		src.StepWallMilli(m.step)
		if m.raise != 0 {
			c.Raise(start + m.raise)
		}
		if m.follow {
			c.FollowWall()
		}
		require.Equal(t, m.t, c.NowMilli()-start, "T after move %d", i)
		require.Equal(t, m.offset, c.OffsetMilli(), "offset after move %d", i)
		require.Equal(t, c.NowMilli(), c.NowMilli(), "no time passed")
	}
	require.Len(t, j.lines, len(reports), "%q", j.lines)
	for i, want := range reports {
		require.Contains(t, j.lines[i], want)
	}
}

// Whatever the wall clock does and however often T is read, T passes between
// half and 65/64 of the time that really passed (I10).
func TestServerTimeStaysNearRealTime(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		src := clock.NewManual(start)
		c := clock.New(src, nil)
		last := c.NowMilli()
		var first, real = last, int64(0)
		for range 500 {
			pass := rnd.Int64N(1 << rnd.IntN(24))
			src.AdvanceMilli(pass)
			if rnd.IntN(4) == 0 {
				src.StepWallMilli(rnd.Int64N(1<<32) - 1<<31)
			}
			real += pass
			now := c.NowMilli()
			// One millisecond for rounding down twice.
			require.GreaterOrEqual(t, now-last, pass/2-1, "seed %d", seed)
			require.LessOrEqual(t, now-last, pass+pass/64+1, "seed %d", seed)
			last = now
		}
		require.LessOrEqual(t, last-first, real+real/64+1, "early readings do not add up")
	}
}

// Ordinary slewing of the wall clock, 500 ppm, is followed exactly.
func TestSlewIsFollowed(t *testing.T) {
	t.Parallel()
	for _, direction := range []int64{1, -1} {
		src := clock.NewManual(start)
		var j journal
		c := clock.New(src, j.logf)
		for range 1000 {
			src.AdvanceMilli(2000)
			src.StepWallMilli(direction)
			require.Equal(t, src.WallMilli(), c.NowMilli())
		}
		require.Empty(t, j.lines)
	}
}

func TestConcurrentReadersNeverSeeTimeGoBack(t *testing.T) {
	t.Parallel()
	src := clock.NewManual(start)
	c := clock.New(src, nil)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := int64(0)
			for i := range 2000 {
				if i%7 == 0 {
					src.AdvanceMilli(3)
				}
				if i%100 == 0 {
					src.StepWallMilli(-50)
				}
				now := c.NowMilli()
				if now < last {
					t.Errorf("%d after %d", now, last)
				}
				last = now
			}
		})
	}
	wg.Wait()
}

func TestNowMilliAllocatesNothing(t *testing.T) {
	c := clock.New(clock.System(), nil)
	require.Zero(t, testing.AllocsPerRun(1000, func() { c.NowMilli(); c.MonoNano() }))
}

func TestSystemSource(t *testing.T) {
	t.Parallel()
	src := clock.System()
	before := time.Now().UnixNano()
	wall, mono := src.Read()
	require.GreaterOrEqual(t, wall, before)
	require.LessOrEqual(t, wall, time.Now().UnixNano())
	for range 1000 {
		_, next := src.Read()
		require.GreaterOrEqual(t, next, mono)
		mono = next
	}
	require.Positive(t, mono)
	// The machine's clock may be slewed meanwhile, so T may be off by what is
	// not worth a report.
	c := clock.New(src, nil)
	earliest := time.Now().UnixMilli()
	now := c.NowMilli()
	require.GreaterOrEqual(t, now, earliest-250)
	require.LessOrEqual(t, now, time.Now().UnixMilli()+250)
}

func TestTicker(t *testing.T) {
	t.Parallel()
	ticks, stop := clock.NewTicker(time.Millisecond)
	<-ticks
	<-ticks
	stop()
}

func BenchmarkNowMilli(b *testing.B) {
	c := clock.New(clock.System(), nil)
	b.ReportAllocs()
	for b.Loop() {
		c.NowMilli()
	}
}
