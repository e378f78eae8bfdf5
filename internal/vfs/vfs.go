// Package vfs is files behind a small interface, so that a test can crash or
// break them.
package vfs

import "io"

// FS is what Hapax needs of a file system. Paths are slash separated.
type FS interface {
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Create makes or truncates a file for reading and writing.
	Create(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	// List returns the names in dir, sorted.
	List(dir string) ([]string, error)
	MkdirAll(dir string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive advisory lock held until Close; a second taker
	// gets ErrLocked.
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
