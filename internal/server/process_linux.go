package server

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// residentBytes is what of this process is in memory, 0 when unknown. The
// proc file system is no storage, so this goes past vfs.
func residentBytes() int64 {
	fd, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var buf [128]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0
	}
	return residentPages(buf[:n]) * int64(unix.Getpagesize())
}

// residentPages is the second number of a line of statm.
func residentPages(line []byte) int64 {
	field, start := 0, 0
	for i, c := range line {
		if c != ' ' {
			continue
		}
		if field == 1 {
			pages, _ := strconv.ParseInt(string(line[start:i]), 10, 64)
			return pages
		}
		field, start = field+1, i+1
	}
	return 0
}

// systemBytes is the machine's memory.
func systemBytes() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(uint64(info.Totalram) * uint64(info.Unit))
}
