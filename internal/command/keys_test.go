package command

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
)

func TestParseCursor(t *testing.T) {
	f := func(s string, want uint64, ok bool) {
		t.Helper()
		n, got := parseCursor([]byte(s))
		require.Equal(t, ok, got, "%q", s)
		if ok {
			require.Equal(t, want, n, "%q", s)
		}
	}
	f("0", 0, true)
	f("", 0, true)
	f("007", 7, true)
	f("+7", 7, true)
	f("-1", math.MaxUint64, true)
	f("18446744073709551615", math.MaxUint64, true)
	f("18446744073709551616", 0, false)
	f("99999999999999999999999", 0, false)
	f("-", 0, false)
	f("+", 0, false)
	f(" 1", 0, false)
	f("1 ", 0, false)
	f("1x", 0, false)
	f("0x10", 0, false)
}

// TestExpireConditions: each condition against no deadline, an earlier, an
// equal and a later one than 100.
func TestExpireConditions(t *testing.T) {
	f := func(words string, none, earlier, equal, later bool) {
		t.Helper()
		var args [][]byte
		for i := 0; i+1 < len(words); i += 3 {
			args = append(args, []byte(words[i:i+2]))
		}
		cond, err := expireConditions(args)
		require.NoError(t, err)
		require.Equal(t, none, cond.allows(0, 100), "none")
		require.Equal(t, earlier, cond.allows(99, 100), "earlier")
		require.Equal(t, equal, cond.allows(100, 100), "equal")
		require.Equal(t, later, cond.allows(101, 100), "later")
	}
	f("", true, true, true, true)
	f("NX", true, false, false, false)
	f("xx", false, true, true, true)
	f("Gt", false, true, false, false)
	f("LT", true, false, false, true)
	f("XX GT", false, true, false, false)
	f("LT XX", false, false, false, true)
	f("NX NX", true, false, false, false)
}

func TestExpireConditionErrors(t *testing.T) {
	f := func(want string, words ...string) {
		t.Helper()
		var args [][]byte
		for _, w := range words {
			args = append(args, []byte(w))
		}
		_, err := expireConditions(args)
		require.EqualError(t, err, want)
	}
	const nx = "ERR NX and XX, GT or LT options at the same time are not compatible"
	f(nx, "NX", "XX")
	f(nx, "GT", "NX")
	f(nx, "LT", "GT", "NX")
	f("ERR GT and LT options at the same time are not compatible", "GT", "XX", "LT")
	f("ERR Unsupported option a  b", "NX", "XX", "a\r\nb")
}

func TestRoundSeconds(t *testing.T) {
	for milli, want := range map[int64]int64{0: 0, 1: 0, 499: 0, 500: 1, 1499: 1, 1500: 2, math.MaxInt64: math.MaxInt64/1000 + 1} {
		require.Equal(t, want, roundSeconds(milli), "%d", milli)
	}
}

func TestEncodingName(t *testing.T) {
	f := func(s string, raw bool, want string) {
		t.Helper()
		v := shard.Value{Bytes: []byte(s), Raw: raw}
		require.Equal(t, want, encodingName(&v), "%q", s)
	}
	f("0", false, "int")
	f("0", true, "raw")
	f("-9223372036854775808", false, "int")
	f("-9223372036854775809", false, "embstr")
	f("00", false, "embstr")
	f("", false, "embstr")
	f(string(make([]byte, 44)), false, "embstr")
	f(string(make([]byte, 45)), false, "raw")
}

// TestInsertHeader: what was in the buffer before the mark and what was
// written after it stay, whatever the capacity.
func TestInsertHeader(t *testing.T) {
	for capacity := range 64 {
		c := &Ctx{Out: &resp.Writer{Buf: append(make([]byte, 0, capacity), "+OK\r\n"...)}}
		mark := len(c.Out.Buf)
		c.Out.BulkString("key")
		insertHeader(c, mark, func() { c.Out.Array(2); c.Out.Int(7) })
		require.Equal(t, "+OK\r\n*2\r\n:7\r\n$3\r\nkey\r\n", string(c.Out.Buf))
	}
}
