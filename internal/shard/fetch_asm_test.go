//go:build (amd64 || arm64) && !purego

package shard

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// fetch takes any address and changes nothing.
func TestFetchTakesAnyAddress(t *testing.T) {
	fetch(nil, 1)
	rnd := newRand(9)
	// Words, so that the collector takes none of them for a pointer.
	words := make([]uintptr, prefetchKeys)
	at := unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(&words[0])), len(words))
	for range 1000 {
		for i := range words {
			words[i] = uintptr(rnd.Uint64() >> rnd.IntN(64))
		}
		words[0] = uintptr(unsafe.Pointer(&words[1]))
		was := slices.Clone(words)
		for n := range at {
			fetch(at[:n], 1+n%entryLines)
		}
		require.Equal(t, was, words)
	}
}
