// Package clock is the only place that reads the machine's clocks. It yields
// server time T (I10): Unix milliseconds that never run backwards.
package clock

// Source is the machine's clocks.
type Source interface {
	// WallMilli is Unix time in milliseconds; it may step either way.
	WallMilli() int64
	// MonoNano never steps and counts suspended time where the system can.
	MonoNano() int64
}

// Clock yields T. Safe for concurrent use; NowMilli allocates nothing.
type Clock struct{}

// New starts a clock. logf gets the report of steps; nil discards.
func New(src Source, logf func(format string, args ...any)) *Clock { panic("unwritten") }

// System is the machine's Source.
func System() Source { panic("unwritten") }

// NowMilli advances T and returns it.
func (c *Clock) NowMilli() int64 { panic("unwritten") }

// MonoNano is the source's monotonic clock, for durations.
func (c *Clock) MonoNano() int64 { panic("unwritten") }

// Raise makes T at least tMilli: what the log carried (recovery).
func (c *Clock) Raise(tMilli int64) { panic("unwritten") }

// FollowWall accepts a forward step of the wall clock at once, on the
// operator's word.
func (c *Clock) FollowWall() { panic("unwritten") }

// OffsetMilli is T minus the wall clock, for INFO.
func (c *Clock) OffsetMilli() int64 { panic("unwritten") }

// Manual is a Source set by hand, for tests and simulation.
type Manual struct{}

func NewManual(wallMilli int64) *Manual { panic("unwritten") }
func (m *Manual) WallMilli() int64      { panic("unwritten") }
func (m *Manual) MonoNano() int64       { panic("unwritten") }
func (m *Manual) AdvanceMilli(d int64)  { panic("unwritten") } // both clocks
func (m *Manual) StepWallMilli(d int64) { panic("unwritten") } // wall only
