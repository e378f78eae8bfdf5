package shard

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// selfPidfd is this process to process_madvise, -1 where there is none.
var selfPidfd = sync.OnceValue(func() int {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return -1
	}
	return fd
})

// releaseRanges gives many ranges back with one system call, where the system
// (Linux 6.13) takes a list of them, else one by one.
func releaseRanges(ranges []memoryRange) {
	if fd := selfPidfd(); fd >= 0 {
		total := uintptr(0)
		for i := range ranges {
			total += ranges[i].sizeBytes
		}
		n, _, err := unix.Syscall6(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&ranges[0])), uintptr(len(ranges)), adviceRelease, 0, 0)
		if err == 0 && n == total {
			return
		}
	}
	releaseEach(ranges)
}

const adviceRelease = unix.MADV_DONTNEED

// smallPages refuses huge pages: the first touch of one takes 4 to 8 ms.
func smallPages(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) }

// populateMemory brings the pages of a mapping in at once, for a third of what
// it costs to meet them one by one. It may do nothing.
func populateMemory(p unsafe.Pointer, sizeBytes int64) {
	_ = unix.Madvise(unsafe.Slice((*byte)(p), sizeBytes), unix.MADV_POPULATE_WRITE)
}
