package engine

import (
	"runtime"
	"time"
)

// A snapshot that runs as fast as it can takes a whole processor and all that
// the disk can do, from loops that serve. Worse, it is then likely to lose its
// processor in the middle of a piece, with a shard locked, for as long as the
// kernel lets others go first. One that sleeps often is rarely interrupted.
// So it works for a moment, then rests for longer where processors are few.
const (
	paceWorkNano = int64(250 * time.Microsecond)
	paceRestMost = 10 * time.Millisecond // after a step that waited for the disk
	paceRecords  = 256                   // between two looks at the clock
)

// CauseShutdown is the cause of a snapshot that the end of the process waits
// for: it does not rest.
const CauseShutdown = "SHUTDOWN"

// restFactor is how much longer a rest is than the work before it.
func restFactor() int64 {
	if runtime.GOMAXPROCS(0) <= 2 {
		return 3
	}
	return 1
}

// pace rests when it is time to.
func (r *run) pace() {
	if r.e.opts.Inline || r.cause == CauseShutdown {
		return
	}
	now := r.e.Clock.MonoNano()
	worked := now - max(r.restedAt, r.startNano)
	if worked < paceWorkNano || r.cancelled.Load() {
		return
	}
	time.Sleep(min(time.Duration(worked*restFactor()), paceRestMost))
	r.restedAt = r.e.Clock.MonoNano()
}
