package command

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
)

// hashType stands for any type that is no string.
const hashType = shard.Type(4)

const wrongType = "-WRONGTYPE Operation against a key holding the wrong kind of value"

func TestWrongType(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		"GET h", "STRLEN h", "GETRANGE h 0 -1", "SUBSTR h 0 -1", "GETSET h v", "GETDEL h", "GETEX h", "GETEX h EX 10",
		"SET h v GET", "SET h v NX GET", "SET h v IFEQ x", "SET h v IFEQ x GET", "APPEND h v", "SETRANGE h 0 v",
		"SETRANGE h 0 ", "INCR h", "DECR h", "INCRBY h 1", "DECRBY h 1", "INCRBYFLOAT h 1", "INCRBYFLOAT h x",
		"IDEM h BEGIN f o 1000", "IDEM h COMPLETE f o r", "ONCE h 1000", "LIMIT h 1 1000",
	} {
		h := newHarness(t)
		h.plant("h", shard.Value{Type: hashType, Bytes: []byte("fields")})
		h.requireSilent(func() {
			require.Equal(t, wrongType, h.do(strings.Split(request, " ")...), request)
		})
	}
}

// What replaces a value does not care what it was.
func TestOtherTypeIsReplaced(t *testing.T) {
	t.Parallel()
	for request, reply := range map[string]string{
		"SET h v": "+OK", "SET h v XX": "+OK", "SETEX h 10 v": "+OK", "PSETEX h 10 v": "+OK", "MSET h v i v": "+OK",
		"SET h v KEEPTTL": "+OK",
	} {
		h := newHarness(t)
		h.plant("h", shard.Value{Type: hashType, Bytes: []byte("fields")})
		require.Equal(t, reply, h.do(strings.Split(request, " ")...), request)
		require.Equal(t, bulk("v"), h.do("GET", "h"), request)
	}
	h := newHarness(t)
	h.plant("h", shard.Value{Type: hashType, Bytes: []byte("fields")})
	require.Equal(t, "$-1", h.do("SET", "h", "v", "NX"))
	require.Equal(t, ":0", h.do("SETNX", "h", "v"))
	require.Equal(t, ":0", h.do("MSETNX", "g", "v", "h", "v"))
	require.Equal(t, "*2\r\n$-1\r\n$-1", h.do("MGET", "h", "g"))
	require.Equal(t, "-ERR The specified keys must contain string values", h.do("LCS", "h", "g"))
	require.Equal(t, "-ERR The specified keys must contain string values", h.do("LCS", "g", "h", "NOSUCH"))
}

// One record carries value and deadline (I3), and what writes nothing logs
// nothing.
func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one := func(args ...string) op.Op {
		t.Helper()
		records := h.written(func() { require.NotContains(t, h.do(args...), "-") })
		require.Len(t, records, 1, "%q", args)
		return records[0].Op
	}
	put := func(value string, deadlineMilli int64, args ...string) {
		t.Helper()
		o := one(args...)
		require.Equal(t, op.Put, o.Code, "%q", args)
		require.Equal(t, value, string(o.Value), "%q", args)
		require.Equal(t, deadlineMilli, o.DeadlineMilli, "%q", args)
	}
	const now = testStartMilli
	put("v", 0, "SET", "a", "v")
	put("v", now+10_000, "SET", "a", "v", "EX", "10")
	put("w", now+10_000, "SET", "a", "w", "KEEPTTL")
	put("w", now+10_000, "SET", "a", "w", "XX", "KEEPTTL")
	put("1", now+5, "SET", "a", "1", "IFEQ", "w", "PX", "5")
	put("2", now+5, "INCR", "a")
	put("2.5", now+5, "INCRBYFLOAT", "a", "0.5")
	put("x", now+1000, "SETEX", "a", "1", "x")
	put("x", now+1, "PSETEX", "a", "1", "x")
	put("y", 0, "GETSET", "a", "y")
	put("1", 0, "SETNX", "b", "1")
	put("0", 0, "DECR", "b")
	put("new", 0, "APPEND", "c", "new")
	require.Equal(t, op.Splice, one("APPEND", "c", "er").Code)
	require.Equal(t, op.Splice, one("SETRANGE", "c", "1", "x").Code)
	deadline := one("GETEX", "c", "PXAT", "1700000000001")
	require.Equal(t, op.SetDeadline, deadline.Code)
	require.Equal(t, int64(1_700_000_000_001), deadline.DeadlineMilli)
	require.Zero(t, one("GETEX", "c", "PERSIST").DeadlineMilli)
	require.Equal(t, op.Delete, one("GETDEL", "c").Code)
	require.Equal(t, op.Delete, one("SET", "b", "v", "EXAT", "1").Code)
	require.Equal(t, op.Delete, one("GETEX", "a", "EXAT", "1").Code)

	require.Equal(t, "+OK", h.do("SET", "a", "v"))
	h.requireSilent(func() {
		for _, request := range []string{
			"GET a", "GET nosuch", "SET a w NX", "SET nosuch w XX", "SET a w IFEQ x", "SET nosuch w IFEQ x",
			"SETNX a w", "MSETNX x 1 a 2", "GETDEL nosuch", "GETEX a", "GETEX a PERSIST", "GETEX nosuch EX 10",
			"SETRANGE a 5 ", "SETRANGE nosuch 5 ", "INCR a", "INCRBYFLOAT a 1", "SET a v EX 0", "SET a v FOO",
			"SET nosuch v EXAT 1", "MSET a 1 b", "LCS a b", "SETRANGE a 536870912 x", "GETEX a EX 0",
		} {
			h.do(strings.Split(request, " ")...)
		}
	})
}

// All pairs of one MSET are one unit of recovery.
func TestMultipleWritesAreOneUnit(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"MSET", "a", "1", "b", "2", "c", "3"},
		{"MSETNX", "a", "1", "b", "2", "c", "3"},
		{"SETRANGE", "a", "100000", "x"},
	} {
		h := newHarness(t)
		records := h.written(func() { h.do(args...) })
		require.Greater(t, len(records), 1)
		for _, r := range records {
			require.Equal(t, records[0].unit, r.unit, "%q", args)
		}
	}
}

// A gap of zeros is logged as its length.
func TestGapIsNotLogged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, ":10000001", h.do("SETRANGE", "new", "10000000", "x"))
	require.Equal(t, "+OK", h.do("SET", "old", "v"))
	require.Equal(t, ":10000001", h.do("SETRANGE", "old", "10000000", "x"))
	require.Less(t, h.log.bytes, 1000)
	require.Equal(t, bulk("\x00x"), h.do("GETRANGE", "new", "-2", "-1"))
	require.Equal(t, bulk("v\x00"), h.do("GETRANGE", "old", "0", "1"))
	v, found := h.value("new")
	require.True(t, found)
	require.True(t, v.Raw)
}

// Few bytes sent reserve few bytes here, whatever they name (I12).
func TestReplyIsBounded(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.ctx.MaxBulkBytes = 4 << 20
	require.Equal(t, "+OK", h.do("SET", "big", strings.Repeat("x", 1<<20)))
	require.Equal(t, "+OK", h.do("SET", "small", "y"))
	value := bulk(strings.Repeat("x", 1<<20)) + "\r\n"
	require.Equal(t, "*5\r\n"+value+"$-1\r\n"+strings.Repeat(value, 2)+bulk("y"),
		h.do("MGET", "big", "none", "big", "big", "small"))
	tooLong := "-ERR the values together exceed the maximum string size (proto-max-bulk-len)"
	require.Equal(t, tooLong, h.do("MGET", "big", "big", "big", "big", "small"))
	many := append([]string{"MGET"}, slices.Repeat([]string{"big"}, 10_000)...)
	h.out.Buf = nil
	require.Equal(t, tooLong, h.do(many...))
	require.Less(t, cap(h.out.Buf), 2<<20, "nothing is written before it is known to fit")
}

func TestScratchIsNotKeptLarge(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "*1\r\n$8\r\nacquired", h.do("IDEM", "k", "BEGIN", "f", "o", "1000"))
	require.Equal(t, ":1", h.do("IDEM", "k", "COMPLETE", "f", "o", strings.Repeat("r", 1<<20)))
	require.LessOrEqual(t, cap(h.ctx.Scratch), maxKeptScratchBytes)
	long := strings.Repeat("y", 300_000)
	require.Equal(t, "+OK", h.do("MSET", "a", long, "b", "y"+"x"))
	require.Equal(t, bulk("y"), h.do("LCS", "a", "b"))
	require.Equal(t, "+OK", h.do("SET", "k", "1e4900"))
	h.do("INCRBYFLOAT", "k", "1")
	require.LessOrEqual(t, cap(h.ctx.Scratch), maxKeptScratchBytes)
}

// Expired values are absent for every command.
func TestExpiredIsAbsent(t *testing.T) {
	t.Parallel()
	for request, reply := range map[string]string{
		"GET a": "$-1", "MGET a": "*1\r\n$-1", "STRLEN a": ":0", "GETRANGE a 0 -1": "$0\r\n", "GETDEL a": "$-1",
		"GETEX a": "$-1", "GETSET a v": "$-1", "SET a v XX": "$-1", "SET a v NX": "+OK", "SET a v GET": "$-1",
		"SET a 7 IFEQ 5": "$-1", "SETNX a v": ":1", "MSETNX a v": ":1", "APPEND a v": ":1", "SETRANGE a 1 v": ":2",
		"INCR a": ":1", "INCRBYFLOAT a 1": bulk("1"), "LCS a a LEN": ":0", "SET a v KEEPTTL": "+OK",
	} {
		h := newHarness(t)
		require.Equal(t, "+OK", h.do("SET", "a", "5", "PX", "100"))
		h.ctx.NowMilli += 100
		require.Equal(t, reply, h.do(strings.Split(request, " ")...), request)
		if v, found := h.value("a"); found {
			require.Zero(t, v.DeadlineMilli, "%s inherits no deadline", request)
		}
	}
}

// TestIntegers holds the counters to arithmetic of unlimited size.
func TestIntegers(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2, 2))
	h := newHarness(t)
	edges := []int64{0, 1, -1, 1 << 62, -1 << 62, 1<<63 - 1, -1 << 63}
	pick := func() int64 {
		if rnd.IntN(2) == 0 {
			return edges[rnd.IntN(len(edges))]
		}
		return int64(rnd.Uint64())
	}
	for range 2000 {
		have, n := pick(), pick()
		require.Equal(t, "+OK", h.do("SET", "k", strconv.FormatInt(have, 10)))
		for name, add := range map[string]func() (int64, bool){
			"INCRBY": func() (int64, bool) { return have + n, n >= 0 == (have+n >= have) },
			"DECRBY": func() (int64, bool) { return have - n, n >= 0 == (have-n <= have) },
		} {
			want, ok := add()
			reply := fmt.Sprintf(":%d", want)
			switch {
			case name == "DECRBY" && n == -1<<63:
				reply = "-ERR decrement would overflow"
			case !ok:
				reply = "-ERR increment or decrement would overflow"
			}
			require.Equal(t, reply, h.do(name, "k", strconv.FormatInt(n, 10)), "%d %s %d", have, name, n)
			require.Equal(t, "+OK", h.do("SET", "k", strconv.FormatInt(have, 10)))
		}
	}
}

func TestPart(t *testing.T) {
	t.Parallel()
	const length = 5
	at := func(i int64) int64 { // where a negative place is
		if i < 0 {
			return max(i+length, 0)
		}
		return i
	}
	for start := int64(-8); start <= 8; start++ {
		for end := int64(-8); end <= 8; end++ {
			want := ""
			if !(start < 0 && end < 0 && start > end) {
				for i := at(start); i <= at(end) && i < length; i++ {
					want += string("hapax"[i])
				}
			}
			require.Equal(t, want, string(part([]byte("hapax"), start, end)), "%d %d", start, end)
		}
	}
}

func TestRESP3(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.out.Proto = 3
	require.Equal(t, "_", h.do("GET", "nosuch"))
	require.Equal(t, "_", h.do("SET", "nosuch", "v", "XX"))
	require.Equal(t, "*1\r\n_", h.do("MGET", "nosuch"))
	require.Equal(t, "%2\r\n$7\r\nmatches\r\n*0\r\n$3\r\nlen\r\n:0", h.do("LCS", "a", "b", "IDX"))
	require.Equal(t, bulk("1.5"), h.do("INCRBYFLOAT", "f", "1.5"))
}

// The hot path allocates nothing on the Go heap.
func TestHotPathDoesNotAllocate(t *testing.T) {
	h := newHarness(t)
	h.log.keep = false
	split := func(s string) (args [][]byte) {
		for _, arg := range strings.Split(s, " ") {
			args = append(args, []byte(arg))
		}
		return args
	}
	h.run(split("SET s " + strings.Repeat("v", 100)))
	h.run(split("SET n 1"))
	h.run(split("IDEM pending BEGIN f o 60000"))
	h.run(split("IDEM done BEGIN f o 60000"))
	h.run(split("IDEM done COMPLETE f o result"))
	h.run(split("ONCE once 60000"))
	h.run(split("LIMIT denied 1 60000"))
	for _, request := range []string{
		"GET s", "GET nosuch", "MGET s n", "STRLEN s", "SET s " + strings.Repeat("w", 100), "INCR n", "SETNX n 1",
		"SET s v XX EX 100", "SET s v NX GET", "SET s v IFEQ v PX 10000", "SETEX s 100 v", "GETEX s EX 100",
		"MSET s v n 1",
		"IDEM pending BEGIN f o 60000", "IDEM pending BEGIN g o 60000", "IDEM done BEGIN f o 60000",
		"IDEM done COMPLETE f o result", "IDEM done COMPLETE f o other",
		"ONCE once 60000", "LIMIT denied 1 60000", "LIMIT allowed 1000000000 60000",
	} {
		args := split(request)
		h.run(args) // the first may grow buffers
		require.NotEqual(t, byte('-'), h.out.Buf[0], "%s: %s", request, h.out.Buf)
		require.Zero(t, testing.AllocsPerRun(200, func() { h.run(args) }), request)
	}
}
