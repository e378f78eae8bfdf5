package command

import (
	"bufio"
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
)

func TestTimeAndRole(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats.LastLSN = 77
	require.Equal(t, []any{"1700000000", "123456"}, h.reply("TIME"))
	require.Equal(t, []any{"master", int64(77), []any{}}, h.reply("ROLE"))
}

// woken runs the Done of the command that just blocked.
func (h *harness) woken(why Wake) any {
	h.t.Helper()
	require.NotNil(h.t, h.ctx.Block)
	require.Empty(h.t, h.out.Buf, "a command that blocks has said nothing yet")
	out := resp.Writer{Proto: h.out.Proto}
	h.ctx.Block.Done(&out, why)
	return readReply(h.t, bufio.NewReader(bytes.NewReader(out.Buf)))
}

func TestWait(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host()
	require.Equal(t, int64(0), h.reply("WAIT", "0", "100"))
	require.Equal(t, int64(0), h.reply("WAIT", "-5", "0"))
	require.Nil(t, h.ctx.Block)

	require.Nil(t, h.reply("WAIT", "1", "100"))
	require.EqualValues(t, hostMilli+100, h.ctx.Block.DeadlineMilli)
	require.Zero(t, h.ctx.Block.LSN, "no sync wakes a client that waits for replicas")
	require.Equal(t, int64(0), h.woken(WakeTimeout))
	require.Equal(t, int64(0), h.woken(WakeUnblock))
	require.Equal(t, replyError("UNBLOCKED client unblocked via CLIENT UNBLOCK"), h.woken(WakeUnblockError))

	h.ctx.Block = nil
	require.Nil(t, h.reply("WAIT", "1", "0"))
	require.Zero(t, h.ctx.Block.DeadlineMilli, "0 waits for ever")

	h.ctx.Block = nil
	for want, args := range map[string][]string{
		"ERR value is not an integer or out of range":   {"x", "y"},
		"ERR timeout is not an integer or out of range": {"0", "y"},
		"ERR timeout is negative":                       {"0", "-1"},
		"ERR timeout is out of range":                   {"1", "9223372036854775807"},
	} {
		require.Equal(t, replyError(want), h.reply(append([]string{"WAIT"}, args...)...))
		require.Nil(t, h.ctx.Block)
	}
}

func TestWaitAOF(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	host.stats.AOFEnabled, host.synced, h.sess.LastWrite = true, 5, 5
	acked := func(local int64) []any { return []any{local, int64(0)} }
	require.Equal(t, acked(1), h.reply("WAITAOF", "1", "0", "0"))
	require.Equal(t, acked(1), h.reply("WAITAOF", "0", "0", "0"))

	h.sess.LastWrite = 6
	require.Equal(t, acked(0), h.reply("WAITAOF", "0", "0", "0"))
	require.Nil(t, h.ctx.Block)
	require.Nil(t, h.reply("WAITAOF", "1", "0", "50"))
	require.EqualValues(t, 6, h.ctx.Block.LSN)
	require.EqualValues(t, hostMilli+50, h.ctx.Block.DeadlineMilli)
	require.Equal(t, acked(0), h.woken(WakeTimeout))
	require.Equal(t, replyError(unblockedText), h.woken(WakeUnblockError))
	host.synced = 6
	require.Equal(t, acked(1), h.woken(WakeReady))

	// Replicas never come, so only time ends the wait, however much is synced.
	h.ctx.Block = nil
	require.Nil(t, h.reply("WAITAOF", "1", "1", "50"))
	require.Zero(t, h.ctx.Block.LSN)
	require.Equal(t, acked(1), h.woken(WakeTimeout))
}

func TestWaitAOFErrors(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	host.synced = math.MaxInt64
	f := func(want string, args ...string) {
		t.Helper()
		require.Equal(t, replyError(want), h.reply(append([]string{"WAITAOF"}, args...)...))
		require.Nil(t, h.ctx.Block)
	}
	f("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.", "1", "0", "0")
	f("ERR value is out of range, value must between 0 and 1", "2", "0", "0")
	f("ERR value is out of range, value must between 0 and 1", "-1", "0", "0")
	f("ERR value is out of range, must be positive", "0", "-1", "0")
	f("ERR value is not an integer or out of range", "0", "x", "0")
	f("ERR timeout is negative", "0", "0", "-1")
	require.Equal(t, []any{int64(0), int64(0)}, h.reply("WAITAOF", "0", "0", "0"), "nothing is synced without a log")
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	for _, c := range []struct {
		args []string
		want ShutdownMode
	}{
		{nil, ShutdownMode{}},
		{[]string{"NOSAVE"}, ShutdownMode{NoSave: true}},
		{[]string{"save", "NOW"}, ShutdownMode{Save: true, Now: true}},
		{[]string{"NOW", "FORCE"}, ShutdownMode{Now: true, Force: true}},
	} {
		require.Nil(t, h.reply(append([]string{"SHUTDOWN"}, c.args...)...), "no reply to an orderly end")
		require.Equal(t, c.want, host.stops[len(host.stops)-1])
		require.True(t, h.ctx.Block.Firm)
		require.False(t, h.ctx.Block.Ready())
	}
	host.refused = true
	require.True(t, h.ctx.Block.Ready())
	require.Equal(t, replyError("ERR Errors trying to SHUTDOWN. Check logs."), h.woken(WakeReady))
	for _, args := range [][]string{{"foo"}, {"NOSAVE", "SAVE"}, {"ABORT", "NOW"}, {"abort", "nosave"}, {"abort", "save"}, {"abort", "force"}} {
		require.Equal(t, replyError("ERR syntax error"), h.reply(append([]string{"SHUTDOWN"}, args...)...), "%q", args)
	}
	require.Equal(t, replyError("ERR No shutdown in progress."), h.reply("SHUTDOWN", "ABORT"))
	require.Len(t, host.stops, 4)
}

func TestDebug(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	for _, args := range [][]string{{"SLEEP", "1"}, {"HELP"}, {"nonsense"}} {
		require.Equal(t, replyError(debugRefused), h.reply(append([]string{"DEBUG"}, args...)...), "%q", args)
	}
	require.Equal(t, replyError("ERR wrong number of arguments for 'debug' command"), h.reply("DEBUG"))
	require.Zero(t, host.sleptMS)

	host.debug = true
	require.Equal(t, "OK", h.reply("DEBUG", "sleep", "0.25"))
	require.EqualValues(t, 250, host.sleptMS)
	for _, nothing := range []string{"-1", "x", "nan", "-inf", "0"} {
		require.Equal(t, "OK", h.reply("DEBUG", "SLEEP", nothing))
		require.EqualValues(t, 250, host.sleptMS, nothing)
	}
	require.Equal(t, "OK", h.reply("DEBUG", "SLEEP", "inf"))
	require.EqualValues(t, 250+maxSleepMilli, host.sleptMS)
	require.Contains(t, h.reply("DEBUG", "HELP").([]any), "SLEEP <seconds>")
	require.Equal(t, replyError("ERR unknown subcommand or wrong number of arguments for 'SLEEP'. Try DEBUG HELP."), h.reply("DEBUG", "SLEEP"))
	require.Equal(t, replyError("ERR unknown subcommand or wrong number of arguments for 'foo'. Try DEBUG HELP."), h.reply("DEBUG", "foo"))
}

func TestLolwut(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats.Version = "0.9.1"
	art := h.reply("LOLWUT").(string)
	require.True(t, strings.HasSuffix(art, "\nHapax ver. 0.9.1\n"))
	require.Equal(t, art, h.reply("LOLWUT", "VERSION", "5", "a", "b"))
	require.Equal(t, art, h.reply("LOLWUT", "foo"))
	require.Equal(t, replyError("ERR value is not an integer or out of range"), h.reply("LOLWUT", "version", "x"))
	h.proto(3)
	require.Equal(t, verbatim(art), h.reply("LOLWUT"))
	for _, c := range []byte(art) {
		require.True(t, c == '\n' || c >= ' ' && c <= '~', "it shows on any terminal")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	host.config = [][2]string{{"maxmemory", "0"}, {"maxclients", "10000"}, {"port", "1"}}
	require.Equal(t, []any{"maxmemory", "0", "maxclients", "10000"}, h.reply("CONFIG", "GET", "max*", "maxm*"))
	require.Equal(t, []any{}, h.reply("CONFIG", "GET", "nosuch"))
	h.proto(3)
	require.Equal(t, replyMap{"port", "1"}, h.reply("CONFIG", "GET", "port"))
	require.Equal(t, "OK", h.reply("CONFIG", "SET", "a", "1", "b", ""))
	require.Equal(t, [][2]string{{"a", "1"}, {"b", ""}}, host.set)
	require.Equal(t, replyError("ERR syntax error"), h.reply("CONFIG", "SET", "a", "2", "b"))
	require.Equal(t, replyError("ERR no"), h.reply("CONFIG", "SET", "bad", "1"))
	require.Equal(t, [][2]string{{"a", "1"}, {"b", ""}}, host.set)
	require.Equal(t, "OK", h.reply("CONFIG", "RESETSTAT"))
	require.Equal(t, 1, host.resets)
	require.Equal(t, replyError("ERR The server is running without a config file"), h.reply("CONFIG", "REWRITE"))
	require.Equal(t, replyError("ERR wrong number of arguments for 'config|set' command"), h.reply("CONFIG", "SET", "a"))
}

func TestMemoryUsage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, replyNull{}, h.reply("MEMORY", "USAGE", "k"))
	h.plant("k", shard.Value{Bytes: make([]byte, 1000)})
	small := h.reply("MEMORY", "USAGE", "k").(int64)
	require.Greater(t, small, int64(1000))
	require.Less(t, small, int64(1200))
	require.Equal(t, small, h.reply("MEMORY", "USAGE", "k", "samples", "0"))
	require.Equal(t, replyError("ERR value is not an integer or out of range"), h.reply("MEMORY", "USAGE", "k", "SAMPLES", "x"))
	for _, args := range [][]string{{"SAMPLES"}, {"SAMPLES", "-1"}, {"foo"}, {"SAMPLES", "1", "foo"}} {
		require.Equal(t, replyError("ERR syntax error"), h.reply(append([]string{"MEMORY", "USAGE", "k"}, args...)...), "%q", args)
	}
}

// TestMemoryStatsHasRedisNames compares names and kinds with a real server's.
func TestMemoryStatsHasRedisNames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats = Stats{UsedMemory: 100, UsedPeak: 200, MappedBytes: 150, RSS: 300, IndexBytes: 40, Dataset: 60,
		Keyspace: []KeyspaceStat{{DB: 0, Keys: 3}, {DB: 5, Keys: 1}}}
	h.proto(3)
	ours := h.reply("MEMORY", "STATS")
	require.Equal(t, int64(4), at(ours, "keys.count"))
	require.Equal(t, int64(25), at(ours, "keys.bytes-per-key"))
	require.Equal(t, 1.5, at(ours, "allocator-fragmentation.ratio"))
	require.Equal(t, int64(10), at(at(ours, "db.5"), "overhead.hashtable.main"))

	conn := dialRedis(t)
	in := bufio.NewReader(conn)
	askRedis(t, conn, in, "HELLO", "3")
	askRedis(t, conn, in, "SET", "k", "v")
	theirs := askRedis(t, conn, in, "MEMORY", "STATS").(replyMap)
	for i := 0; i < len(theirs); i += 2 {
		require.IsType(t, theirs[i+1], at(ours, theirs[i].(string)), "%s", theirs[i])
	}
}

func TestMemoryDoctor(t *testing.T) {
	t.Parallel()
	f := func(want string, s Stats) {
		t.Helper()
		h := newHarness(t)
		h.host().stats = s
		require.Contains(t, h.reply("MEMORY", "DOCTOR"), want)
	}
	f("Too little data", Stats{UsedMemory: 1000})
	f("healthy", Stats{UsedMemory: 100 << 20, UsedPeak: 101 << 20, MappedBytes: 110 << 20})
	f(" * Peak: memory use was 300.00M once and is 100.00M now.", Stats{UsedMemory: 100 << 20, UsedPeak: 300 << 20})
	f(" * Fragmentation: 200.00M are taken", Stats{UsedMemory: 100 << 20, MappedBytes: 200 << 20})
	f(" * Limit: memory use is above maxmemory (50.00M).", Stats{UsedMemory: 100 << 20, MaxMemory: 50 << 20})
}
