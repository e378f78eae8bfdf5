package server

import (
	"math/bits"
	"sync"
)

// requestBuffers keeps buffers of large requests warm for the next ones: memory
// that is there already needs no pages from the system, no zeros from the
// allocator and no work of the collector. It hands out what lies idle whatever
// has arrived of the request that wants it: that reserves nothing (I12).
//
// It holds maxIdleBytes at most. What nobody took for idleSweeps sweeps goes.
type requestBuffers struct {
	mu        sync.Mutex
	classes   [requestClasses][]idleBuffer // by size, last used last
	idleBytes int64
	sweep     uint32
}

type idleBuffer struct {
	b     []byte
	since uint32 // sweep
}

const (
	requestClasses   = 10       // powers of two of keptBytes
	maxIdleBytes     = 64 << 20 // of all together
	idleSweeps       = 10       // one is sweepMilli
	spaciousRequests = 4        // a buffer this many times as large as what is wanted is left alone
)

// classOf is the class of buffers of at least size, less than twice that much.
func classOf(size int) int { return bits.Len(uint(size/keptBytes)) - 1 }

// take returns an empty buffer with room for size bytes, nil when none that
// fits is idle.
func (r *requestBuffers) take(size int) []byte {
	if size <= keptBytes {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idleBytes == 0 {
		return nil
	}
	first := classOf(size)
	for class := first; class < min(first+2, requestClasses); class++ {
		list := r.classes[class]
		for i := len(list) - 1; i >= 0; i-- {
			if n := cap(list[i].b); n >= size && n < spaciousRequests*size {
				return r.remove(class, i)
			}
		}
	}
	return nil
}

func (r *requestBuffers) remove(class, i int) []byte {
	list := r.classes[class]
	b := list[i].b
	copy(list[i:], list[i+1:])
	list[len(list)-1] = idleBuffer{}
	r.classes[class] = list[:len(list)-1]
	r.idleBytes -= int64(cap(b))
	return b
}

// give keeps a buffer larger than keptBytes, if there is room; otherwise false.
func (r *requestBuffers) give(b []byte) bool {
	class := classOf(cap(b))
	r.mu.Lock()
	defer r.mu.Unlock()
	if class >= requestClasses || r.idleBytes+int64(cap(b)) > maxIdleBytes {
		return false
	}
	r.classes[class] = append(r.classes[class], idleBuffer{b[:0], r.sweep})
	r.idleBytes += int64(cap(b))
	return true
}

// trim lets go of what was idle for long and returns how many bytes that were.
func (r *requestBuffers) trim() (droppedBytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep++
	before := r.idleBytes
	for class := range r.classes {
		for len(r.classes[class]) > 0 && r.sweep-r.classes[class][0].since > idleSweeps {
			r.remove(class, 0)
		}
	}
	return before - r.idleBytes
}

// drop lets go of all that is idle and returns how many bytes that were.
func (r *requestBuffers) drop() (droppedBytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.classes[:])
	droppedBytes, r.idleBytes = r.idleBytes, 0
	return droppedBytes
}

// idle is how many bytes are held for nobody.
func (r *requestBuffers) idle() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idleBytes
}
