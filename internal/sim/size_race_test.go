//go:build race

package sim

// The race detector looks for other things, and most of this is one goroutine.
const (
	ordinarySeeds  = 20
	ordinaryStride = 50
)
