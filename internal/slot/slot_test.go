package slot

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The check value of CRC16 XMODEM, and the slots that CLUSTER KEYSLOT of Redis
// answers.
func TestOf(t *testing.T) {
	require.Equal(t, uint16(0x31C3), crc16([]byte("123456789")))
	for key, want := range map[string]uint16{
		"":                     0,
		"foo":                  12182,
		"bar":                  5061,
		"user1000":             3443,
		"{user1000}.following": 3443,
		"{user1000}.followers": 3443,
		"foo{bar}{zap}":        5061,
		"foo{}{bar}":           8363,
		"{bar":                 4015,
		"foo{{bar}}zap":        4015,
		"a":                    15495,
		"}{a}":                 15495,
		"{":                    4092,
		"}{":                   12793,
		"{}":                   15257,
		"{a":                   10276,
	} {
		require.Equal(t, want, Of([]byte(key)), "key %q", key)
	}
}

// The tables agree with the definition of the CRC, bit by bit, at every
// length around the widths that crc16 treats apart.
func TestCRC16MatchesDefinition(t *testing.T) {
	definition := func(b []byte) uint16 {
		crc := uint16(0)
		for _, c := range b {
			for bit := 7; bit >= 0; bit-- {
				in := uint16(c>>bit) & 1
				out := crc >> 15
				crc <<= 1
				if in != out {
					crc ^= polynomial
				}
			}
		}
		return crc
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for length := range 70 {
		for range 8 {
			b := make([]byte, length)
			for i := range b {
				b[i] = byte(rnd.Uint32())
			}
			require.Equal(t, definition(b), crc16(b), "%x", b)
		}
	}
}

func TestOfAllocatesNothing(t *testing.T) {
	key := []byte("prefix:{user1000}:42")
	require.Zero(t, testing.AllocsPerRun(100, func() { Of(key) }))
}

func BenchmarkOf(b *testing.B) {
	key := []byte("key:0000012345")
	for b.Loop() {
		Of(key)
	}
}
