package vfs_test

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

const seeds = 200

// outcomes collects what name holds after crashes with many seeds.
func outcomes(t *testing.T, mem *vfs.Mem, name string) map[string]int {
	t.Helper()
	seen := map[string]int{}
	for seed := uint64(0); seed < seeds; seed++ {
		seen[contentOf(t, mem.Crash(seed), name)]++
	}
	return seen
}

func TestCrashKeepsWhatWasSynced(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	putSynced(t, mem, "d/f", "synced")
	require.Equal(t, map[string]int{"synced": seeds}, outcomes(t, mem, "d/f"))
}

func TestCrashMayLoseOrKeepAName(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	f := put(t, mem, "d/new", "content")
	require.NoError(t, f.Sync())
	seen := outcomes(t, mem, "d/new")
	require.Len(t, seen, 2, "%v", seen)
	require.Positive(t, seen["absent"])
	require.Positive(t, seen["content"])

	require.NoError(t, mem.SyncDir("d"))
	require.NoError(t, mem.Rename("d/new", "d/renamed"))
	for seed := uint64(0); seed < seeds; seed++ {
		after := mem.Crash(seed)
		one, other := contentOf(t, after, "d/new"), contentOf(t, after, "d/renamed")
		require.ElementsMatch(t, []string{"absent", "content"}, []string{one, other},
			"a file has one name at any time")
	}
	require.NoError(t, mem.SyncDir("d"))
	require.NoError(t, mem.Remove("d/renamed"))
	require.Len(t, outcomes(t, mem, "d/renamed"), 2)
	require.NoError(t, mem.SyncDir("d"))
	require.Equal(t, map[string]int{"absent": seeds}, outcomes(t, mem, "d/renamed"))
}

func TestCrashTearsAtSectors(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	putSynced(t, mem, "d/f", strings.Repeat("o", 4*512))
	f, err := mem.Open("d/f")
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("n"), 1024), 512)
	require.NoError(t, err)
	seen := outcomes(t, mem, "d/f")
	sector := func(c string) string { return strings.Repeat(c, 512) }
	want := map[string]bool{}
	for _, middle := range []string{"oo", "on", "no", "nn"} {
		content := sector("o") + sector(middle[:1]) + sector(middle[1:]) + sector("o")
		want[content] = true
		require.Positive(t, seen[content], "%s never seen", middle)
	}
	require.Len(t, seen, len(want), "nothing smaller than a sector is torn, nothing unwritten changes")
}

func TestCrashMayShowAVersionInBetween(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	putSynced(t, mem, "d/f", "one")
	f, err := mem.Open("d/f")
	require.NoError(t, err)
	for _, v := range []string{"two", "six"} {
		_, err = f.WriteAt([]byte(v), 0)
		require.NoError(t, err)
	}
	seen := outcomes(t, mem, "d/f")
	for _, v := range []string{"one", "two", "six"} {
		require.Positive(t, seen[v], v)
	}
	require.Len(t, seen, 3)
}

func TestCrashMayKeepASizeWithoutItsContent(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	putSynced(t, mem, "d/f", "")
	f, err := mem.Open("d/f")
	require.NoError(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte("x"), 2*512), 0)
	require.NoError(t, err)
	seen := outcomes(t, mem, "d/f")
	require.Positive(t, seen[""])
	require.Positive(t, seen[strings.Repeat("x", 1024)])
	require.Positive(t, seen[strings.Repeat("\x00", 512)+strings.Repeat("x", 512)], "a hole of zeros")
}

func TestCrashIsDecidedByTheSeed(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	for _, name := range []string{"d/a", "d/b", "d/c"} {
		put(t, mem, name, strings.Repeat("x", 5000))
	}
	for seed := uint64(0); seed < 20; seed++ {
		for _, name := range []string{"d/a", "d/b", "d/c"} {
			require.Equal(t, contentOf(t, mem.Crash(seed), name), contentOf(t, mem.Crash(seed), name))
		}
	}
}

// SIGKILL loses nothing, but it makes nothing durable either.
func TestKillKeepsEverythingUnsynced(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	_, err := mem.Lock("d/lock")
	require.NoError(t, err)
	f := put(t, mem, "d/f", "content")
	killed := mem.Kill()
	require.Equal(t, "content", contentOf(t, killed, "d/f"))
	_, err = killed.Lock("d/lock")
	require.NoError(t, err, "the dead hold no locks")
	require.Positive(t, outcomes(t, killed, "d/f")["absent"])

	_, err = f.WriteAt([]byte("CONTENT"), 0)
	require.NoError(t, err)
	require.Equal(t, "content", contentOf(t, killed, "d/f"), "the two share nothing")
	g, err := killed.Open("d/f")
	require.NoError(t, err)
	require.NoError(t, g.Sync())
	require.NoError(t, killed.SyncDir("d"))
	require.Equal(t, map[string]int{"content": seeds}, outcomes(t, killed, "d/f"))
}

// After a failed sync the content reads back, no later sync saves it, and a
// power cut loses it: the trap that I8 is about.
func TestFailedSyncLosesWhatStillReads(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	require.NoError(t, faulty.MkdirAll("d"))
	putSynced(t, faulty, "d/f", "old")
	f, err := faulty.Open("d/f")
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("new"), 0)
	require.NoError(t, err)
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Err: syscall.EIO})
	require.ErrorIs(t, f.Sync(), syscall.EIO)
	require.NoError(t, f.Sync())
	require.Equal(t, "new", contentOf(t, mem.Kill(), "d/f"))
	require.Equal(t, map[string]int{"old": seeds}, outcomes(t, mem, "d/f"))
}
