package shard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const adviceRelease = unix.MADV_DONTNEED

// smallPages refuses huge pages: the first touch of one takes 4 to 8 ms.
func smallPages(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) }

// populateMemory brings the pages of a mapping in at once, for a third of what
// it costs to meet them one by one. It may do nothing.
func populateMemory(p unsafe.Pointer, sizeBytes int64) {
	_ = unix.Madvise(unsafe.Slice((*byte)(p), sizeBytes), unix.MADV_POPULATE_WRITE)
}
