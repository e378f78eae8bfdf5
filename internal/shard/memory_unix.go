//go:build unix

package shard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

var pageBytes = uintptr(unix.Getpagesize())

// mapMemory takes sizeBytes of zeroed memory from the system; nil when it
// gives none.
func mapMemory(sizeBytes int64) unsafe.Pointer {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(sizeBytes),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil
	}
	smallPages(unsafe.Slice((*byte)(p), sizeBytes))
	return p
}

// unmapMemory gives an address range back for good. It can fail only when the
// range would have to be split and the system has no room to note that; then
// at least its pages go back.
func unmapMemory(p unsafe.Pointer, sizeBytes int64) {
	if unix.MunmapPtr(p, uintptr(sizeBytes)) != nil {
		releaseMemory(p, sizeBytes)
	}
}

func releaseEach(ranges []memoryRange) {
	for _, r := range ranges {
		releaseMemory(r.base, int64(r.sizeBytes))
	}
}

// releaseMemory gives back the whole pages of a range that stays mapped. What
// the range holds afterwards is undefined.
func releaseMemory(p unsafe.Pointer, sizeBytes int64) {
	lead := -uintptr(p) & (pageBytes - 1)
	if int64(lead) >= sizeBytes {
		return
	}
	whole := (uintptr(sizeBytes) - lead) &^ (pageBytes - 1)
	if whole == 0 {
		return
	}
	// An error means that the pages stay with us, which is only waste.
	_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, lead)), whole), adviceRelease)
}
