package shard

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"os"
	"strings"
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

// Snapshots of every version carry positions, so the hash may never change:
// testdata/hash.txt holds secrets, keys and what they hash to.
func TestHashIsFrozen(t *testing.T) {
	text, err := os.ReadFile("testdata/hash.txt")
	require.NoError(t, err)
	var keyed [4]uint64
	lengths := map[int]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#":
		case fields[0] == "secrets":
			_, err := fmt.Sscanf(line, "secrets %x %x %x %x", &keyed[0], &keyed[1], &keyed[2], &keyed[3])
			require.NoError(t, err)
		default:
			key, err := hex.DecodeString(strings.TrimPrefix(fields[0], "-"))
			require.NoError(t, err)
			require.Equal(t, fields[1], fmt.Sprintf("%016x", hashWith(&keyed, key)), "hash of %s", fields[0])
			require.Equal(t, fields[2], fmt.Sprintf("%012x", uint64(PlaceOf(key, &keyed))), "place of %s", fields[0])
			lengths[len(key)] = true
		}
	}
	for n := range 34 {
		require.True(t, lengths[n], "no key of %d bytes", n)
	}
}

// A seed always gives the same secrets, and another one others.
func TestSeededSecrets(t *testing.T) {
	require.Equal(t, seedSecrets(7), seedSecrets(7))
	require.NotEqual(t, seedSecrets(7), seedSecrets(8))
	require.Equal(t, [4]uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f, 0xf88bb8a8724c81ec}, seedSecrets(0))
}
