//go:build unix

package vfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A reader's file system opens what may only be read, and changes nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	require.NoError(t, os.WriteFile(name, []byte("hello"), 0o400))
	r := ReadOnly()
	f, err := r.Open(name)
	require.NoError(t, err)
	b := make([]byte, 5)
	_, err = f.ReadAt(b, 0)
	require.NoError(t, err)
	require.Equal(t, "hello", string(b))
	size, err := f.Size()
	require.NoError(t, err)
	require.Equal(t, int64(5), size)

	_, err = f.WriteAt([]byte("x"), 0)
	require.Error(t, err)
	require.Error(t, f.Truncate(0))
	require.NoError(t, f.Close())
	_, err = r.Create(filepath.Join(dir, "b"))
	require.ErrorIs(t, err, unix.EROFS)
	require.ErrorIs(t, r.Rename(name, name+"b"), unix.EROFS)
	require.ErrorIs(t, r.Remove(name), unix.EROFS)
	require.ErrorIs(t, r.MkdirAll(filepath.Join(dir, "d")), unix.EROFS)
	require.ErrorIs(t, r.SyncDir(dir), unix.EROFS)
	_, err = r.Open(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)

	names, err := r.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, names)
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "hello", string(content))
}

// What is no file is refused at once; a pipe would be waited for.
func TestOpenReadWantsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, unix.Mkfifo(pipe, 0o600))
	for _, name := range []string{dir, pipe, "/dev/zero"} {
		for _, fsys := range []FS{OS(), ReadOnly()} {
			_, err := fsys.OpenRead(name)
			require.ErrorContains(t, err, "no regular file", name)
		}
	}
}

// Its lock is the same lock, but makes no file.
func TestReadOnlyLock(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	_, err := ReadOnly().Lock(name)
	require.ErrorIs(t, err, fs.ErrNotExist)
	held, err := OS().Lock(name)
	require.NoError(t, err)
	_, err = ReadOnly().Lock(name)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, held.Close())
	mine, err := ReadOnly().Lock(name)
	require.NoError(t, err)
	other, err := ReadOnly().Lock(name)
	require.NoError(t, err, "readers do not see each other")
	require.NoError(t, other.Close())
	_, err = OS().Lock(name)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, mine.Close())
}

// Somebody who looks for a moment keeps no server from starting.
func TestLockWaitsOutALook(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "lock")
	first, err := OS().Lock(name)
	require.NoError(t, err)
	require.NoError(t, first.Close())
	for range 20 {
		look, err := ReadOnly().Lock(name)
		require.NoError(t, err)
		got := make(chan error)
		go func() {
			lock, err := OS().Lock(name)
			if err == nil {
				err = lock.Close()
			}
			got <- err
		}()
		time.Sleep(2 * time.Millisecond) // it has likely tried once by now
		require.NoError(t, look.Close())
		require.NoError(t, <-got)
	}
}
