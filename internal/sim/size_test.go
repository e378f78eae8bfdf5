//go:build !race

package sim

// How much an ordinary run of the tests tries; make sim tries more.
const (
	ordinarySeeds  = 200
	ordinaryStride = 5
)
