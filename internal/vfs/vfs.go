// Package vfs is files behind a small interface, so that a test can crash or
// break them.
//
// It promises that content is durable after File.Sync and names are durable
// after FS.SyncDir, as far as the machine keeps its word; nothing is durable
// before. It never retries and never hides an error: what a failed write or
// sync means is the caller's business (I8).
package vfs

import (
	"errors"
	"io"
	"path"
)

// ErrLocked says that another process, or another opener in this one, holds
// the lock.
var ErrLocked = errors.New("locked by another process")

// FS is what Hapax needs of a file system. Paths are slash separated.
type FS interface {
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading, without the right to write
	// to it.
	OpenRead(name string) (File, error)
	// OpenDirect opens an existing file for direct writes, where the file
	// system has them; else see IsUnsupported.
	OpenDirect(name string) (DirectFile, error)
	// Create makes or truncates a file for reading and writing.
	Create(name string) (File, error)
	// Rename replaces to in one step: after a crash it is the old or the new.
	Rename(from, to string) error
	Remove(name string) error
	// List returns the names in dir, sorted.
	List(dir string) ([]string, error)
	// MkdirAll makes dir and its missing parents, and makes them durable.
	MkdirAll(dir string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive advisory lock held until Close; a second taker
	// gets ErrLocked. The lock file stays behind; a dead holder's lock is free.
	Lock(name string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(sizeBytes int64) error
	// Sync makes content durable (fdatasync where there is one).
	Sync() error
}

// TempSuffix ends the name of a file that Replace has not finished. Whoever
// owns a directory may remove such files when it starts.
const TempSuffix = ".tmp"

// Replace puts what fill writes under name in one step: a crash at any moment
// leaves the old file or the whole new one, and after a nil error the new one.
func Replace(fsys FS, name string, fill func(f File) error) error {
	temp := name + TempSuffix
	if err := writeWhole(fsys, temp, fill); err != nil {
		// What is left behind has a name nobody reads; the error that counts
		// is the first.
		_ = fsys.Remove(temp)
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(path.Dir(name))
}

// writeWhole creates name and returns once its content is durable.
func writeWhole(fsys FS, name string, fill func(f File) error) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
