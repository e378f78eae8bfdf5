package command

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/shard"
)

// Commands of more keys than are fetched together, some of them absent, some
// expired, some named twice: every key is looked up in its place.
func TestManyKeys(t *testing.T) {
	for _, near := range []bool{false, true} {
		for _, n := range []int{1, 2, fetchKeys - 1, fetchKeys, fetchKeys + 1, 3*fetchKeys + 5} {
			t.Run(fmt.Sprint(n, near), func(t *testing.T) {
				h := newHarness(t)
				h.ctx.Near = near
				var names, pairs []string
				values := fmt.Sprintf("*%d", n)
				there := 0
				for i := range n {
					name := strconv.Itoa(i % (2*fetchKeys + 3))
					names = append(names, name)
					pairs = append(pairs, name, "v"+name)
					switch i % (2*fetchKeys + 3) % 3 {
					case 0:
						there++
						h.do("SET", name, "v"+name)
						values += "\r\n" + bulk("v"+name)
					case 1:
						h.plant(name, shard.Value{Bytes: []byte("old"), DeadlineMilli: testStartMilli})
						fallthrough
					default:
						values += "\r\n$-1"
					}
				}
				do := func(command string, args []string) string {
					return h.do(append([]string{command}, args...)...)
				}
				require.Equal(t, values, do("MGET", names))
				require.Equal(t, fmt.Sprintf(":%d", there), do("EXISTS", names))
				require.Equal(t, fmt.Sprintf(":%d", there), do("TOUCH", names))
				require.Equal(t, ":0", do("MSETNX", pairs), "the first key is there")
				require.Equal(t, values, do("MGET", names))
				require.Equal(t, "+OK", do("MSET", pairs))
				distinct := min(n, 2*fetchKeys+3)
				require.Equal(t, fmt.Sprintf(":%d", n), do("EXISTS", names))
				require.Equal(t, fmt.Sprintf(":%d", distinct), do("DEL", names))
				require.Equal(t, ":1", do("MSETNX", pairs))
				require.Equal(t, fmt.Sprintf(":%d", distinct), do("UNLINK", names))
				require.Equal(t, ":0", do("EXISTS", names))
			})
		}
	}
}

// BenchmarkManyKeys is MGET and MSET of 100 random keys of a million, with and
// without what they fetch ahead; an operation is a key.
func BenchmarkManyKeys(b *testing.B) {
	const keys, batch = 1_000_000, 100
	h := newHarness(b)
	h.log.keep = false
	name := func(i int) string { return fmt.Sprintf("key:%012d", i) }
	value := strings.Repeat("v", 100)
	for i := range keys {
		h.plant(name(i), shard.Value{Bytes: []byte(value)})
	}
	for _, command := range []string{"MGET", "MSET"} {
		for _, near := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/fetches=%v", command, !near), func(b *testing.B) {
				h.ctx.Near = near
				args := [][]byte{[]byte(command)}
				step := 1
				for range batch {
					args = append(args, []byte(name(0)))
					if command == "MSET" {
						args = append(args, []byte(value))
						step = 2
					}
				}
				b.ReportAllocs()
				at := uint64(0)
				for i := 0; b.Loop(); i++ {
					if i%batch != 0 {
						continue
					}
					for j := 1; j < len(args); j += step {
						at++
						digits := args[j][len("key:"):]
						for k, d := len(digits)-1, at*0x9E3779B97F4A7C15%keys; k >= 0; k, d = k-1, d/10 {
							digits[k] = byte('0' + d%10)
						}
					}
					h.run(args)
				}
			})
		}
	}
}
