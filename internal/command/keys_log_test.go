package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
)

// keysHarness is a harness with a host that has the databases of the store.
func keysHarness(t testing.TB) *harness {
	h := newHarness(t)
	h.ctx.Host = &fakeHost{}
	return h
}

// requireUnit says that the records are these, and that no crash can part them.
func requireUnit(t *testing.T, records []testRecord, want ...op.Code) {
	t.Helper()
	var codes []op.Code
	for _, r := range records {
		codes = append(codes, r.Code)
		require.Equal(t, records[0].unit, r.unit, "a crash could part the records")
	}
	require.Equal(t, want, codes)
}

// TestKeysUnits: a command that writes several records writes them as one
// unit of recovery.
func TestKeysUnits(t *testing.T) {
	h := keysHarness(t)
	set := func(keys ...string) {
		for _, k := range keys {
			h.do("SET", k, "value of "+k)
		}
	}
	set("a", "b", "c")
	requireUnit(t, h.written(func() { require.Equal(t, ":3", h.do("DEL", "a", "b", "nosuch", "c")) }),
		op.Delete, op.Delete, op.Delete)
	set("a", "b")
	requireUnit(t, h.written(func() { require.Equal(t, "+OK", h.do("RENAME", "a", "b")) }), op.Put, op.Delete)
	requireUnit(t, h.written(func() { require.Equal(t, ":1", h.do("RENAMENX", "b", "c")) }), op.Put, op.Delete)
	moved := h.written(func() { require.Equal(t, ":1", h.do("MOVE", "c", "5")) })
	requireUnit(t, moved, op.Put, op.Delete)
	require.Equal(t, []int{5, 0}, []int{moved[0].DB, moved[1].DB})
	set("a", "b")
	requireUnit(t, h.written(func() { require.Equal(t, ":1", h.do("COPY", "a", "b", "REPLACE")) }), op.Put)
}

// TestKeysWriteNothing: what changes nothing leaves no record.
func TestKeysWriteNothing(t *testing.T) {
	h := keysHarness(t)
	h.do("SET", "a", "1", "EX", "100")
	h.do("SET", "b", "2")
	for _, cmd := range []string{
		"DEL nosuch", "UNLINK nosuch x y", "RENAME a a", "RENAME nosuch b", "RENAMENX a b", "RENAMENX a a",
		"COPY a b", "COPY nosuch b REPLACE", "COPY a a", "COPY a c DB 99", "MOVE nosuch 1", "MOVE a 0", "MOVE a 99",
		"EXPIRE nosuch 5", "EXPIRE b 5 XX", "EXPIRE a 200 NX", "EXPIRE a 5 GT", "EXPIRE a 500 LT", "EXPIRE a x",
		"EXPIRE a 5 NX XX", "EXPIRE a 9223372036854775807", "EXPIRE b -1 GT", "PERSIST b", "PERSIST nosuch",
		"SWAPDB 3 3", "SWAPDB 0 99", "FLUSHDB NOW", "FLUSHALL SYNC ASYNC", "EXISTS a b", "TOUCH a", "TYPE a",
		"TTL a", "PTTL b", "EXPIRETIME a", "PEXPIRETIME nosuch", "OBJECT ENCODING a", "OBJECT FREQ a",
		"OBJECT IDLETIME a", "OBJECT REFCOUNT a", "OBJECT HELP", "DBSIZE", "KEYS *", "SCAN 0", "RANDOMKEY",
	} {
		h.requireSilent(func() { h.do(strings.Fields(cmd)...) })
	}
}

// TestKeysDeadlines: a deadline goes to the log as a point in time (I3), and
// one that has passed as a removal.
func TestKeysDeadlines(t *testing.T) {
	h := keysHarness(t)
	h.do("SET", "a", "1")
	f := func(cmd string, code op.Code, deadlineMilli int64) {
		t.Helper()
		records := h.written(func() { require.Equal(t, ":1", h.do(strings.Fields(cmd)...)) })
		requireUnit(t, records, code)
		require.Equal(t, deadlineMilli, records[0].DeadlineMilli)
	}
	f("EXPIRE a 10", op.SetDeadline, testStartMilli+10_000)
	f("PEXPIRE a 10", op.SetDeadline, testStartMilli+10)
	f("EXPIREAT a 33177117420", op.SetDeadline, 33177117420_000)
	f("PEXPIREAT a 33177117420001", op.SetDeadline, 33177117420_001)
	f("PERSIST a", op.SetDeadline, 0)
	f("EXPIRE a 0", op.Delete, 0)
	h.do("SET", "a", "1", "PX", "5")
	h.do("RENAME", "a", "b")
	v, found := h.value("b")
	require.True(t, found)
	require.EqualValues(t, testStartMilli+5, v.DeadlineMilli)
	h.ctx.NowMilli += 5
	require.Equal(t, ":0", h.do("EXPIRE", "b", "100"), "it expires when the deadline is reached")
}

// TestKeysHits: which commands count as keyspace hits and misses, as Redis
// counts them: those that read.
func TestKeysHits(t *testing.T) {
	f := func(cmd string, hits, misses int64) {
		t.Helper()
		h := keysHarness(t)
		h.do("MSET", "a", "1", "b", "2")
		h.ctx.Tx.Hits, h.ctx.Tx.Misses = 0, 0
		h.do(strings.Fields(cmd)...)
		require.Equal(t, [2]int64{hits, misses}, [2]int64{h.ctx.Tx.Hits, h.ctx.Tx.Misses}, cmd)
	}
	f("EXISTS a b c", 2, 1)
	f("TOUCH a c", 1, 1)
	f("TYPE a", 1, 0)
	f("TTL c", 0, 1)
	f("PEXPIRETIME a", 1, 0)
	f("OBJECT ENCODING a", 1, 0)
	f("OBJECT IDLETIME c", 0, 1)
	f("COPY a c", 1, 0)
	f("DEL a c", 0, 0)
	f("EXPIRE a 5", 0, 0)
	f("PERSIST c", 0, 0)
	f("RENAME a c", 0, 0)
	f("MOVE a 1", 0, 0)
	f("KEYS *", 0, 0)
	f("SCAN 0", 0, 0)
}

// TestKeysIdleTime: OBJECT looks without touching, TOUCH touches.
func TestKeysIdleTime(t *testing.T) {
	h := keysHarness(t)
	h.do("SET", "a", "1")
	h.ctx.NowMilli += 90_000
	for _, cmd := range []string{"OBJECT IDLETIME a", "OBJECT ENCODING a", "TYPE a", "EXISTS a", "TTL a", "KEYS *", "SCAN 0"} {
		h.do(strings.Fields(cmd)...)
	}
	require.Equal(t, ":90", h.do("OBJECT", "IDLETIME", "a"))
	h.do("TOUCH", "a")
	require.Equal(t, ":0", h.do("OBJECT", "IDLETIME", "a"))
	h.store.SetEvictionPolicy(shard.AllKeysLFU)
	require.Equal(t, "-"+errNoIdle.Error(), h.do("OBJECT", "IDLETIME", "a"))
	h.do("SET", "new", "1")
	require.Equal(t, ":5", h.do("OBJECT", "FREQ", "new"))
}

// TestKeysAllocateNothing: the grouped commands are for hot paths.
func TestKeysAllocateNothing(t *testing.T) {
	h := keysHarness(t)
	h.log.keep = false
	h.do("MSET", "a", "1", "b", "2")
	for _, cmd := range []string{"EXISTS a b c", "TOUCH a b", "TYPE a", "TTL a", "PTTL b", "EXPIRETIME a", "PEXPIRETIME c",
		"EXPIRE a 100", "PEXPIRE a 100000 XX", "EXPIREAT a 33177117420 GT", "PERSIST b", "DEL c d", "DBSIZE"} {
		var args [][]byte
		for _, w := range strings.Fields(cmd) {
			args = append(args, []byte(w))
		}
		require.Zero(t, testing.AllocsPerRun(100, func() { h.run(args) }), cmd)
	}
}
