//go:build race

package engine

// crashStride: the race detector makes each crash point several times as dear,
// and they all run on one goroutine. A sample is enough there.
const crashStride = 5
