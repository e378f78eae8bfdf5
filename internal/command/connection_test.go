package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPingAndEcho(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "PONG", h.reply("PING"))
	require.Equal(t, "a\r\nb", h.reply("PING", "a\r\nb"))
	require.Equal(t, replyError("ERR wrong number of arguments for 'ping' command"), h.reply("PING", "a", "b"))
	require.Equal(t, "", h.reply("ECHO", ""))
}

func TestSelect(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host()
	for index, want := range map[string]any{
		"15": "OK", "0": "OK",
		"16": replyError("ERR DB index is out of range"), "-1": replyError("ERR DB index is out of range"),
		"a": replyError("ERR value is not an integer or out of range"), "99999999999999999999": replyError("ERR value is not an integer or out of range"),
		"99999999999": replyError("ERR value is out of range, value must between -2147483648 and 2147483647"),
	} {
		h.sess.DB = 3
		require.Equal(t, want, h.reply("SELECT", index), index)
		require.Equal(t, want == "OK", h.sess.DB != 3, index)
	}
}

func TestHello(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host()
	h.sess.Authenticated, h.sess.ID = true, 42
	hello := h.reply("HELLO")
	require.IsType(t, []any{}, hello)
	require.Equal(t, int64(2), at(hello, "proto"))

	hello = h.reply("HELLO", "3", "SETNAME", "me")
	require.IsType(t, replyMap{}, hello, "the reply is in the new protocol already")
	require.Equal(t, replyMap{
		"server", "redis", "version", RedisVersion, "proto", int64(3), "id", int64(42),
		"mode", "standalone", "role", "master", "modules", []any{},
	}, hello)
	require.Equal(t, "me", h.sess.Name)
	require.Equal(t, 3, h.sess.Proto)
	require.IsType(t, []any{}, h.reply("HELLO", "2", "setname", ""))
	require.Empty(t, h.sess.Name)
}

// TestHelloIsAllOrNothing: what fails changes neither protocol, name nor user.
func TestHelloIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"NOPROTO unsupported protocol version", []string{"4"}},
		{"NOPROTO unsupported protocol version", []string{"1", "rubbish"}},
		{"ERR Protocol version is not an integer or out of range", []string{"x"}},
		{"ERR Syntax error in HELLO option 'foo'", []string{"3", "SETNAME", "new", "foo"}},
		{"ERR Syntax error in HELLO option 'AUTH'", []string{"3", "AUTH", "default"}},
		{"ERR Syntax error in HELLO option 'SETNAME'", []string{"3", "SETNAME"}},
		{"ERR Client names cannot contain spaces, newlines or special characters.", []string{"3", "AUTH", "default", "pw", "SETNAME", "a b"}},
		{"WRONGPASS invalid username-password pair or user is disabled.", []string{"3", "AUTH", "default", "no", "SETNAME", "new"}},
		{"WRONGPASS invalid username-password pair or user is disabled.", []string{"3", "AUTH", "other", "pw"}},
		{string(errHelloNoAuth), []string{"3", "SETNAME", "new"}},
		{string(errHelloNoAuth), nil},
	} {
		h := newHarness(t)
		h.host().password = "pw"
		h.sess.Name = "old"
		require.Equal(t, replyError(c.want), h.reply(append([]string{"HELLO"}, c.args...)...), "%q", c.args)
		require.Equal(t, Session{Name: "old", Proto: 2}, h.sess, "%q", c.args)
		require.NotEqual(t, 3, h.out.Proto)
	}
	h := newHarness(t)
	h.host().password = "pw"
	require.IsType(t, replyMap{}, h.reply("HELLO", "3", "auth", "default", "pw"))
	require.True(t, h.sess.Authenticated)
}

func TestAuth(t *testing.T) {
	t.Parallel()
	f := func(password string, before, after bool, want any, args ...string) {
		t.Helper()
		h := newHarness(t)
		h.host().password = password
		h.sess.Authenticated = before
		require.Equal(t, want, h.reply(append([]string{"AUTH"}, args...)...))
		require.Equal(t, after, h.sess.Authenticated)
	}
	wrong := replyError(errWrongPass)
	f("pw", false, true, "OK", "pw")
	f("pw", false, true, "OK", "default", "pw")
	f("pw", false, false, wrong, "no")
	f("pw", false, false, wrong, "")
	f("pw", false, false, wrong, "default", "no")
	f("pw", false, false, wrong, "other", "pw")
	f("pw", true, true, wrong, "no") // a failure takes nothing away
	f("", true, true, replyError(errNoPass), "x")
	f("", true, true, "OK", "default", "x")
	f("", true, true, wrong, "other", "x")
	f("pw", false, false, replyError("ERR syntax error"), "a", "b", "c")
}

func TestReset(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().password = "pw"
	h.sess = Session{ID: 5, LibName: "lib", LibVer: "1", Name: "me", DB: 3, User: "default", Authenticated: true,
		Reply: ReplyOff, NoEvict: true, NoTouch: true, Proto: 3, LastWrite: 9}
	require.Equal(t, "RESET", h.reply("RESET"))
	require.Equal(t, Session{ID: 5, LibName: "lib", LibVer: "1", User: "default", Proto: 2, LastWrite: 9}, h.sess)
	require.Equal(t, 2, h.out.Proto)

	h.host() // without a password nobody is left out
	require.Equal(t, "RESET", h.reply("RESET"))
	require.True(t, h.sess.Authenticated)
}

func TestQuit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "OK", h.reply("QUIT", "whatever"))
	require.True(t, h.sess.CloseAfter)
}

func TestClientNames(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, replyNull{}, h.reply("CLIENT", "GETNAME"))
	require.Equal(t, "OK", h.reply("CLIENT", "SETNAME", "me!"))
	require.Equal(t, "me!", h.reply("CLIENT", "GETNAME"))
	for _, bad := range []string{"a b", "a\n", "\x00", "é", "a\x7f"} {
		require.Equal(t, replyError(errClientName), h.reply("CLIENT", "SETNAME", bad), "%q", bad)
		require.Equal(t, "me!", h.sess.Name)
	}
	long := strings.Repeat("n", maxNameBytes)
	require.Equal(t, "OK", h.reply("CLIENT", "SETNAME", long))
	require.Equal(t, replyError(errLongName), h.reply("CLIENT", "SETNAME", long+"n"))
	require.Equal(t, replyError(errLongName), h.reply("CLIENT", "SETINFO", "LIB-VER", long+"n"))
	require.Equal(t, replyError(errLongName), h.reply("HELLO", "2", "SETNAME", long+"n"))
	require.Equal(t, "OK", h.reply("CLIENT", "SETNAME", ""))
	h.proto(3)
	require.Equal(t, replyNull{}, h.reply("CLIENT", "GETNAME"))
	require.Equal(t, "_\r\n", string(h.out.Buf))
}

func TestClientSetInfo(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "OK", h.reply("CLIENT", "SETINFO", "Lib-Name", "go(1)"))
	require.Equal(t, "OK", h.reply("CLIENT", "SETINFO", "LIB-VER", "1.2"))
	require.Equal(t, replyError("ERR Unrecognized option 'foo'"), h.reply("CLIENT", "SETINFO", "foo", "x"))
	require.Equal(t, replyError("ERR lib-ver cannot contain spaces, newlines or special characters."),
		h.reply("CLIENT", "SETINFO", "lib-ver", "1 2"))
	require.Equal(t, "go(1) 1.2", h.sess.LibName+" "+h.sess.LibVer)
	require.Equal(t, "OK", h.reply("CLIENT", "SETINFO", "LIB-NAME", ""))
	require.Empty(t, h.sess.LibName)
}

func TestClientSwitches(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Equal(t, "OK", h.reply("CLIENT", "NO-EVICT", "ON"))
	require.Equal(t, "OK", h.reply("CLIENT", "NO-TOUCH", "on"))
	require.True(t, h.sess.NoEvict && h.sess.NoTouch)
	require.Equal(t, replyError("ERR syntax error"), h.reply("CLIENT", "NO-EVICT", "x"))
	require.Equal(t, replyError("ERR syntax error"), h.reply("CLIENT", "NO-TOUCH", "x"))
	require.True(t, h.sess.NoEvict && h.sess.NoTouch)
	require.Equal(t, "OK", h.reply("CLIENT", "NO-EVICT", "off"))
	require.Equal(t, "OK", h.reply("CLIENT", "NO-TOUCH", "OFF"))
	require.False(t, h.sess.NoEvict || h.sess.NoTouch)
}

func TestClientReply(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Nil(t, h.reply("CLIENT", "REPLY", "SKIP"))
	require.Equal(t, ReplySkipNext, h.sess.Reply)
	require.Nil(t, h.reply("CLIENT", "REPLY", "OFF"))
	require.Nil(t, h.reply("CLIENT", "REPLY", "SKIP"))
	require.Equal(t, ReplyOff, h.sess.Reply, "SKIP doesn't turn replies on after the next")
	require.Equal(t, "OK", h.reply("CLIENT", "REPLY", "ON"))
	require.Equal(t, ReplyOn, h.sess.Reply)
	require.Equal(t, replyError("ERR syntax error"), h.reply("CLIENT", "REPLY", "MAYBE"))
}

func TestClientUnblock(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	require.Equal(t, int64(1), h.reply("CLIENT", "UNBLOCK", "7"))
	require.False(t, host.withError)
	require.Equal(t, int64(0), h.reply("CLIENT", "UNBLOCK", "8", "ERROR"))
	require.True(t, host.withError)
	require.Equal(t, int64(1), h.reply("CLIENT", "UNBLOCK", "7", "timeout"))
	require.False(t, host.withError)
	require.Equal(t, []int64{7, 8, 7}, host.unblocked)
	require.Equal(t, replyError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"), h.reply("CLIENT", "UNBLOCK", "x", "y"))
	require.Equal(t, replyError("ERR value is not an integer or out of range"), h.reply("CLIENT", "UNBLOCK", "x"))
	require.Equal(t, replyError("ERR syntax error"), h.reply("CLIENT", "UNBLOCK", "1", "ERROR", "z"))
	require.Len(t, host.unblocked, 3)
}

// threeClients are connections 1, 2 and 3; the harness is 2.
func threeClients(h *harness) *fakeHost {
	f := h.host()
	h.sess.ID = 2
	for id := int64(1); id <= 3; id++ {
		f.clients = append(f.clients, ClientInfo{
			ID: id, Addr: "10.0.0.1:" + strings.Repeat("1", int(id)), LAddr: "10.0.0.9:6379", FD: 7, Flags: "N",
			Cmd: "get", User: "default", Resp: 2, Type: "normal", AgeSec: 10 * id,
		})
	}
	return f
}

func TestClientLine(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	f := threeClients(h)
	f.clients[1] = ClientInfo{ID: 2, Addr: "1.2.3.4:5", LAddr: "[::1]:6", FD: 8, Name: "n", AgeSec: 9, IdleSec: 1, Flags: "N",
		DB: 4, QBuf: 26, QBufFree: 20448, ArgvMem: 10, OBL: 1, OLL: 2, OMem: 3, TotMem: 22298, Cmd: "client|info",
		User: "default", Resp: 3, LibName: "l", LibVer: "v", NoEvict: true, NoTouch: true, Blocked: true, Type: "normal"}
	const want = "id=2 addr=1.2.3.4:5 laddr=[::1]:6 fd=8 name=n age=9 idle=1 flags=beT db=4 sub=0 psub=0 ssub=0 multi=-1 " +
		"qbuf=26 qbuf-free=20448 argv-mem=10 multi-mem=0 rbs=3 rbp=3 obl=1 oll=2 omem=3 tot-mem=22298 events=rw " +
		"cmd=client|info user=default redir=-1 resp=3 lib-name=l lib-ver=v\n"
	require.Equal(t, want, h.reply("CLIENT", "INFO"))
	h.proto(3)
	require.Equal(t, verbatim(want), h.reply("CLIENT", "INFO"))
	require.Contains(t, h.reply("CLIENT", "LIST"), want)
}

// TestClientLineHasRedisFields compares the names and their order.
func TestClientLineHasRedisFields(t *testing.T) {
	t.Parallel()
	ask := startRedis(t)
	names := func(line string) (names []string) {
		for field := range strings.FieldsSeq(line) {
			name, _, _ := strings.Cut(field, "=")
			names = append(names, name)
		}
		return names
	}
	h := newHarness(t)
	threeClients(h)
	ours := names(h.reply("CLIENT", "INFO").(string))
	require.Equal(t, append(names(ask("CLIENT", "INFO")), "lib-name", "lib-ver"), ours, "the last two are new in 7.2")
}

func TestClientList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	threeClients(h)
	ids := func(args ...string) (ids string) {
		t.Helper()
		text := h.reply(append([]string{"CLIENT", "LIST"}, args...)...).(string)
		for line := range strings.Lines(text) {
			require.True(t, strings.HasSuffix(line, "\n"))
			ids += line[len("id="):strings.IndexByte(line, ' ')]
		}
		return ids
	}
	require.Equal(t, "123", ids())
	require.Equal(t, "123", ids("TYPE", "Normal"))
	require.Equal(t, "", ids("type", "slave"))
	require.Equal(t, "", ids("type", "pubsub"))
	require.Equal(t, "13", ids("ID", "3", "1", "99"))
	for want, args := range map[string][]string{
		"ERR Unknown client type 'x'": {"TYPE", "x"},
		"ERR Invalid client ID":       {"ID", "1", "x"},
	} {
		require.Equal(t, replyError(want), h.reply(append([]string{"CLIENT", "LIST"}, args...)...))
	}
	for _, args := range [][]string{{"foo"}, {"TYPE"}, {"ID"}, {"TYPE", "normal", "ID", "1"}} {
		require.Equal(t, replyError("ERR syntax error"), h.reply(append([]string{"CLIENT", "LIST"}, args...)...), "%q", args)
	}
}

func TestClientKill(t *testing.T) {
	t.Parallel()
	f := func(want any, killed []int64, self bool, args ...string) {
		t.Helper()
		h := newHarness(t)
		host := threeClients(h)
		require.Equal(t, want, h.reply(append([]string{"CLIENT", "KILL"}, args...)...))
		require.Equal(t, killed, host.killed)
		require.Equal(t, self, h.sess.CloseAfter)
	}
	// The old form may hit its own connection.
	f("OK", []int64{1}, false, "10.0.0.1:1")
	f("OK", nil, true, "10.0.0.1:11")
	f(replyError("ERR No such client"), nil, false, "10.0.0.1:9")
	f(replyError("ERR No such client"), nil, false, "")

	f(int64(2), []int64{1, 3}, false, "TYPE", "normal")
	f(int64(3), []int64{1, 3}, true, "TYPE", "normal", "SKIPME", "no")
	f(int64(2), []int64{1, 3}, false, "SKIPME", "YES")
	f(int64(1), []int64{3}, false, "ID", "3")
	f(int64(0), nil, false, "ID", "2")
	f(int64(1), nil, true, "ID", "2", "SKIPME", "NO")
	f(int64(1), []int64{3}, false, "addr", "10.0.0.1:111", "laddr", "10.0.0.9:6379")
	f(int64(0), nil, false, "addr", "")
	f(int64(0), nil, false, "laddr", "x", "user", "default")
	f(int64(1), []int64{3}, false, "maxage", "25")
	f(int64(2), []int64{1, 3}, false, "user", "default", "maxage", "10")
	f(int64(0), nil, false, "type", "master")

	f(replyError("ERR client-id should be greater than 0"), nil, false, "ID", "x")
	f(replyError("ERR client-id should be greater than 0"), nil, false, "ID", "0")
	f(replyError("ERR maxage is not an integer or out of range"), nil, false, "MAXAGE", "x")
	f(replyError("ERR maxage should be greater than 0"), nil, false, "MAXAGE", "0")
	f(replyError("ERR Unknown client type 'x'"), nil, false, "TYPE", "x")
	f(replyError("ERR No such user 'x'"), nil, false, "USER", "x")
	f(replyError("ERR syntax error"), nil, false, "SKIPME", "maybe")
	f(replyError("ERR syntax error"), nil, false, "USER", "default", "ID")
	f(replyError("ERR syntax error"), nil, false, "foo", "bar")
}
