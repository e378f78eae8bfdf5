package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// (I5) in memory: Feed runs without a commit, so whatever Output gives after
// it left before anything more was durable.

func TestNoReplyBeforeDurable(t *testing.T) {
	l := newLab(t)
	writer, reader := l.session(), l.session()
	require.Equal(t, "+OK\r\n", writer.do("SET", "old", "0"))
	require.Contains(t, writer.do("IDEM", "op", "BEGIN", "fp", "me", "60000"), "acquired")

	for _, c := range []struct {
		name, write, read, reply string
	}{
		{"own write", "SET v 1\r\n", "SET w 1\r\n", "+OK\r\n"},
		{"GET of another's write", "SET a 1\r\n", "GET a\r\n", "$1\r\n1\r\n"},
		{"SET NX that fails", "SET b 1\r\n", "SET b 2 NX\r\n", "$-1\r\n"},
		{"EXISTS of a deleted key", "DEL old\r\n", "EXISTS old\r\n", ":0\r\n"},
		{"DEL of nothing", "SET c 1\r\nDEL c\r\n", "DEL c\r\n", ":0\r\n"},
		{"IDEM pending", "IDEM p BEGIN fp me 60000\r\n", "IDEM p BEGIN fp me 60000\r\n", "*1\r\n$7\r\npending\r\n"},
		{"IDEM conflict", "IDEM q BEGIN fp me 60000\r\n", "IDEM q BEGIN no me 60000\r\n", "*1\r\n$8\r\nconflict\r\n"},
		{"IDEM completed", "IDEM op COMPLETE fp me done\r\n", "IDEM op BEGIN fp you 60000\r\n", "*2\r\n$9\r\ncompleted\r\n$4\r\ndone\r\n"},
		{"identical COMPLETE", "IDEM r BEGIN fp me 60000\r\nIDEM r COMPLETE fp me done\r\n", "IDEM r COMPLETE fp me done\r\n", ":1\r\n"},
		{"refused COMPLETE", "IDEM s BEGIN fp me 60000\r\n", "IDEM s COMPLETE fp you done\r\n", ":0\r\n"},
		{"TTL of another's EXPIRE", "SET d 1 PX 5000\r\n", "PTTL d\r\n", ":5000\r\n"},
		{"ONCE that comes second", "ONCE e 5000\r\n", "ONCE e 5000\r\n", ":0\r\n"},
		{"MGET with one such key", "SET f 1\r\n", "MGET none f\r\n", "*2\r\n$-1\r\n$1\r\n1\r\n"},
		{"key expired a moment ago", "SET g 1 PX 1\r\n@", "GET g\r\n", "$-1\r\n"},
		{"DBSIZE", "FLUSHALL\r\n", "DBSIZE\r\n", ":0\r\n"},
		{"KEYS", "SET h 1\r\n", "KEYS *\r\n", "*1\r\n$1\r\nh\r\n"},
		{"SCAN", "SET h 2\r\n", "SCAN 0 COUNT 1000\r\n", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nh\r\n"},
		{"RANDOMKEY", "SET h 3\r\n", "RANDOMKEY\r\n", "$1\r\nh\r\n"},
	} {
		w, pass := strings.CutSuffix(c.write, "@")
		if pass { // the write is durable, the expiry that the reader sees is not
			writer.ask(w)
			l.clock.AdvanceMilli(10)
		} else {
			writer.feed(w)
		}
		durable := l.eng.Durable()
		reader.feed(c.read)
		require.Greater(t, l.eng.Last(), durable, c.name)
		require.Empty(t, string(reader.Output()), c.name)
		require.NotZero(t, reader.Held(), c.name)
		require.Equal(t, durable, l.eng.Durable(), "a read does not make durable: %s", c.name)
		require.NoError(t, reader.Settle(), c.name)
		require.Equal(t, c.reply, string(reader.Output()), c.name)
		require.NoError(t, writer.Settle(), c.name)
		writer.Output()
	}
}

// What observed nothing that waits leaves at once, whatever others write.
func TestOtherSlotsDoNotWait(t *testing.T) {
	l := newLab(t)
	writer, reader := l.session(), l.session()
	reader.do("SET", "mine", "1")
	writer.feed("SET theirs 1\r\n")
	reader.feed("GET mine\r\nPING\r\nECHO x\r\nGET none\r\n")
	require.Equal(t, "$1\r\n1\r\n+PONG\r\n$1\r\nx\r\n$-1\r\n", string(reader.Output()))
	require.Empty(t, string(writer.Output()))
}

// A client that never pauses gets the replies of which enough is durable.
func TestRepliesOfOlderWritesLeaveFirst(t *testing.T) {
	l := newLab(t)
	a, b := l.session(), l.session()
	a.feed("SET a 1\r\n")
	require.Empty(t, string(a.Output()))
	require.NoError(t, b.Settle()) // nothing of b's own to commit
	b.ask("SET b 1\r\n")           // commits a's write too
	a.feed("INCR a\r\n")
	require.Equal(t, "+OK\r\n", string(a.Output()))
	require.NoError(t, a.Settle())
	require.Equal(t, ":2\r\n", string(a.Output()))
}

// A command that may not be grouped runs only when all before it is durable.
func TestBarrierCommandWaits(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.feed("SET a 1\r\nDBSIZE\r\nSET a 2\r\n")
	require.EqualValues(t, 1, m.stat("").Commands)
	require.Equal(t, "$1\r\n1\r\n", l.session().do("GET", "a"), "what follows waits with it")
	require.NoError(t, m.Settle())
	require.Equal(t, "+OK\r\n:1\r\n+OK\r\n", string(m.Output()))
}

func TestMutedWriteHoldsTheBarrierToo(t *testing.T) {
	l := newLab(t)
	m := l.session()
	m.feed("CLIENT REPLY OFF\r\nSET a 1\r\nCLIENT REPLY ON\r\n")
	require.EqualValues(t, 2, m.stat("").Commands)
	require.NoError(t, m.Settle())
	require.Equal(t, "+OK\r\n", string(m.Output()))
	require.Equal(t, l.eng.Last(), l.eng.Durable())
}

// (I8) in memory.
func TestPoisonReleasesNoReply(t *testing.T) {
	l := newLab(t)
	writer, reader := l.session(), l.session()
	reader.do("SET", "mine", "1")
	l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Err: errDisk, Sticky: true})
	writer.feed("SET a 1\r\n")
	reader.feed("GET a\r\n")
	require.ErrorIs(t, writer.Settle(), errDisk)
	require.Empty(t, string(writer.Output()))
	require.Error(t, reader.Settle())
	require.Empty(t, string(reader.Output()))
	require.ErrorIs(t, l.srv.failure.Load().err, errDisk)
}

// Under everysec and no a reply waits for the kernel, not for the disk.
func TestWeakPoliciesDoNotWaitForSync(t *testing.T) {
	for _, p := range []wal.Policy{wal.EverySec, wal.Never} {
		l := newLab(t, tuned(func(t *Tunables) { t.Fsync = p }))
		l.srv.watchLog(l.eng.Log())
		m := l.session()
		m.feed("SET a 1\r\n")
		require.Empty(t, string(m.Output()), "not even the kernel has it")
		require.NoError(t, m.Settle())
		require.Equal(t, "+OK\r\n", string(m.Output()))
	}
}

func TestMemoryOnlyNeverWaits(t *testing.T) {
	m := newLab(t, inMemory).session()
	m.feed("SET a 1\r\nDBSIZE\r\nGET a\r\n")
	require.NoError(t, m.Settle())
	require.Equal(t, "+OK\r\n:1\r\n$1\r\n1\r\n", string(m.Output()))
}

// TestEligibleCommands pins which commands run while earlier replies wait.
// Adding one means a review: does it block, can it fail after a write, does
// its reply keep its place? Then add it to the file.
func TestEligibleCommands(t *testing.T) {
	require.Equal(t, eligibleNames(pathLoop), eligibleNames(pathGoroutine))
	require.Equal(t, eligibleNames(pathLoop), eligibleNames(pathMemory))
	var b strings.Builder
	for _, name := range eligibleNames(pathLoop) {
		fmt.Fprintln(&b, name)
	}
	golden, err := os.ReadFile("testdata/eligible.golden")
	require.NoError(t, err)
	require.Equal(t, string(golden), b.String())
}

func TestNothingElseIsEligible(t *testing.T) {
	require.Empty(t, eligibleNames(pathNone), "a path that nobody reviewed")
	require.False(t, eligible(&command.Command{}, pathLoop, &command.Session{}), "a row that nobody reviewed")
	get := command.Lookup([]byte("get"))
	require.True(t, eligible(get, pathLoop, &command.Session{}))
	require.False(t, eligible(get, pathLoop, &command.Session{CloseAfter: true}))
}

func eligibleNames(path execPath) []string {
	var names []string
	var walk func(cmds []*command.Command)
	walk = func(cmds []*command.Command) {
		for _, c := range cmds {
			if eligible(c, path, &command.Session{}) {
				names = append(names, c.FullName())
			}
			for i := range c.Sub {
				walk([]*command.Command{&c.Sub[i]})
			}
		}
	}
	walk(command.All())
	return names
}
