package server

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
)

func TestAnyShapeOfArrival(t *testing.T) {
	text := wire("SET", "a", "1") + "PING\r\n" + wire("GET", "a") + "\r\n*0\r\n" +
		"set b \"x y\"\r\n" + wire("GET", "b") + wire("NOSUCH", "q") + wire("CLIENT", "ID") +
		wire("SET", "big", strings.Repeat("v", 200_000)) + wire("STRLEN", "big") + "echo 'last'\r\n"
	for _, size := range []int{1, 2, 7, 4096, readBytes, len(text)} {
		m := newLab(t).session()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(m.ask(rest[:n]))
			rest = rest[n:]
		}
		require.Equal(t, "+OK\r\n+PONG\r\n$1\r\n1\r\n+OK\r\n$3\r\nx y\r\n"+
			"-ERR unknown command 'NOSUCH', with args beginning with: 'q' \r\n:1\r\n"+
			"+OK\r\n:200000\r\n$4\r\nlast\r\n", got.String(), "pieces of %d bytes", size)
	}
}

func TestProtocolErrorAnswersAndCloses(t *testing.T) {
	for _, c := range []struct{ sent, want string }{
		{"*1\r\n+x\r\n", "-ERR Protocol error: expected '$', got '+'\r\n"},
		{"*-x\r\n", "-ERR Protocol error: invalid multibulk length\r\n"},
		{"*1\r\n$-5\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"*1\r\n$536870913\r\n", "-ERR Protocol error: invalid bulk length\r\n"},
		{"set a \"b\r\n", "-ERR Protocol error: unbalanced quotes in request\r\n"},
		{strings.Repeat("x", 70_000), "-ERR Protocol error: too big inline request\r\n"},
	} {
		m := newLab(t).session()
		require.Equal(t, "+PONG\r\n"+c.want, m.ask("PING\r\n"+c.sent))
		require.True(t, m.Closed())
		require.ErrorIs(t, m.Feed([]byte("PING\r\n")), ErrClosed)
	}
}

func TestProtocolErrorKeepsQuietWhenTold(t *testing.T) {
	for _, c := range []struct{ before, want string }{
		{"CLIENT REPLY OFF\r\n", ""},
		{"CLIENT REPLY SKIP\r\n", ""},
		{"CLIENT REPLY SKIP\r\nPING\r\n", "-ERR Protocol error: expected '$', got '+'\r\n"},
	} {
		m := newLab(t).session()
		require.Equal(t, c.want, m.ask(c.before+"*1\r\n+x\r\n"), c.before)
		require.True(t, m.Closed())
	}
}

func TestProtocolErrorStopsWhatFollows(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.ask("*1\r\n+x\r\n" + wire("SET", "a", "1"))
	require.Equal(t, "$-1\r\n", l.session().do("GET", "a"))
}

func TestHTTPIsCutOffWithoutAReply(t *testing.T) {
	for _, sent := range []string{"POST / HTTP/1.1\r\n", "Host: example\r\n"} {
		l := newLab(t)
		m := l.session()
		require.Empty(t, m.ask(sent+"PING\r\n"))
		require.True(t, m.Closed())
		require.Contains(t, l.logs.String(), "SECURITY ATTACK")
	}
	m := newLab(t).session()
	require.Equal(t, "-ERR wrong number of arguments for 'get' command\r\n", m.ask("GET / HTTP/1.1\r\nHost: x\r\n"))
	require.True(t, m.Closed())
}

func TestAuthentication(t *testing.T) {
	l := newLab(t, tuned(func(t *Tunables) { t.Password = "secret" }))
	m := l.session()
	require.Equal(t, "-NOAUTH Authentication required.\r\n", m.do("GET", "a"))
	require.Equal(t, "-NOAUTH Authentication required.\r\n", m.do("PING"))
	require.Contains(t, m.do("AUTH", "wrong"), "-WRONGPASS")
	require.Equal(t, "-NOAUTH Authentication required.\r\n", m.do("GET", "a"))
	// Arguments over the small limits go through in the same pipeline as AUTH.
	require.Equal(t, "+OK\r\n+OK\r\n", m.ask(wire("AUTH", "secret")+wire("SET", "a", strings.Repeat("v", 20_000))))
	require.Equal(t, ":20000\r\n", m.do("STRLEN", "a"))

	fresh := l.session()
	require.Equal(t, "-ERR Protocol error: unauthenticated bulk length\r\n", fresh.ask("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$16385\r\n"))
	fresh = l.session()
	require.Equal(t, "-ERR Protocol error: unauthenticated multibulk length\r\n", fresh.ask("*11\r\n"))

	// A password that is taken away lets everybody in.
	waiting := l.session()
	require.Equal(t, "-NOAUTH Authentication required.\r\n", waiting.do("GET", "a"))
	l.srv.Retune(Tunables{})
	require.Equal(t, ":20000\r\n", waiting.do("STRLEN", "a"))
}

func TestLoadingAnswers(t *testing.T) {
	l := newLab(t, func(s *setup) { s.loading = true })
	m := l.session()
	require.Equal(t, "-LOADING Redis is loading the dataset in memory\r\n", m.do("GET", "a"))
	require.Contains(t, m.do("CLIENT", "ID"), ":")
	require.Contains(t, m.do("INFO", "persistence"), "loading:1")
	require.NoError(t, l.eng.Recover())
	require.Equal(t, "$-1\r\n", m.do("GET", "a"))
	require.Contains(t, m.do("INFO", "persistence"), "loading:0")
}

// A stop does not wait for a long load.
func TestStopDuringTheLoad(t *testing.T) {
	first := newLab(t)
	require.Equal(t, "+OK\r\n", first.session().do("SET", "a", "1"))
	require.NoError(t, first.eng.Close())
	disk := first.fs
	first.eng = nil

	reached, goOn := make(chan struct{}, 1), make(chan struct{})
	disk.Inject(vfs.Fault{Op: vfs.OpRead, Path: "wal", Nth: 1, Before: func() {
		reached <- struct{}{}
		<-goOn
	}})
	l := newLab(t, func(s *setup) { s.files, s.loading, s.realTime = disk, true, true })
	l.start()
	<-reached
	l.stop()
	eventually(t, "the stop reached the engine", l.eng.Stopping)
	close(goOn)
	require.NoError(t, <-l.served, "an orderly stop")
	l.served = nil
	require.True(t, l.eng.Loading(), "it did not load to the end")
	require.Contains(t, l.logs.String(), "Stopped while the log was being loaded")
}

func TestReplyModes(t *testing.T) {
	m := newLab(t).session()
	require.Equal(t, "+PONG\r\n", m.ask("CLIENT REPLY SKIP\r\nPING\r\nPING\r\n"))
	require.Equal(t, "+PONG\r\n", m.ask("CLIENT REPLY SKIP\r\nNOSUCH\r\nPING\r\n"), "a refusal is a reply too")
	require.Equal(t, "+OK\r\n$1\r\n1\r\n", m.ask("CLIENT REPLY OFF\r\nSET a 1\r\nNOSUCH\r\nCLIENT REPLY ON\r\nGET a\r\n"))
}

func TestErrorRollsTheReplyBack(t *testing.T) {
	m := newLab(t).session()
	require.Equal(t, "+PONG\r\n-ERR value is not an integer or out of range\r\n+PONG\r\n",
		m.ask("PING\r\nSET a x\r\nINCR a\r\nPING\r\n")[:7]+m.ask("INCR a\r\nPING\r\n"))
	require.Equal(t, "-ERR value is not an integer or out of range\r\n", m.do("GETRANGE", "a", "x", "1"))
}

func TestQuitClosesAfterItsReply(t *testing.T) {
	l := newLab(t)
	m := l.session()
	require.Equal(t, "+OK\r\n+OK\r\n", m.ask("SET a 1\r\nQUIT\r\nSET a 2\r\n"))
	require.True(t, m.Closed())
	require.Equal(t, "$1\r\n1\r\n", l.session().do("GET", "a"))
}

// An inline request is unquoted where it was received. When it has to wait,
// it must not be unquoted a second time.
func TestInlineThatWaitsKeepsItsWords(t *testing.T) {
	m := newLab(t).session()
	require.Equal(t, "+OK\r\n+OK\r\n$3\r\na b\r\n", m.ask("SET x 1\r\nCLIENT SETNAME \"a-b\"\r\nECHO \"a b\"\r\n"))
	require.Equal(t, "+OK\r\n-ERR unknown subcommand 'x\"y'. Try CLIENT HELP.\r\n",
		m.ask("SET x 1\r\nCLIENT \"x\\\"y\" \"a'b\"\r\n"))
	require.Equal(t, "+OK\r\n*1\r\n$5\r\n \"k\" \r\n", m.ask("SET \" \\\"k\\\" \" 1\r\nKEYS \" \\\"*\"\r\n"))
}

func TestQueryBufferLimitCloses(t *testing.T) {
	l := newLab(t, tuned(func(t *Tunables) { t.QueryBufferLimit = 100_000 }))
	m := l.session()
	require.NoError(t, m.Feed([]byte("*2\r\n$4\r\nECHO\r\n$300000\r\n"+strings.Repeat("x", 99_000))))
	require.False(t, m.Closed())
	require.NoError(t, m.Feed([]byte(strings.Repeat("x", 10_000))))
	require.True(t, m.Closed())
	require.EqualValues(t, 1, l.session().stat("query_limit").QueryLimitCloses)
}

// stat reads the totals.
func (m *mem) stat(string) *command.Stats {
	m.ex.end()
	return m.s.srv.stats(m.ex)
}

// Execution stops for a client whose replies pile up (I12).
func TestOutputPausesExecution(t *testing.T) {
	l := newLab(t, tuned(func(t *Tunables) { t.OutputPauseBytes = 10_000 }))
	m := l.session()
	require.Equal(t, "+OK\r\n", m.do("SET", "k", strings.Repeat("v", 4000)))
	m.feed(strings.Repeat(wire("GET", "k"), 400))
	require.Less(t, m.Held(), 10_000+2*4100, "one reply over the limit, no more")
	require.EqualValues(t, 1+3, m.stat("").Commands)
	require.NoError(t, m.Settle())
	require.Len(t, m.Output(), 400*(4000+len("$4000\r\n\r\n")), "all replies come as the client reads")
}

// One legal reply is deliverable, however large beside the limits.
func TestLargeReplyIsDelivered(t *testing.T) {
	l := newLab(t, tuned(func(t *Tunables) { t.OutputPauseBytes, t.OutputHardLimit = 1000, 2000 }))
	m := l.session()
	big := strings.Repeat("v", 1_000_000)
	require.Equal(t, "+OK\r\n", m.do("SET", "k", big))
	require.Equal(t, "$1000000\r\n"+big+"\r\n+PONG\r\n", m.ask(wire("GET", "k")+"PING\r\n"))
	require.False(t, m.Closed())
}

func TestEndOfInputAnswersEverything(t *testing.T) {
	m := newLab(t).session()
	m.feed("SET a 1\r\nKEYS *\r\nGET a\r\nGET")
	require.False(t, m.Closed())
	m.End()
	require.NoError(t, m.Settle())
	require.Equal(t, "+OK\r\n*1\r\n$1\r\na\r\n$1\r\n1\r\n", string(m.Output()))
	require.True(t, m.Closed())
}

func TestHotCommandsAllocateNothing(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.do("SET", "key", "value")
	m.do("IDEM", "op", "BEGIN", "fp", "owner", "60000")
	m.do("IDEM", "done", "BEGIN", "fp", "owner", "60000")
	require.Equal(t, ":1\r\n", m.do("IDEM", "done", "COMPLETE", "fp", "owner", "result"))
	for name, text := range map[string]string{
		"GET":            wire("GET", "key"),
		"GET of nothing": wire("GET", "none"),
		"SET existing":   wire("SET", "key", "VALUE"),
		"IDEM pending":   wire("IDEM", "op", "BEGIN", "fp", "other", "60000"),
		"IDEM conflict":  wire("IDEM", "op", "BEGIN", "fp2", "other", "60000"),
		"IDEM completed": wire("IDEM", "done", "BEGIN", "fp", "other", "60000"),
		"pipeline":       strings.Repeat(wire("GET", "key")+wire("SET", "key", "other"), 20),
	} {
		b := []byte(text)
		n := testing.AllocsPerRun(500, func() {
			if m.Feed(b) != nil || m.Settle() != nil || len(m.Output()) == 0 {
				t.Fatal("no reply")
			}
		})
		require.Zero(t, n, name)
	}
}

func TestIdleSessionHoldsNoBuffers(t *testing.T) {
	m := newLab(t).session()
	m.do("SET", "k", strings.Repeat("v", 300_000))
	m.do("GET", "k")
	require.Nil(t, m.s.in)
	require.Nil(t, m.s.out)
}

func TestCountersTellWhatHappened(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.ask("SET a 1\r\nGET a\r\nGET b\r\nGET\r\nINCR a\r\nLPUSHX\r\nSET a x\r\nINCR a\r\nCLIENT ID\r\n")
	st := m.stat("")
	require.EqualValues(t, 7, st.Commands)
	require.EqualValues(t, 1, st.Hits)
	require.EqualValues(t, 1, st.Misses)
	require.EqualValues(t, 3, st.Snapshot.Changes)
	require.Equal(t, map[string]int64{"ERR": 3}, st.ErrorStats)
	require.EqualValues(t, 3, st.ErrorReplies)
	rows := map[string]command.CommandStat{}
	for _, r := range st.CommandStats {
		rows[r.Name] = command.CommandStat{Calls: r.Calls, Rejected: r.Rejected, Failed: r.Failed}
	}
	require.Equal(t, map[string]command.CommandStat{
		"set": {Calls: 2}, "get": {Calls: 2, Rejected: 1}, "incr": {Calls: 2, Failed: 1}, "client|id": {Calls: 1},
	}, rows)
	m.do("CONFIG", "RESETSTAT")
	st = m.stat("")
	require.Empty(t, st.ErrorStats)
	require.Zero(t, st.Hits)
}

func TestMemoryAdmission(t *testing.T) {
	full := func(p func(t *Tunables)) *lab {
		l := newLab(t, tuned(p))
		m := l.session()
		for i := range 200 {
			m.do("SET", "k"+string(rune('0'+i%10))+string(rune('a'+i/10)), strings.Repeat("v", 1000))
		}
		return l
	}
	l := full(func(*Tunables) {})
	l.session().do("IDEM", "op", "BEGIN", "f", "o", "60000")
	used := l.eng.Store.UsedBytes()
	last := l.eng.Last()
	l.srv.Retune(Tunables{MaxMemory: used / 2})
	m := l.session()
	require.Equal(t, "-OOM command not allowed when used memory > 'maxmemory'.\r\n", m.do("SET", "new", "1"))
	require.Equal(t, last, l.eng.Last(), "refused before anything was appended")
	require.Contains(t, m.do("GET", "k0a"), "$1000")
	require.Equal(t, ":1\r\n", m.do("DEL", "k0a"), "what frees memory is let in")
	const refused = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
	require.Equal(t, refused, m.do("IDEM", "new", "BEGIN", "f", "o", "60000"))
	require.Equal(t, ":1\r\n", m.do("IDEM", "op", "COMPLETE", "f", "o", "result"))
	require.Equal(t, "*2\r\n$9\r\ncompleted\r\n$6\r\nresult\r\n", m.do("IDEM", "op", "BEGIN", "f", "o", "60000"))

	l.srv.Retune(Tunables{MaxMemory: used - 50_000, Eviction: shard.AllKeysRandom})
	require.Equal(t, "+OK\r\n", m.do("SET", "new", "1"))
	require.LessOrEqual(t, l.eng.Store.UsedBytes(), used-50_000+2000)
	require.NotZero(t, m.stat("").Evicted)
	require.Equal(t, l.eng.Last(), l.eng.Durable(), "evictions are committed with the write that needed them")
}

func TestPanicStopsTheProcess(t *testing.T) {
	l := newLab(t)
	m := l.session()
	ping := command.Lookup([]byte("ping"))
	row := *ping
	row.Run = func(*command.Ctx) error { panic("broken handler") }
	require.PanicsWithValue(t, "session: broken handler", func() {
		defer l.srv.reportPanic("session")
		m.s.enter(m.ex)
		m.ex.execute(&m.s, &request{cmd: &row, args: [][]byte{[]byte("ping")}}, 0)
	})
	require.Contains(t, l.logs.String(), "=== BUG ===")
	require.Contains(t, l.logs.String(), "session_test.go")
}

// A full disk refuses writes, lets reads and deletes through, and ends by
// itself.
func TestFullDiskRefusesWrites(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.do("SET", "old", "1")
	l.fs.Inject(vfs.Fault{Op: vfs.OpCreate, Path: "wal", Err: syscall.ENOSPC, Sticky: true})
	some := strings.Repeat("v", 10_000)
	eventually(t, "the next segment cannot be prepared", func() bool {
		m.do("SET", "k", some)
		return l.eng.Log().SpaceErr() != nil
	})
	last := l.eng.Last()
	require.Contains(t, m.do("SET", "k", "2"), "-MISCONF Errors writing to the AOF file: ")
	require.Contains(t, m.do("IDEM", "op", "BEGIN", "fp", "me", "1000"), "-MISCONF")
	require.Equal(t, last, l.eng.Last())
	require.Equal(t, "$1\r\n1\r\n", m.do("GET", "old"))
	require.Equal(t, ":1\r\n", m.do("DEL", "old"))
	l.srv.tick(m.ex)
	require.Contains(t, l.logs.String(), "Writes are refused, but for those that make room: MISCONF")
}

// Requests are parsed ahead of their turn; that must not show.
func TestParsingAheadDoesNotShow(t *testing.T) {
	ping := wire("PING")
	l := newLab(t, tuned(func(t *Tunables) { t.OutputPauseBytes = 5000 }))
	m := l.session()
	require.Equal(t, "+OK\r\n", m.do("SET", "k", strings.Repeat("v", 3000)))
	value := "$3000\r\n" + strings.Repeat("v", 3000) + "\r\n"

	require.Equal(t, strings.Repeat("+PONG\r\n", 3)+"-ERR Protocol error: invalid bulk length\r\n",
		l.session().ask(ping+ping+ping+"*1\r\n$x\r\n"+ping), "an error comes after the replies before it")

	// Stopped in the middle by its output, with half a request behind.
	half := wire("ECHO", "half")
	m.feed(strings.Repeat(wire("GET", "k"), 10) + half[:9])
	require.NoError(t, m.Settle())
	require.Equal(t, strings.Repeat(value, 10), string(m.Output()))
	require.Equal(t, "$4\r\nhalf\r\n", m.ask(half[9:]))

	// An inline request behind the stop is not unquoted twice.
	require.Equal(t, value+value+"$5\r\na\"b c\r\n", m.ask(wire("GET", "k")+wire("GET", "k")+"echo \"a\\\"b c\"\r\n"))

	// What one request changes holds for the next.
	require.Equal(t, "+OK\r\n$-1\r\n+OK\r\n"+value, m.ask(wire("SELECT", "3")+wire("GET", "k")+wire("SELECT", "0")+wire("GET", "k")))
	require.Contains(t, m.ask(wire("GET", "none")+wire("HELLO", "3")+wire("GET", "none")), "$-1\r\n%")
	require.Equal(t, "_\r\n", m.do("GET", "none"))
	require.Equal(t, ":1\r\n"+strings.Repeat("+PONG\r\n", 100)+":2\r\n",
		m.ask(wire("INCR", "n")+strings.Repeat(ping, 100)+wire("INCR", "n")))
}

// slowMachine is a machine on which a millisecond passes at every look at the
// clock.
type slowMachine struct{ nano atomic.Int64 }

func (m *slowMachine) Read() (wallNano, monoNano int64) {
	n := m.nano.Add(1_000_000)
	return 1_800_000_000_000_000_000 + n, n
}

// A pipeline of slow commands has its share of a round, then others come.
func TestTurnEnds(t *testing.T) {
	l := newLab(t, func(s *setup) { s.source = &slowMachine{} })
	m := l.session()
	m.ex.begin()
	n := copy(m.s.space(m.shared), strings.Repeat(wire("PING"), 1000))
	m.s.receive(m.ex, m.shared, n)
	require.Equal(t, stopTurn, m.s.stop)
	require.EqualValues(t, 1+sampleCalls, m.stat("").Commands)
	require.NoError(t, m.Settle())
	require.Equal(t, strings.Repeat("+PONG\r\n", 1000), string(m.Output()))
}
