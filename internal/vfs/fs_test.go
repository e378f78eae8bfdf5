package vfs_test

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// Both file systems keep the same contract.
func TestContract(t *testing.T) {
	t.Parallel()
	f := func(name string, fsys vfs.FS, root string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkContract(t, fsys, path.Join(root, "a/b/c"))
		})
	}
	f("os", vfs.OS(), t.TempDir())
	f("mem", vfs.NewMem(), "/root")
	f("faulty", vfs.NewFaulty(vfs.NewMem()), "/root")
}

func checkContract(t *testing.T, fsys vfs.FS, dir string) {
	_, err := fsys.List(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.Create(path.Join(dir, "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, fsys.MkdirAll(dir))
	require.NoError(t, fsys.MkdirAll(dir), "again")
	_, err = fsys.Open(path.Join(dir, "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fsys.OpenRead(path.Join(dir, "f"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorIs(t, fsys.Remove(path.Join(dir, "f")), fs.ErrNotExist)
	require.ErrorIs(t, fsys.Rename(path.Join(dir, "f"), path.Join(dir, "g")), fs.ErrNotExist)
	require.ErrorIs(t, fsys.SyncDir(path.Join(dir, "none")), fs.ErrNotExist)

	f, err := fsys.Create(path.Join(dir, "f"))
	require.NoError(t, err)
	n, err := f.WriteAt([]byte("hello"), 3)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 8, size)
	b := make([]byte, 20)
	n, err = f.ReadAt(b, 0)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "\x00\x00\x00hello", string(b[:n]))
	require.NoError(t, f.Truncate(5))
	require.NoError(t, f.Truncate(7))
	n, err = f.ReadAt(b[:7], 0)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00he\x00\x00", string(b[:n]))

	r, err := fsys.OpenRead(path.Join(dir, "f"))
	require.NoError(t, err)
	n, err = r.ReadAt(b[:5], 0)
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00he", string(b[:n]))
	_, err = r.WriteAt([]byte("x"), 0)
	require.Error(t, err)
	require.Error(t, r.Truncate(1))
	require.NoError(t, r.Close())
	require.NoError(t, f.Sync())

	require.NoError(t, fsys.Rename(path.Join(dir, "f"), path.Join(dir, "z")))
	g, err := fsys.Create(path.Join(dir, "e"))
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.NoError(t, fsys.SyncDir(dir))
	names, err := fsys.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"e", "z"}, names)
	_, err = f.WriteAt([]byte("still open under its new name"), 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	_, err = f.WriteAt([]byte("x"), 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.Error(t, f.Sync())

	g, err = fsys.Create(path.Join(dir, "z"))
	require.NoError(t, err)
	size, err = g.Size()
	require.NoError(t, err)
	require.Zero(t, size, "Create truncates")
	require.NoError(t, g.Close())
	require.NoError(t, fsys.Remove(path.Join(dir, "e")))
	names, err = fsys.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"z"}, names)
	names, err = fsys.List(path.Dir(dir))
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, names)

	lock, err := fsys.Lock(path.Join(dir, "lock"))
	require.NoError(t, err)
	_, err = fsys.Lock(path.Join(dir, "lock"))
	require.ErrorIs(t, err, vfs.ErrLocked)
	require.NoError(t, lock.Close())
	lock, err = fsys.Lock(path.Join(dir, "lock"))
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}

func TestFaultyHitsTheChosenCall(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	require.NoError(t, faulty.MkdirAll("d"))
	a := put(t, faulty, "d/a", strings.Repeat("0", 3*512))
	b := put(t, faulty, "d/b", "0123456789")

	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "d/a", Nth: 2, Err: syscall.ENOSPC, ShortBytes: 700})
	write := func(f vfs.File) (int, error) { return f.WriteAt([]byte("abcdef"), 0) }
	_, err := write(b)
	require.NoError(t, err)
	_, err = write(a)
	require.NoError(t, err)
	n, err := a.WriteAt([]byte(strings.Repeat("A", 800)), 500)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, 2*512-500, n, "a write ends early only where a sector ends")
	require.Equal(t, "abcdef"+strings.Repeat("0", 494)+strings.Repeat("A", n)+strings.Repeat("0", 512),
		contentOf(t, mem, "d/a"))
	faulty.Inject(vfs.Fault{Op: vfs.OpWrite, Path: "d/a", Err: syscall.ENOSPC, ShortBytes: 3})
	n, err = a.WriteAt([]byte("ABCDEF"), 0)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Zero(t, n)
	require.Equal(t, "abcdef", contentOf(t, mem, "d/a")[:6])
	_, err = write(a)
	require.NoError(t, err, "once, not sticky")

	calls := 0
	faulty.Inject(vfs.Fault{Op: vfs.OpSync, Nth: 2, Sticky: true, Err: syscall.EIO, Before: func() { calls++ }})
	require.NoError(t, a.Sync())
	require.ErrorIs(t, a.Sync(), syscall.EIO)
	require.ErrorIs(t, b.Sync(), syscall.EIO)
	require.Equal(t, 2, calls)
	faulty.Clear()
	require.NoError(t, b.Sync())

	before := faulty.Changes()
	faulty.HaltAfter(2)
	_, err = write(a)
	require.NoError(t, err)
	_, err = a.Size()
	require.NoError(t, err, "reads do not count")
	require.NoError(t, a.Sync())
	require.Equal(t, before+2, faulty.Changes())
	_, err = write(a)
	require.ErrorIs(t, err, vfs.ErrHalted)
	_, err = a.Size()
	require.ErrorIs(t, err, vfs.ErrHalted, "a halted machine reads nothing")
	require.True(t, errors.Is(faulty.Remove("d/a"), vfs.ErrHalted))
}

// A full disk takes what fits in the files as they are.
func TestFaultyFull(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	faulty := vfs.NewFaulty(mem)
	require.NoError(t, faulty.MkdirAll("d"))
	f := put(t, faulty, "d/f", strings.Repeat("0", 1500))
	faulty.Full(true)
	_, err := f.WriteAt([]byte("inside"), 1494)
	require.NoError(t, err)
	n, err := f.WriteAt([]byte(strings.Repeat("A", 600)), 1000)
	require.True(t, vfs.IsNoSpace(err), "%v", err)
	require.Equal(t, 24, n, "to the end of the last sector that is in the file")
	n, err = f.WriteAt([]byte("beyond"), 1500)
	require.True(t, vfs.IsNoSpace(err))
	require.Zero(t, n)
	size, err := f.Size()
	require.NoError(t, err)
	require.EqualValues(t, 1500, size)
	faulty.Full(false)
	_, err = f.WriteAt([]byte("beyond"), 1500)
	require.NoError(t, err)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, vfs.OS(), path.Join(dir, "f"), "content")
	put(t, vfs.OS(), path.Join(dir, "lock"), "")
	fsys := vfs.ReadOnly()
	names, err := fsys.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"f", "lock"}, names)
	require.Equal(t, "content", contentOf(t, fsys, path.Join(dir, "f")))
	f, err := fsys.Open(path.Join(dir, "f"))
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("x"), 0)
	require.Error(t, err)
	require.Error(t, f.Truncate(0))
	require.NoError(t, f.Close())
	for name, err := range map[string]error{
		"create":  second(fsys.Create(path.Join(dir, "g"))),
		"rename":  fsys.Rename(path.Join(dir, "f"), path.Join(dir, "g")),
		"remove":  fsys.Remove(path.Join(dir, "f")),
		"mkdir":   fsys.MkdirAll(path.Join(dir, "d")),
		"syncdir": fsys.SyncDir(dir),
	} {
		require.ErrorIs(t, err, syscall.EROFS, name)
	}
	require.Equal(t, "content", contentOf(t, vfs.OS(), path.Join(dir, "f")))

	_, err = fsys.Lock(path.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	held, err := vfs.OS().Lock(path.Join(dir, "lock"))
	require.NoError(t, err)
	_, err = fsys.Lock(path.Join(dir, "lock"))
	require.ErrorIs(t, err, vfs.ErrLocked)
	require.NoError(t, held.Close())
	held, err = fsys.Lock(path.Join(dir, "lock"))
	require.NoError(t, err)
	require.NoError(t, held.Close())
}

func second(_ vfs.File, err error) error { return err }
