package server

import (
	"runtime/debug"
	"sync/atomic"
)

// trim gives the memory of large buffers back to the system. By itself the
// collector would run once in two minutes on a server that is idle, and keep
// what it found: the few large requests of a day would set its size.
type trim struct {
	droppedBytes atomic.Int64 // of large buffers, since the last trim
	running      atomic.Bool
}

// trimBytes is how much is worth a collection. Keys are outside the heap, so
// one costs a millisecond or two beside the loops.
const trimBytes = 32 << 20

func (s *Server) trimHeap() {
	if s.trim.droppedBytes.Load() < trimBytes || !s.trim.running.CompareAndSwap(false, true) {
		return
	}
	s.trim.droppedBytes.Store(0)
	go func() {
		defer s.trim.running.Store(false)
		debug.FreeOSMemory()
	}()
}
