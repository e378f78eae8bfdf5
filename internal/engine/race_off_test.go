//go:build !race

package engine

const crashStride = 1
