package vfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// put writes content under name without syncing anything.
func put(t *testing.T, fsys vfs.FS, name, content string) vfs.File {
	t.Helper()
	f, err := fsys.Create(name)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(t, err)
	return f
}

func putSynced(t *testing.T, fsys vfs.FS, name, content string) {
	t.Helper()
	f := put(t, fsys, name, content)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
	require.NoError(t, fsys.SyncDir("d"))
}

// contentOf is the content of name, or "absent".
func contentOf(t *testing.T, fsys vfs.FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "absent"
	}
	require.NoError(t, err)
	defer f.Close()
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
	}
	return string(b)
}

func fill(content string) func(vfs.File) error {
	return func(f vfs.File) error {
		_, err := f.WriteAt([]byte(content), 0)
		return err
	}
}

// A power cut after any single step of Replace leaves the old file or the new
// one, and the new one when Replace had returned.
func TestReplaceIsAtomicAtEveryCrashPoint(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"absent", "old content"} {
		seen := map[string]bool{}
		for step, finished := 0, false; !finished; step++ {
			for seed := uint64(0); seed < 40; seed++ {
				mem := vfs.NewMem()
				require.NoError(t, mem.MkdirAll("d"))
				if old != "absent" {
					putSynced(t, mem, "d/f", old)
				}
				faulty := vfs.NewFaulty(mem)
				faulty.HaltAfter(step)
				err := vfs.Replace(faulty, "d/f", fill("new content"))
				got := contentOf(t, mem.Crash(seed), "d/f")
				seen[got] = true
				if err == nil {
					finished = true
					require.Equal(t, "new content", got, "step %d seed %d", step, seed)
				}
				require.Contains(t, []string{old, "new content"}, got, "step %d seed %d", step, seed)
			}
		}
		require.Len(t, seen, 2, "the crashes never showed both outcomes")
	}
}

func TestReplaceReportsEveryFailureAndKeepsTheOldFile(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpClose, vfs.OpRename} {
		t.Run(fmt.Sprint(op), func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewMem()
			require.NoError(t, mem.MkdirAll("d"))
			putSynced(t, mem, "d/f", "old")
			faulty := vfs.NewFaulty(mem)
			faulty.Inject(vfs.Fault{Op: op, Err: broken})
			require.ErrorIs(t, vfs.Replace(faulty, "d/f", fill("new")), broken)
			require.Equal(t, "old", contentOf(t, mem, "d/f"))
			require.Equal(t, "absent", contentOf(t, mem, "d/f"+vfs.TempSuffix))
		})
	}
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll("d"))
	faulty := vfs.NewFaulty(mem)
	faulty.Inject(vfs.Fault{Op: vfs.OpSyncDir, Err: broken})
	require.ErrorIs(t, vfs.Replace(faulty, "d/f", fill("new")), broken)
}
