package wal

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// kept is what a manifest would say, and what is known besides.
type kept struct {
	logID        uint64
	previous     LSN // what the older snapshot holds
	newest       LSN // what the newer one does
	firstSegment uint64
	reach        LSN
}

// startFrom is the options of a start from a snapshot that holds snapshot.
func (k *kept) startFrom(o Options, snapshot LSN) Options {
	o.LogID, o.FirstSegment, o.ReachLSN = k.logID, k.firstSegment, k.reach
	o.FirstLSN, o.MustExist = snapshot+1, k.logID != 0
	return o
}

// snapshotAll stands for a snapshot of everything appended: it is durable at
// once, and so is the manifest.
func (k *kept) snapshotAll(l *Log) error {
	if err := l.Sync(); err != nil {
		return err
	}
	k.previous, k.newest = k.newest, l.Synced()
	k.reach = k.newest
	k.firstSegment = max(k.firstSegment, l.SegmentFor(k.previous+1))
	_, err := l.RemoveBefore(k.firstSegment)
	return err
}

// keepingWorkload appends, makes snapshots, stops and starts.
func keepingWorkload(o Options, rounds int) (c crashed, k kept, finished bool) {
	l, _, _, err := openLog(o)
	if err != nil {
		return c, k, false
	}
	k.logID = l.ID()
	for round := range rounds {
		c.last = appendScripted(l, 1+round%3)
		c.runs = append(c.runs, c.last)
		if l.Commit(c.last) == nil {
			c.written = c.last
		}
		if round%2 == 0 {
			l.prepareOne()
		}
		if round%4 == 3 && k.snapshotAll(l) != nil {
			return c, k, false
		}
		c.synced = max(c.synced, l.Synced())
		if l.Err() != nil {
			return c, k, false
		}
		if round%7 == 6 {
			if l.Close() != nil {
				return c, k, false
			}
			c.written, c.synced = c.last, c.last
			k.reach = c.last
			if l, _, _, err = openLog(k.startFrom(o, k.newest)); err != nil {
				return c, k, false
			}
			_, _ = l.RemoveBefore(k.firstSegment)
		}
	}
	return c, k, l.Close() == nil
}

// checkTail compares got with the scripted workload behind snapshot.
func checkTail(t *testing.T, got []record, snapshot LSN, note string) {
	t.Helper()
	for i, r := range got {
		n := snapshot + LSN(i) + 1
		if r != (record{n, tOf(n), payloadOf(n)}) {
			require.Equal(t, record{n, tOf(n), payloadOf(n)}, r, note)
		}
	}
}

// The machine stops after every operation of a log that loses its beginning
// again and again. Behind either snapshot, what was promised is there.
func TestEveryCrashPointOfRemoval(t *testing.T) {
	t.Parallel()
	for _, policy := range []Policy{Always, EverySec, Never} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			t.Parallel()
			removals := 0
			for step, finished := 0, false; !finished; step++ {
				mem := vfs.NewMem()
				faulty := vfs.NewFaulty(mem)
				faulty.HaltAfter(step)
				o := testOptions(faulty)
				o.Policy = policy
				if policy == EverySec {
					o.Tick = make(chan time.Time)
				}
				var c crashed
				var k kept
				c, k, finished = keepingWorkload(o, 24)
				removals = int(k.firstSegment)
				for seed := range uint64(4) {
					left, atLeast := mem.Crash(seed), c.synced
					if seed == 3 {
						left, atLeast = mem.Kill(), c.written
					}
					for _, snapshot := range []LSN{k.previous, k.newest} {
						k := k // goes on for itself
						note := fmt.Sprintf("step %d seed %d behind %d", step, seed, snapshot)
						check := k.startFrom(o, snapshot)
						check.FS = left.Kill()
						l, _, got, err := openLog(check)
						require.NoError(t, err, note)
						checkTail(t, got, snapshot, note)
						require.GreaterOrEqual(t, snapshot+LSN(len(got)), atLeast, note)
						require.Equal(t, snapshot+LSN(len(got)), l.Last(), note)
						_, err = l.RemoveBefore(k.firstSegment)
						require.NoError(t, err)
						for _, name := range segments(t, check.FS) {
							require.GreaterOrEqual(t, bytesOf(name), segmentName(k.firstSegment), note)
						}
						require.NoError(t, l.Commit(appendScripted(l, 2)), note)
						require.NoError(t, k.snapshotAll(l), note)
						end := l.Last()
						check = k.startFrom(check, k.newest)
						check.FS = check.FS.(*vfs.Mem).Crash(seed)
						l, _, got, err = openLog(check)
						require.NoError(t, err, note)
						require.Empty(t, got)
						require.Equal(t, end, l.Last(), note)
					}
				}
			}
			require.Greater(t, removals, 5, "hardly anything was ever removed")
		})
	}
}

// A removal that fails loses nothing, is told, and can be tried again; the log
// goes on.
func TestRemovalFails(t *testing.T) {
	t.Parallel()
	for _, op := range []vfs.Op{vfs.OpRemove, vfs.OpSyncDir} {
		mem := vfs.NewMem()
		faulty := vfs.NewFaulty(mem)
		l, _, _ := mustOpen(t, testOptions(faulty))
		for range 14 {
			require.NoError(t, l.Commit(appendScripted(l, 1)))
		}
		before := len(segments(t, mem))
		broken := errors.New("broken")
		faulty.Inject(vfs.Fault{Op: op, Nth: 2, Err: broken})
		if op == vfs.OpSyncDir {
			faulty.Clear()
			faulty.Inject(vfs.Fault{Op: op, Err: broken})
		}
		removed, err := l.RemoveBefore(math.MaxUint64)
		require.ErrorIs(t, err, broken)
		require.Positive(t, removed)
		require.NoError(t, l.Err())
		more, err := l.RemoveBefore(math.MaxUint64)
		require.NoError(t, err, "again")
		require.Less(t, before-removed-more, 3)
		require.Len(t, segments(t, mem.Crash(0)), before-removed-more, "removed for good")
		require.NoError(t, l.Commit(appendScripted(l, 3)))
		require.NoError(t, l.Close())
	}
}

func TestSegmentForAndRemoveBefore(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	o := testOptions(mem)
	l, _, _ := mustOpen(t, o)
	require.EqualValues(t, 1, l.SegmentFor(1))
	require.EqualValues(t, 1, l.SegmentFor(77))
	for range 40 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	l.prepareOne()
	files := mustInspect(t, testOptions(mem.Kill())).Files
	require.Greater(t, len(files), 8)
	// What SegmentFor says is enough, and the next one is not.
	enough := func(o Options, l *Log) {
		for lsn := LSN(1); lsn <= 41; lsn++ {
			seq := l.SegmentFor(lsn)
			o.FirstLSN, o.FirstSegment = lsn, seq
			o.FS = mem.Kill()
			_, report, got := mustOpen(t, o)
			require.Len(t, got, 41-int(lsn))
			require.Zero(t, report.Skipped)
			o.FirstSegment = seq + 1
			_, _, _, err := openLog(o)
			if lsn > 1 && files[seq].FirstLSN == lsn {
				require.NoError(t, err, "a segment begins with %d, which is on disk here", lsn)
				continue
			}
			require.Error(t, err, "record %d without segment %d", lsn, seq)
		}
	}
	enough(o, l)
	size := l.Stats().SizeBytes
	require.Equal(t, size, l.BytesSince(1))
	require.Zero(t, l.BytesSince(41))

	removed, err := l.RemoveBefore(4)
	require.NoError(t, err)
	require.Equal(t, 3, removed)
	require.Equal(t, bytesOf(segments(t, mem)[0]), segmentName(4))
	require.Equal(t, l.Stats().SizeBytes, size-files[0].UsedBytes-files[1].UsedBytes-files[2].UsedBytes)
	require.Equal(t, l.Stats().SizeBytes, l.BytesSince(files[3].FirstLSN))
	removed, err = l.RemoveBefore(4)
	require.NoError(t, err)
	require.Zero(t, removed)
	removed, err = l.RemoveBefore(math.MaxUint64)
	require.NoError(t, err)
	require.Positive(t, removed)
	left := segments(t, mem)
	require.Len(t, left, 2, "the live one, and the one prepared")
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	require.NoError(t, l.Close())

	// The same knowledge comes from reading.
	o.FirstLSN, o.FirstSegment = 41, l.keep.starts[0].seq
	l, report, got := mustOpen(t, o)
	require.EqualValues(t, 41, report.FirstLSN)
	checkTail(t, got, 40, "")
	require.Equal(t, o.FirstSegment, l.SegmentFor(41))
}

// A segment whose first frame may yet be lost is no beginning of a log.
func TestSegmentForWaitsForTheSync(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	o := testOptions(mem)
	o.Policy = Never
	l, _, _ := mustOpen(t, o)
	for len(segments(t, mem)) < 3 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	live := l.keep.starts[len(l.keep.starts)-1]
	require.Less(t, l.Synced(), l.Last())
	require.Equal(t, live.seq-1, l.SegmentFor(l.Last()+1))
	_, err := l.RemoveBefore(math.MaxUint64)
	require.NoError(t, err)
	for seed := range uint64(8) {
		o.FS = mem.Crash(seed)
		o.FirstLSN, o.FirstSegment = l.Synced()+1, live.seq-1
		_, _, _, err := openLog(o)
		require.NoError(t, err)
	}
	require.NoError(t, l.Sync())
	require.Equal(t, live.seq, l.SegmentFor(l.Last()+1))
}

// What is damaged in a segment that nobody needs now stops nobody; in one that
// is needed it does, as ever.
func TestOnlyNeededSegmentsAreRead(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	o := testOptions(mem)
	report := mustInspect(t, o)
	files := report.Files
	needed := len(files) - 2
	o.FirstLSN = files[needed].FirstLSN + 1
	o.LogID, o.MustExist, o.ReachLSN = report.LogID, true, 14
	segs := segments(t, mem)
	for i, name := range segs {
		whole := readFile(t, mem, name)
		for at := 0; at < used(whole); at += 7 {
			b := append([]byte(nil), whole...)
			b[at] ^= 1
			o.FS = mem.Kill()
			writeFile(t, o.FS, name, b)
			l, report, got, err := openLog(o)
			if i >= needed {
				require.Error(t, err, "%s byte %d", name, at)
				continue
			}
			require.NoError(t, err)
			checkTail(t, got, o.FirstLSN-1, "")
			require.EqualValues(t, 14, l.Last())
			require.Equal(t, needed, report.Skipped)
			require.LessOrEqual(t, l.SegmentFor(files[i].FirstLSN+1), files[i].Seq, "rather one too many is kept")
		}
		o.FS = mem.Kill()
		require.NoError(t, o.FS.Remove(name))
		_, _, _, err := openLog(o)
		require.Equal(t, i >= needed, err != nil, name)
	}
	// Below FirstSegment there may be anything, and it stays until RemoveBefore.
	o.FS = mem.Kill()
	o.FirstSegment = files[needed].Seq
	for _, name := range segs[:needed] {
		writeFile(t, o.FS, name, []byte("rubbish"))
	}
	l, opened, got := mustOpen(t, o)
	checkTail(t, got, o.FirstLSN-1, "")
	require.Zero(t, opened.Skipped)
	require.Len(t, segments(t, o.FS), len(segs))
	removed, err := l.RemoveBefore(o.FirstSegment)
	require.NoError(t, err)
	require.Equal(t, needed, removed)
	require.Equal(t, segs[needed:], segments(t, o.FS))
}

// Each thing that a manifest knows of the log is checked.
func TestManifestAgainstLog(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	id := mustInspect(t, testOptions(mem)).LogID
	f := func(name, message string, kind Damage, set func(o *Options)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(mem.Kill())
			set(&o)
			if kind == 0 {
				_, _, _ = mustOpen(t, o)
				return
			}
			got, err := kindOf(t, o)
			require.Equal(t, kind, got)
			require.ErrorContains(t, err, message)
		})
	}
	f("right", "", 0, func(o *Options) { o.LogID, o.ReachLSN, o.MustExist = id, 14, true })
	f("other log", "the one that should be here is 0000000000000007", DamageForeign, func(o *Options) { o.LogID = 7 })
	f("end lost", "ends after record 14, but was known to be synced to record 15", DamageMissing,
		func(o *Options) { o.ReachLSN = 15 })
	f("snapshot beyond the end", "ends before record 16", DamageMissing, func(o *Options) { o.FirstLSN = 16 })
	f("first segment beyond the end", "there is no log", DamageMissing,
		func(o *Options) { o.FirstSegment, o.MustExist = 99, true })
	f("first segment beyond the end, record known", "known to be synced to record 3", DamageMissing,
		func(o *Options) { o.FirstSegment, o.ReachLSN = 99, 3 })
	f("from the middle without a snapshot", "it should be preceded by", DamageMissing, func(o *Options) {
		require.NoError(t, o.FS.Remove(segments(t, o.FS)[0]))
	})
	f("first frames zeroed", "no frame in the whole log", DamageMissing, func(o *Options) {
		for i, name := range segments(t, o.FS) {
			if i < 3 {
				require.NoError(t, o.FS.Remove(name))
				continue
			}
			b := readFile(t, o.FS, name)
			clear(b[segmentHeaderBytes:])
			writeFile(t, o.FS, name, b)
		}
		o.FirstLSN, o.FirstSegment = 15, 4
	})
}

// A log begun behind a snapshot goes on from there, whatever stops it, and
// tells what is lost of it.
func TestLogBegunBehindASnapshot(t *testing.T) {
	t.Parallel()
	for _, firstSegment := range []uint64{0, 6} {
		for step, finished := 0, false; !finished; step++ {
			mem := vfs.NewMem()
			faulty := vfs.NewFaulty(mem)
			faulty.HaltAfter(step)
			o := testOptions(faulty)
			o.FirstLSN, o.FirstSegment = 101, firstSegment
			l, report, _, err := openLog(o)
			finished = err == nil
			if finished {
				require.EqualValues(t, 100, l.Last())
				require.EqualValues(t, 100, l.Durable())
				require.EqualValues(t, 100, report.LastLSN)
				require.Equal(t, segmentName(max(firstSegment, 1)), bytesOf(segments(t, mem)[0]))
				o.LogID, o.MustExist, o.ReachLSN = l.ID(), true, 100
			}
			for seed := range uint64(4) {
				o.FS = mem.Crash(seed)
				again, report, got := mustOpen(t, o)
				require.Empty(t, got)
				require.EqualValues(t, 100, report.LastLSN)
				if finished {
					require.Equal(t, l.ID(), again.ID())
				}
				require.EqualValues(t, 101, appendRun(again, 5, "first"))
				require.NoError(t, again.Commit(101))
				o.FS = o.FS.(*vfs.Mem).Crash(seed)
				_, _, got = mustOpen(t, o)
				require.Equal(t, []record{{101, 5, "first"}}, got)
				_, _, got = mustOpen(t, testFrom(o, 102))
				require.Empty(t, got)
				_, _, _, err := openLog(testFrom(o, 100))
				require.ErrorContains(t, err, "the log begins at record 101, but is needed from record 100 on")
				name := segments(t, o.FS)[0]
				writeFile(t, o.FS, name, readFile(t, o.FS, name)[:segmentHeaderBytes])
				_, _, _, err = openLog(o)
				require.Error(t, err)
			}
		}
	}
}

func testFrom(o Options, first LSN) Options {
	o.FirstLSN = first
	return o
}
