package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const startMilli = 1_800_000_000_000

// lines collects what an engine logged.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) logf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func options(fs vfs.FS, src clock.Source) Options {
	return Options{FS: fs, Dir: "data", Log: true, Shards: 4, Databases: 16,
		SegmentBytes: 64 << 10, Clock: clock.New(src, nil)}
}

func opened(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	require.NoError(t, err)
	require.NoError(t, e.Recover())
	return e
}

func put(t *testing.T, e *Engine, key, value string, deadlineMilli int64) wal.LSN {
	t.Helper()
	tx := e.Store.NewTx()
	tx.Begin(e.Clock.NowMilli(), 0)
	k := shard.MakeKey([]byte(key))
	tx.LockKeys([]shard.Key{k})
	require.NoError(t, tx.Put(&k, shard.Value{Bytes: []byte(value), DeadlineMilli: deadlineMilli}))
	tx.End()
	return tx.Observed()
}

func get(e *Engine, key string) (value string, deadlineMilli int64, ok bool) {
	tx := e.Store.NewTx()
	tx.Begin(e.Clock.NowMilli(), 0)
	k := shard.MakeKey([]byte(key))
	tx.LockKeys([]shard.Key{k})
	defer tx.End()
	v, ok := tx.Get(&k)
	return string(v.Bytes), v.DeadlineMilli, ok
}

func TestCommittedSurvivesAPowerCutWithItsDeadline(t *testing.T) {
	for seed := range uint64(20) {
		fs := vfs.NewMem()
		e := opened(t, options(fs, clock.NewManual(startMilli)))
		put(t, e, "a", "1", startMilli+5000)
		require.NoError(t, e.Log().Commit(put(t, e, "b", "2", 0)))
		put(t, e, "c", "unanswered", 0)

		back := opened(t, options(fs.Crash(seed), clock.NewManual(startMilli)))
		value, deadlineMilli, ok := get(back, "a")
		require.True(t, ok)
		require.Equal(t, "1", value)
		require.EqualValues(t, startMilli+5000, deadlineMilli)
		value, deadlineMilli, ok = get(back, "b")
		require.True(t, ok)
		require.Equal(t, "2", value)
		require.Zero(t, deadlineMilli)
		require.NoError(t, back.Close())
	}
}

func TestTimeGoesOnWhereTheLogStopped(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs, clock.NewManual(startMilli)))
	put(t, e, "a", "1", 0)
	require.NoError(t, e.Log().Commit(e.Last()))

	// The machine comes back with a clock an hour behind (I10).
	back := opened(t, options(fs.Crash(0), clock.NewManual(startMilli-3_600_000)))
	require.GreaterOrEqual(t, back.Clock.NowMilli(), int64(startMilli))
	require.NoError(t, back.Close())
}

func TestTimeGoesOnWhereAnOrderlyStopLeftIt(t *testing.T) {
	fs, src := vfs.NewMem(), clock.NewManual(startMilli)
	e := opened(t, options(fs, src))
	src.AdvanceMilli(5000)
	require.NoError(t, e.Close())
	back := opened(t, options(fs, clock.NewManual(startMilli-3_600_000)))
	require.GreaterOrEqual(t, back.Clock.NowMilli(), int64(startMilli+5000))
	require.NoError(t, back.Close())
}

func TestExpiryOnceSeenStaysSeen(t *testing.T) {
	fs := vfs.NewMem()
	src := clock.NewManual(startMilli)
	e := opened(t, options(fs, src))
	require.NoError(t, e.Log().Commit(put(t, e, "a", "1", startMilli+1000)))
	src.AdvanceMilli(1000)

	tx := e.Store.NewTx()
	tx.Begin(e.Clock.NowMilli(), 0)
	k := shard.MakeKey([]byte("a"))
	tx.LockKeys([]shard.Key{k})
	_, ok := tx.Get(&k)
	tx.End()
	require.False(t, ok)
	require.Greater(t, tx.Observed(), e.Durable(), "the reply must wait for a record that carries T")
	require.NoError(t, e.Log().Commit(tx.Observed()))

	back := opened(t, options(fs.Crash(1), clock.NewManual(startMilli)))
	_, _, ok = get(back, "a")
	require.False(t, ok, "the key was reported gone before the crash")
	require.NoError(t, back.Close())
}

func TestSecondOpenerIsRefused(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs, clock.NewManual(startMilli)))
	_, err := Open(options(fs, clock.NewManual(startMilli)))
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, e.Close())
	require.NoError(t, opened(t, options(fs, clock.NewManual(startMilli))).Close())
}

func TestMemoryOnlyTouchesNoFile(t *testing.T) {
	fs := vfs.NewFaulty(vfs.NewMem())
	var log lines
	o := options(fs, clock.NewManual(startMilli))
	o.Log, o.Logf = false, log.logf
	e := opened(t, o)
	lsn := put(t, e, "a", "1", 0)
	require.EqualValues(t, 1, lsn)
	require.Equal(t, lsn, e.Last())
	require.Equal(t, lsn, e.Durable())
	require.Zero(t, e.Synced())
	value, _, ok := get(e, "a")
	require.True(t, ok)
	require.Equal(t, "1", value)
	require.NoError(t, e.Close())
	require.Zero(t, fs.Changes())
	require.Empty(t, log.text())
}

func TestUnknownOpcodeStopsRecovery(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs, clock.NewManual(startMilli)))
	l := e.Log()
	l.Lock()
	lsn := l.Done(append(l.Next(startMilli), 250, 0))
	l.Unlock()
	require.NoError(t, l.Commit(lsn))
	require.NoError(t, e.Close())

	back, err := Open(options(fs, clock.NewManual(startMilli)))
	require.NoError(t, err)
	err = back.Recover()
	require.ErrorContains(t, err, "250")
	require.True(t, back.Loading(), "a store that is not whole never serves")
	require.NoError(t, back.Close())
}

func TestReportTellsWhatWasFound(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs, clock.NewManual(startMilli)))
	for i := range 10 {
		put(t, e, fmt.Sprint(i), "x", 0)
	}
	require.NoError(t, e.Close())
	var log lines
	o := options(fs, clock.NewManual(startMilli))
	o.Logf = log.logf
	back := opened(t, o)
	require.Contains(t, log.text(), "10 records, LSN 1 to 10")
	require.False(t, back.Loading())
	done, total := back.Progress()
	require.Equal(t, total, done)
	require.Positive(t, total)
	require.NoError(t, back.Close())
}

// The codes that recovery meets are the registry's, whatever order a build
// lists them in.
func TestIdempotencyPutIs53(t *testing.T) {
	require.EqualValues(t, 53, op.IdempotencyPut)
}

func TestStoppedRecoveryChangesNothing(t *testing.T) {
	fs := vfs.NewMem()
	e := opened(t, options(fs, clock.NewManual(startMilli)))
	put(t, e, "a", "1", 0)
	require.NoError(t, e.Close())

	faulty := vfs.NewFaulty(fs)
	stopped, err := Open(options(faulty, clock.NewManual(startMilli)))
	require.NoError(t, err)
	faulty.Inject(vfs.Fault{Op: vfs.OpChange &^ vfs.OpMkdir, Sticky: true, Err: errors.New("changed something")})
	stopped.StopRecovery()
	require.ErrorIs(t, stopped.Recover(), ErrStopped)
	require.True(t, stopped.Loading())
	require.NoError(t, stopped.Close())

	back := opened(t, options(fs, clock.NewManual(startMilli)))
	value, _, ok := get(back, "a")
	require.True(t, ok)
	require.Equal(t, "1", value)
	require.NoError(t, back.Close())
}
