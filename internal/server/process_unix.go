//go:build unix

package server

import "golang.org/x/sys/unix"

// cpuMicro is the processor time this process took.
func cpuMicro() (user, system int64) {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return u.Utime.Nano() / 1000, u.Stime.Nano() / 1000
}
