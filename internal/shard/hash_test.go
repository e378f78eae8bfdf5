package shard

import (
	"encoding/binary"
	"math/bits"
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// Why keys are hashed with secrets and not with xxhash: its rounds can be
// undone, so anyone writes down as many keys as he likes that it maps to one
// number. With a common hash tag they would pile up in one segment that no
// split can take apart.
func TestChosenKeysDoNotCollide(t *testing.T) {
	const keys = 4096
	plain, ours := map[uint64]bool{}, map[uint64]bool{}
	for i := range uint64(keys) {
		k := collidingKey(i)
		plain[xxhash.Sum64(k)] = true
		ours[hashKey(k)] = true
	}
	require.Len(t, plain, 1, "the attack itself")
	require.Len(t, ours, keys)
}

// collidingKey is 64 bytes that xxhash with seed 0 maps to the same number for
// every n. In the first stripe n is the word that the first lane reads; in
// the second it reads the word that brings the lane back to one state:
//
//	lane = rotl(lane + word*p2, 31) * p1
func collidingKey(n uint64) []byte {
	const p1, p2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
	inverse := uint64(p2) // of p2, modulo 2^64: each step doubles the right bits
	for range 5 {
		inverse *= 2 - p2*inverse
	}
	p := uint64(p1)
	lane := bits.RotateLeft64(p+p2+n*p2, 31) * p // p1 + p2 is where the lane begins
	key := make([]byte, 64)
	binary.LittleEndian.PutUint64(key, n)
	binary.LittleEndian.PutUint64(key[32:], -lane*inverse) // lane + word*p2 is 0
	return key
}
