//go:build unix

package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ReadOnly is the machine's file system for a reader: files that may only be
// read open too, and whatever would change something is refused with EROFS.
// Lock takes the lock of a file that is there and makes none.
func ReadOnly() FS { return readOnlyFS{} }

type readOnlyFS struct{}

type readOnlyFile struct{ *osFile }

func readOnly(op, name string) error {
	return &fs.PathError{Op: op, Path: name, Err: unix.EROFS}
}

func (readOnlyFS) Open(name string) (File, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return &readOnlyFile{&osFile{f}}, nil
}

func (readOnlyFS) List(dir string) ([]string, error) { return osFS{}.List(dir) }

func (readOnlyFS) Create(name string) (File, error) { return nil, readOnly("create", name) }
func (readOnlyFS) Rename(_, to string) error        { return readOnly("rename", to) }
func (readOnlyFS) Remove(name string) error         { return readOnly("remove", name) }
func (readOnlyFS) MkdirAll(dir string) error        { return readOnly("mkdir", dir) }
func (readOnlyFS) SyncDir(dir string) error         { return readOnly("sync", dir) }

func (readOnlyFS) Lock(name string) (io.Closer, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	return flock(f, name)
}

func (f *readOnlyFile) WriteAt([]byte, int64) (int, error) {
	return 0, readOnly("write", f.f.Name())
}
func (f *readOnlyFile) Truncate(int64) error { return readOnly("truncate", f.f.Name()) }
func (f *readOnlyFile) Sync() error          { return readOnly("sync", f.f.Name()) }
