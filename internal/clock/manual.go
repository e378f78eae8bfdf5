package clock

import (
	"sync"
	"time"
)

// Manual is a Source set by hand, for tests and simulation.
type Manual struct {
	mu         sync.Mutex
	wall, mono int64
}

// NewManual stands at wallMilli until it is moved.
func NewManual(wallMilli int64) *Manual {
	return &Manual{wall: wallMilli * int64(time.Millisecond)}
}

// Read implements Source.
func (m *Manual) Read() (wallNano, monoNano int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wall, m.mono
}

// WallMilli is the wall clock in milliseconds.
func (m *Manual) WallMilli() int64 {
	wall, _ := m.Read()
	return milli(wall)
}

// MonoNano is the monotonic clock.
func (m *Manual) MonoNano() int64 {
	_, mono := m.Read()
	return mono
}

// AdvanceMilli lets d pass: both clocks move, as in suspend.
func (m *Manual) AdvanceMilli(d int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += d * int64(time.Millisecond)
	m.mono += d * int64(time.Millisecond)
}

// StepWallMilli sets the wall clock off by d; no time passes.
func (m *Manual) StepWallMilli(d int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wall += d * int64(time.Millisecond)
}
