//go:build unix

package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A data directory holds everything clients stored, so the world cannot read it.
const (
	filePerm = 0o640
	dirPerm  = 0o750
)

// OS is the machine's file system.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ f *os.File }

func (osFS) Open(name string) (File, error) {
	return openFile(name, os.O_RDWR)
}

func (osFS) OpenRead(name string) (File, error) {
	// O_NONBLOCK: opening a pipe would wait for somebody to write to it.
	f, err := openFile(name, os.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	info, err := f.(*osFile).f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("this is no regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (osFS) Create(name string) (File, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func openFile(name string, flag int) (File, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), flag, filePerm)
	if err != nil {
		return nil, err
	}
	return &osFile{f}, nil
}

func (osFS) Rename(from, to string) error {
	return os.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

func (osFS) Remove(name string) error { return os.Remove(filepath.FromSlash(name)) }

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.FromSlash(dir))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// MkdirAll makes one level at a time, because each new level is durable only
// when its parent was synced.
func (o osFS) MkdirAll(dir string) error {
	dir = path.Clean(dir)
	info, err := os.Stat(filepath.FromSlash(dir))
	if err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: unix.ENOTDIR}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := path.Dir(dir)
	if err := o.MkdirAll(parent); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.FromSlash(dir), dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return o.SyncDir(parent)
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// A reader that looks whether somebody holds the lock has it for a moment
// (ReadOnly), so it is tried for a little longer than that.
const (
	lockTries = 20
	lockPause = 5 * time.Millisecond
)

func (osFS) Lock(name string) (io.Closer, error) {
	for try := 1; ; try++ {
		f, err := os.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE, filePerm)
		if err != nil {
			return nil, err
		}
		lock, err := flock(f, name, unix.LOCK_EX)
		if err == nil || try == lockTries || !errors.Is(err, ErrLocked) {
			return lock, err
		}
		time.Sleep(lockPause)
	}
}

func (o *osFile) ReadAt(p []byte, off int64) (int, error)  { return o.f.ReadAt(p, off) }
func (o *osFile) WriteAt(p []byte, off int64) (int, error) { return o.f.WriteAt(p, off) }
func (o *osFile) Close() error                             { return o.f.Close() }
func (o *osFile) Truncate(sizeBytes int64) error           { return o.f.Truncate(sizeBytes) }
func (o *osFile) Sync() error                              { return syncContent(o.f) }

func (o *osFile) Size() (int64, error) {
	info, err := o.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
