package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// commonReference is the textbook table, and the way back through it that
// prefers b's side when both are as long.
func commonReference(a, b string) (length int, common string, runs []span) {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
			case a[i-1] == b[j-1]:
				table[i][j] = table[i-1][j-1] + 1
			default:
				table[i][j] = max(table[i-1][j], table[i][j-1])
			}
		}
	}
	var run span
	for i, j := len(a), len(b); i > 0 && j > 0; {
		if a[i-1] == b[j-1] {
			i, j = i-1, j-1
			common = a[i:i+1] + common
			if run.length > 0 && run.inA == i+1 && run.inB == j+1 {
				run = span{i, j, run.length + 1}
			} else {
				run = span{i, j, 1}
			}
			if i > 0 && j > 0 && a[i-1] == b[j-1] {
				continue
			}
			runs = append(runs, run)
			run = span{}
			continue
		}
		if table[i-1][j] > table[i][j-1] {
			i--
		} else {
			j--
		}
	}
	return table[len(a)][len(b)], common, runs
}

func requireCommon(t *testing.T, a, b string) {
	t.Helper()
	wantLength, wantCommon, wantRuns := commonReference(a, b)
	s := newCommon([]byte(a), []byte(b), true)
	require.Equal(t, wantLength, s.length)
	require.Equal(t, wantLength, newCommon([]byte(a), []byte(b), false).length)
	var runs []span
	var common string
	s.walk(func(run span) {
		runs = append(runs, run)
		common = a[run.inA:run.inA+run.length] + common
	})
	require.Equal(t, wantRuns, runs)
	require.Equal(t, wantCommon, common)
}

func TestCommonAgainstTheTextbook(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"", ""}, {"a", ""}, {"", "a"}, {"a", "a"}, {"a", "b"}, {"ohmytext", "mynewtext"},
		{strings.Repeat("ab", 100), strings.Repeat("ba", 90)},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 63)},
	} {
		requireCommon(t, c[0], c[1])
	}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 7))
			letters := 1 + rnd.IntN(5)
			random := func() string {
				b := make([]byte, rnd.IntN(200))
				for i := range b {
					b[i] = byte('a' + rnd.IntN(letters))
				}
				return string(b)
			}
			requireCommon(t, random(), random())
		})
	}
}

// A table for strings of very different lengths must not take more than its
// bits, in either orientation.
func TestCommonMemory(t *testing.T) {
	t.Parallel()
	long := make([]byte, 1<<16)
	for i := range long {
		long[i] = byte(i)
	}
	for _, pair := range [][2][]byte{{long, long[:1]}, {long[:1], long}, {long[:3], long}} {
		a, b := pair[0], pair[1]
		s := newCommon(a, b, true)
		masks, _ := s.masks()
		cells := (len(a) + 1) * (len(b) + 1)
		require.LessOrEqual(t, len(s.table)*8, cells/8+16)
		require.LessOrEqual(t, len(masks)*8, max(cells/8+len(a)*8, 256*8))
	}
}

// Where several subsequences are as long, the answer is Redis's.
func TestCommonAgainstRedis(t *testing.T) {
	t.Parallel()
	ask := startRedis(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		letters := 1 + rnd.IntN(6)
		var texts [2]string
		for i := range texts {
			var text strings.Builder
			for range 1 + rnd.IntN(150) {
				text.WriteByte(byte('a' + rnd.IntN(letters)))
			}
			texts[i] = text.String()
		}
		require.Equal(t, "+OK", ask("MSET", "a", texts[0], "b", texts[1]))
		var common string
		newCommon([]byte(texts[0]), []byte(texts[1]), true).walk(func(run span) {
			common = texts[0][run.inA:run.inA+run.length] + common
		})
		require.Equal(t, ask("LCS", "a", "b"), common, "%q %q", texts[0], texts[1])
	}
}
