//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadOnly is the machine's file system for one who only looks: it needs no
// right to write, and whatever would change something fails with EROFS. Lock
// takes the lock of a file that is there already, beside others who only look.
func ReadOnly() FS { return readOnlyFS{} }

type readOnlyFS struct{ osFS }

func (r readOnlyFS) Open(name string) (File, error) { return r.OpenRead(name) }

func (readOnlyFS) OpenDirect(name string) (DirectFile, error) {
	return nil, pathError("open", name, unix.EROFS)
}

func (readOnlyFS) Create(name string) (File, error) {
	return nil, pathError("create", name, unix.EROFS)
}

func (readOnlyFS) Rename(_, to string) error { return pathError("rename", to, unix.EROFS) }

func (readOnlyFS) Remove(name string) error { return pathError("remove", name, unix.EROFS) }

func (readOnlyFS) MkdirAll(dir string) error { return pathError("mkdir", dir, unix.EROFS) }

func (readOnlyFS) SyncDir(dir string) error { return pathError("syncdir", dir, unix.EROFS) }

func (readOnlyFS) Lock(name string) (io.Closer, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return flock(f, name, unix.LOCK_SH)
}

// flock takes the lock, or closes f. It belongs to the open file, so the
// kernel frees it when the process dies, however it dies.
func flock(f *os.File, name string, how int) (io.Closer, error) {
	err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrLocked
	}
	_ = f.Close()
	return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
}
