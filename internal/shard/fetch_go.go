//go:build (!amd64 && !arm64) || purego

package shard

import (
	"sync/atomic"
	"unsafe"
)

// fetched keeps the loads of fetch.
var fetched atomic.Uint64

// fetch loads the beginning of what lies at each address, which must be
// readable; count is how many lines other processors are asked for.
func fetch(at []unsafe.Pointer, count int) {
	sum := uint64(count)
	for _, p := range at {
		sum += uint64(*(*byte)(p))
	}
	fetched.Store(sum)
}
