package vfs

import (
	"io"
	"unsafe"
)

// DirectFile writes whole blocks of an existing file to the disk without
// keeping them in memory. What File reads of the same file is what was written
// last, either way.
type DirectFile interface {
	io.Closer
	// BlockBytes is a power of two. Whatever is written begins and ends at a
	// multiple of it, in the file and in memory (AlignedBuffer), and within
	// the file's size.
	BlockBytes() int
	// WriteBlocks writes p. With durable, p is on disk when it returns nil: p
	// alone, nothing that was written before. Of p, a crash leaves each sector
	// old or new.
	WriteBlocks(p []byte, off int64, durable bool) error
}

// AlignedBuffer is size bytes of memory at a multiple of alignBytes, which is a
// power of two.
func AlignedBuffer(size, alignBytes int) []byte {
	b := make([]byte, size+alignBytes)
	at := 0
	if rest := int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(alignBytes-1)); rest > 0 {
		at = alignBytes - rest
	}
	return b[at : at+size : at+size]
}

// aligned tells whether p may be written at off in blocks.
func aligned(p []byte, off int64, blockBytes int) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	return (uint64(at)|uint64(off)|uint64(len(p)))&uint64(blockBytes-1) == 0
}
