package shard

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// secrets key the hash. They are random, so that a client cannot choose keys
// that collide and make everybody's lookups slow; an unkeyed hash, or one with
// public constants, would let it.
//
// Snapshots keep positions of hashes, where their pieces end, with the secrets
// that made them. So the function is part of a format: it can never change.
// docs/format/snapshot.md defines it.
var secrets = randomSecrets()

// HashSecrets are what keys the hash of this process.
func HashSecrets() [4]uint64 { return secrets }

// SeedHash makes the hash, and with it the order of keys, a function of seed.
// For simulations; before the first key of the process is hashed.
func SeedHash(seed uint64) { secrets = seedSecrets(seed) }

func seedSecrets(seed uint64) (s [4]uint64) {
	for i := range s {
		s[i] = scramble(&seed)
	}
	return s
}

func randomSecrets() (s [4]uint64) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s
}

// scramble is the next number of the splitmix sequence at *state.
func scramble(state *uint64) uint64 {
	*state += 0x9E3779B97F4A7C15
	z := *state
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// fold multiplies and mixes both halves of the product.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashKey hashes b for this process.
func hashKey(b []byte) uint64 { return hashWith(&secrets, b) }

// hashWith hashes b, 16 bytes to a multiplication.
func hashWith(s *[4]uint64, b []byte) uint64 {
	h := s[2] ^ uint64(len(b))
	for len(b) > 16 {
		h = fold(binary.LittleEndian.Uint64(b)^s[0], binary.LittleEndian.Uint64(b[8:])^s[1]^h)
		b = b[16:]
	}
	// The last 1 to 16 bytes, read as two words that may overlap.
	var x, y uint64
	switch n := len(b); {
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x, y = uint64(b[0])|uint64(b[n/2])<<8, uint64(b[n-1])
	}
	return fold(fold(x^s[0], y^s[1]^h), s[3]^h)
}
