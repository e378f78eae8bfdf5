package clock

import "golang.org/x/sys/unix"

// suspendedClockNano is mach_continuous_time, which counts suspended time.
func suspendedClockNano() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts); err != nil {
		return 0 // then suspends are not counted
	}
	return ts.Nano()
}
