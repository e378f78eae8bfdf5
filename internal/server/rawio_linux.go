package server

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// readNow and writeNow are read(2) and write(2) on a socket that never blocks,
// without telling the scheduler. Where the machine is busy, calls that tell it
// lose their processor now and then and keep the runtime's monitor awake:
// beside a loaded second core a GET without pipelining took 8% less CPU.

func readNow(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return result(n, errno)
}

func writeNow(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return result(n, errno)
}

// writePartsNow is writeNow of several parts, at most maxParts: writev(2).
func writePartsNow(fd int, parts [][]byte) (int, error) {
	var vector [maxParts]syscall.Iovec
	for i, b := range parts {
		vector[i].Base = unsafe.SliceData(b)
		vector[i].SetLen(len(b))
	}
	n, _, errno := unix.RawSyscall(unix.SYS_WRITEV, uintptr(fd), uintptr(unsafe.Pointer(&vector)), uintptr(len(parts)))
	return result(n, errno)
}

func result(n uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
