package clock

import "golang.org/x/sys/unix"

// suspendedClockNano is a monotonic clock that counts suspended time.
func suspendedClockNano() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0 // never before Linux 2.6.39; then suspends are not counted
	}
	return ts.Nano()
}
