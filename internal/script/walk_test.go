package script

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScanWalk: SCAN returns every key that exists throughout the walk, while
// others come and go, for any COUNT, and it ends.
func TestScanWalk(t *testing.T) {
	const kept = 3000
	for _, shards := range []int{1, 4, 16} {
		for _, count := range []string{"1", "10", "1000"} {
			t.Run(fmt.Sprintf("shards%d/count%s", shards, count), func(t *testing.T) {
				t.Parallel()
				conn, err := startMemory(t, localOptions{shards: shards}).Dial()
				require.NoError(t, err)
				for i := range kept {
					mustDo(t, conn, "SET", fmt.Sprintf("kept:%d", i), "x")
				}
				seen := walk(t, conn, count)
				for i := range kept {
					require.True(t, seen[fmt.Sprintf("kept:%d", i)], "kept:%d is missing", i)
				}
			})
		}
	}
}

// walk scans the whole database while it changes it.
func walk(t *testing.T, conn Conn, count string) map[string]bool {
	rnd := rand.New(rand.NewPCG(7, 7))
	seen := map[string]bool{}
	cursor, calls := "0", 0
	for {
		for range 3 {
			mustDo(t, conn, "SET", fmt.Sprintf("passing:%d", rnd.IntN(20000)), "x")
			mustDo(t, conn, "DEL", fmt.Sprintf("passing:%d", rnd.IntN(20000)))
		}
		rep := mustDo(t, conn, "SCAN", cursor, "COUNT", count, "MATCH", "kept:*")
		for _, k := range rep.Items[1].Items {
			seen[string(k.Text)] = true
		}
		cursor = string(rep.Items[0].Text)
		if calls++; cursor == "0" {
			return seen
		}
		require.Less(t, calls, 1_000_000, "the walk does not end")
	}
}

func mustDo(t *testing.T, conn Conn, words ...string) Reply {
	t.Helper()
	rep, err := Do(conn, words...)
	require.NoError(t, err)
	require.NotEqual(t, byte('-'), rep.Type, "%q: %s", words, rep)
	return rep
}
