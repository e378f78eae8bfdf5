package wal

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// directBlock is how large the blocks of tests are: whole sectors, so that a
// crash may tear them.
const directBlock = 1024

// directMem has direct writes.
func directMem() *vfs.Mem {
	mem := vfs.NewMem()
	mem.DirectBlockBytes = directBlock
	return mem
}

// directly are options for a log whose frames are written directly but for
// those at the end of a segment, which has no whole number of blocks.
func directly(fsys vfs.FS) Options {
	o := testOptions(fsys)
	o.DirectIO, o.SegmentBytes = true, 2*directBlock+300
	return o
}

// A file looks the same however its frames were written.
func TestDirectWritesLeaveTheSameFile(t *testing.T) {
	t.Parallel()
	build := func(direct bool) map[string][]byte {
		mem := directMem()
		faulty := vfs.NewFaulty(mem)
		o := directly(faulty)
		o.DirectIO = direct
		l, _, _ := mustOpen(t, o)
		for n := range 60 {
			require.NoError(t, l.Commit(appendScripted(l, 1+n%4)))
			require.Equal(t, l.Last(), l.Synced())
		}
		require.NoError(t, l.Commit(appendRun(l, tOf(l.Last()), strings.Repeat("l", 9000))), "larger than a segment")
		require.Equal(t, direct, l.Direct())
		require.NoError(t, l.Close())
		return filesOf(t, mem, testDir)
	}
	want, got := build(false), build(true)
	require.Greater(t, len(want), 5)
	for name := range want {
		require.True(t, string(want[name]) == string(got[name]), name)
	}
	require.Len(t, got, len(want))
}

// One commit is one sync, and one write, however it is written.
func TestOneSyncPerCommit(t *testing.T) {
	t.Parallel()
	for _, direct := range []bool{false, true} {
		faulty := vfs.NewFaulty(directMem())
		o := directly(faulty)
		o.DirectIO, o.SegmentBytes = direct, 1<<20
		l, _, _ := mustOpen(t, o)
		before, syncs := faulty.Changes(), l.Stats().Syncs
		const commits = 50
		for range commits {
			require.NoError(t, l.Commit(appendScripted(l, 3)))
			require.NoError(t, l.Commit(l.Last()), "nothing to do")
		}
		require.Equal(t, 2*commits, faulty.Changes()-before, "direct: %v", direct)
		require.EqualValues(t, commits, l.Stats().Syncs-syncs)
		require.EqualValues(t, 3*commits, l.Stats().SyncedRecords)
	}
}

// A frame larger than the buffer goes in pieces; it is durable as a whole.
func TestLargeFrameIsWrittenInPieces(t *testing.T) {
	t.Parallel()
	mem := directMem()
	o := directly(mem)
	o.SegmentBytes = 6 << 20
	l, _, _ := mustOpen(t, o)
	for l.w.live.header.sizeBytes < 6<<20 { // segments grow
		require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("g", 900_000))))
	}
	var want []string
	for n, size := range []int{5, directBufferBytes - 300, directBufferBytes, 2*directBufferBytes + 17, 100} {
		want = append(want, strings.Repeat(string(rune('a'+n)), size))
		before := l.Stats().Syncs
		require.NoError(t, l.Commit(appendRun(l, 1, want[n])))
		require.EqualValues(t, 1, l.Stats().Syncs-before)
		require.Equal(t, l.w.offset, l.w.direct.at, "it was not written directly")
		require.LessOrEqual(t, len(l.w.direct.buf), 2*directBufferBytes)
	}
	first := l.Last() - LSN(len(want)) + 1
	for seed := range uint64(12) {
		o.FS = mem.Crash(seed)
		n := 0
		_, err := Inspect(o, func(f *Found) error {
			if f.LSN >= first {
				require.True(t, want[n] == string(f.Payload), "seed %d, frame %d", seed, n)
				n++
			}
			return nil
		}, nil)
		require.NoError(t, err)
		require.Len(t, want, n, "seed %d", seed)
	}
}

// What is in the kernel's memory when the policy changes is on disk before the
// first direct write says that everything up to it is.
func TestDirectWriteBehindUnsyncedOnes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		mem := directMem()
		o := directly(mem)
		o.Policy = Never
		l, _, _ := mustOpen(t, o)
		large := strings.Repeat("u", directBlock) // some of it lies before the block in which the log ends
		require.NoError(t, l.Commit(appendRun(l, 1, large)))
		require.Zero(t, l.Synced())
		l.policy.Store(uint32(Always)) // as a leader sees it before SetPolicy gets to its own sync
		require.NoError(t, l.Commit(appendRun(l, 1, "direct")))
		require.EqualValues(t, 2, l.Synced())
		require.True(t, l.Direct())
		o.FS = mem.Crash(seed)
		_, _, got := mustOpen(t, o)
		require.Len(t, got, 2, "seed %d", seed)
		require.Equal(t, large, got[0].payload)
	}
}

// The policy goes back and forth, and the machine stops after every single
// operation.
func TestEveryCrashPointOfPolicyChanges(t *testing.T) {
	t.Parallel()
	policies := []Policy{Always, Never, EverySec, Always, Always, EverySec}
	for step, finished := 0, false; !finished; step++ {
		mem := directMem()
		faulty := vfs.NewFaulty(mem)
		faulty.HaltAfter(step)
		o := directly(faulty)
		var c crashed
		c, finished = workloadWith(o, 20, func(l *Log, round int) { l.SetPolicy(policies[round/3%len(policies)]) })
		check := o
		for seed := range uint64(3) {
			check.FS = mem.Crash(seed)
			verify(t, check, c, c.synced, fmt.Sprintf("power cut after step %d, seed %d", step, seed))
		}
		check.FS = mem.Kill()
		verify(t, check, c, c.written, fmt.Sprintf("SIGKILL after step %d", step))
	}
}

// Where direct writes don't work the log goes on without, and says so once.
func TestWithoutDirectWrites(t *testing.T) {
	t.Parallel()
	none := vfs.NewMem()
	refused := vfs.NewFaulty(directMem())
	refused.Inject(vfs.Fault{Op: vfs.OpOpen, Path: segmentName(1), Nth: 2, Err: syscall.EINVAL})
	late := vfs.NewFaulty(directMem()) // it can be opened, but not written
	for name, fsys := range map[string]vfs.FS{"none": none, "refused": refused, "late": late} {
		o := directly(fsys)
		o.SegmentBytes = 1 << 20
		var notes, warnings []string
		o.Notef = func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
		o.Logf = func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
		l, _, _ := mustOpen(t, o)
		if name == "late" {
			late.Inject(vfs.Fault{Op: vfs.OpWrite, Path: segmentName(1), Err: syscall.EINVAL})
		}
		for range 10 {
			require.NoError(t, l.Commit(appendScripted(l, 1)), name)
		}
		require.False(t, l.Direct(), name)
		require.Equal(t, l.Last(), l.Synced())
		require.Len(t, notes, 1, name)
		require.Contains(t, notes[0], segmentName(1))
		require.Empty(t, warnings)
		require.NoError(t, l.Close())
		_, _, got := mustOpen(t, o)
		require.Len(t, got, 10, name)
		checkRecords(t, got, name)
	}
}

// On the real file system, where it can: what is written directly is read
// back through the kernel's memory, at once and after a start.
func TestDirectOnTheRealFileSystem(t *testing.T) {
	t.Parallel()
	o := Options{FS: vfs.OS(), Dir: t.TempDir() + "/wal", SegmentBytes: 8 << 20, DirectIO: true}
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendScripted(l, 1)))
	if !l.Direct() {
		require.NoError(t, l.Close())
		t.Skip("no direct writes here")
	}
	for n := range 200 {
		from := l.Last() + 1
		if n%20 == 19 {
			l.SetPolicy([]Policy{Never, Always}[n/20%2])
		}
		require.NoError(t, l.Commit(appendScripted(l, 1+n%30)))
		next := from
		require.NoError(t, ReadRange(o.FS, o.Dir, from, l.Last(), func(lsn LSN, _ int64, payload []byte) error {
			require.Equal(t, next, lsn)
			require.Equal(t, payloadOf(lsn), string(payload))
			next++
			return nil
		}))
		require.Equal(t, l.Last()+1, next)
	}
	end := l.Last()
	large := strings.Repeat("large", 700_000)
	require.NoError(t, l.Commit(appendRun(l, tOf(end), large)))
	require.NoError(t, l.Close())
	l, _, got := mustOpen(t, o)
	require.Len(t, got, int(end)+1)
	checkRecords(t, got[:end], "")
	require.True(t, got[end].payload == large)
	require.NoError(t, l.Close())
}

// A commit allocates nothing.
func TestDirectCommitAllocatesNothing(t *testing.T) {
	o := Options{FS: vfs.OS(), Dir: t.TempDir() + "/wal", DirectIO: true}
	for _, direct := range []bool{true, false} {
		o.DirectIO = direct
		l, _, _ := mustOpen(t, o)
		once := func() { require.NoError(t, l.Commit(appendRun(l, 1, "x"))) }
		once()
		require.LessOrEqual(t, testing.AllocsPerRun(100, once), 0.0, "direct: %v", l.Direct())
		require.NoError(t, l.Close())
	}
}
