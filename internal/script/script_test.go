package script

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	s, err := Parse("x.txt", strings.Join([]string{
		"# A comment.",
		"@local it shows everything",
		"@resp 3",
		"",
		`> SET a "x\r\n"*2`,
		"OK",
		"@clock +1500",
		"@client b",
		"@since 7.2",
		"> GET a",
		"> GET 'it''s'",
	}[:10], "\n")+"\n\"x\"\n@reopen\n@raw\n> \"PING\\r\\n\"\nPONG\n> QUIT\nOK\n@closed\n")
	require.NoError(t, err)
	require.Equal(t, "it shows everything", s.Local)
	require.Equal(t, 3, s.Resp)
	var kinds []Kind
	for _, st := range s.Steps {
		kinds = append(kinds, st.Kind)
	}
	require.Equal(t, []Kind{Send, Advance, Send, Reopen, Send, Send, Closed}, kinds)
	require.Equal(t, "x\r\nx\r\n", string(s.Steps[0].Commands[0].Args[2]))
	require.Equal(t, "main", s.Steps[0].Client)
	require.EqualValues(t, 1500, s.Steps[1].Milli)
	require.Equal(t, "b", s.Steps[2].Client)
	require.Equal(t, "7.2", s.Steps[2].Since)
	require.Equal(t, 10, s.Steps[2].Commands[0].Line)
	require.Equal(t, "PING\r\n", string(s.Steps[4].Commands[0].AppendTo(nil)))
	require.Equal(t, "*1\r\n$4\r\nQUIT\r\n", string(s.Steps[5].Commands[0].AppendTo(nil)))
}

func TestParsePipeline(t *testing.T) {
	s, err := Parse("x.txt", "> INCR a\n> LRANGE\n> GET a\n1\n\n[\"a\"\n  [1 2]\n]\n2: nil\n3: {}\n")
	require.NoError(t, err)
	require.Len(t, s.Steps, 1)
	c := s.Steps[0].Commands
	require.Len(t, c, 3)
	require.Equal(t, "1", c[0].Want(2).String())
	require.Equal(t, wantArray, c[1].Want(3).form)
	require.Equal(t, wantNil, c[2].Want(2).form)
	require.Equal(t, wantMap, c[2].Want(3).form)
}

// TestParseRefuses: a slip in a script must not make a check disappear.
func TestParseRefuses(t *testing.T) {
	f := func(text, reason string) {
		t.Helper()
		_, err := Parse("x.txt", text)
		require.ErrorContains(t, err, "x.txt")
		require.ErrorContains(t, err, reason)
	}
	f("", "without steps")
	f("OK\n", "reply without a command")
	f("> GET a\n", "without its reply")
	f("> GET a\n\n> GET b\nnil\n", "without its reply")
	f("> GET a\nnil\nnil\n", "x.txt:3: more replies than commands")
	f("> GET \"a\nnil\n", "not closed")
	f("> GET \"a\"b\nnil\n", "no space")
	f("> GET a\n[1\n", "] is missing")
	f("> GET a\n{1}\n", "odd number")
	f("> GET a\n[... 1]\n", "cannot stand here")
	f("> GET a\n(nil)\n", "no reply")
	f("> GET a\n/(/\n", "missing closing )")
	f("> GET a\n/a\n", "closing slash")
	f("> GET a\n5..4\n", "empty range")
	f("> GET a\n2: nil\n", "2: without 3:")
	f("> GET a\nnil\n@local late\n", "before the first command")
	f("@local\n> GET a\nnil\n", "argument is missing")
	f("@nonsense x\n> GET a\nnil\n", "unknown directive")
	f("@reopen\n> GET a\nnil\n", "needs @local")
	f("@clock +5000\n> GET a\nnil\n", "needs @local")
	f("@clock 50\n> GET a\nnil\n", "+milliseconds")
	f("> GET a\nnil\n@since 7.2\n", "without a step")
	f("@raw\n> PING PONG\nPONG\n", "one quoted string")
}

func readOne(t *testing.T, wire string) Reply {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(wire))
	rep, err := ReadReply(r)
	require.NoError(t, err)
	require.Zero(t, r.Buffered(), "bytes left of %q", wire)
	return rep
}

func TestMatch(t *testing.T) {
	f := func(want, wire2, wire3 string, others ...string) {
		t.Helper()
		s, err := Parse("x.txt", "> X\n"+want+"\n")
		require.NoError(t, err)
		c := s.Steps[0].Commands[0]
		require.NoError(t, c.Want(2).Match(readOne(t, wire2), 2))
		require.NoError(t, c.Want(3).Match(readOne(t, wire3), 3))
		if wire2 != wire3 && wire2 != ":1\r\n" {
			require.Error(t, c.Want(3).Match(readOne(t, wire2), 3), "the form of RESP2 in RESP3")
		}
		for _, o := range append(others, "-ERR other\r\n", ":99\r\n", "$5\r\nother\r\n", "+other\r\n", "*1\r\n:7\r\n", "$-1\r\n", "*-1\r\n") {
			if o != wire2 {
				require.Error(t, c.Want(2).Match(readOne(t, o), 2), "%s against %q", want, o)
			}
		}
	}
	f("OK", "+OK\r\n", "+OK\r\n", "$2\r\nOK\r\n")
	f("+Background saving", "+Background saving\r\n", "+Background saving\r\n")
	f("-ERR no such key", "-ERR no such key\r\n", "-ERR no such key\r\n", "-ERR no such key.\r\n")
	f(`-/ERR .*key/`, "-ERR no such key\r\n", "-ERR no such key\r\n", "-ERR no such keys\r\n")
	f("-2", ":-2\r\n", ":-2\r\n", ":2\r\n", "$2\r\n-2\r\n")
	f("90..98", ":90\r\n", ":90\r\n", ":89\r\n")
	f(`"a\x00b"`, "$3\r\na\x00b\r\n", "$3\r\na\x00b\r\n", "+a\r\n")
	f(`""`, "$0\r\n\r\n", "$0\r\n\r\n")
	f("nil", "$-1\r\n", "_\r\n")
	f("nil[]", "*-1\r\n", "_\r\n")
	f(`["a" 1 ["b"] nil]`, "*4\r\n$1\r\na\r\n:1\r\n*1\r\n$1\r\nb\r\n$-1\r\n", "*4\r\n$1\r\na\r\n:1\r\n*1\r\n$1\r\nb\r\n_\r\n")
	f(`{"a" 1}`, "*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n$1\r\na\r\n:1\r\n", "*2\r\n$1\r\na\r\n:2\r\n")
	f(`~["a" "b"]`, "*2\r\n$1\r\nb\r\n$1\r\na\r\n", "~2\r\n$1\r\na\r\n$1\r\nb\r\n", "*2\r\n$1\r\na\r\n$1\r\na\r\n")
	f(`any-order[1 2]`, "*2\r\n:2\r\n:1\r\n", "*2\r\n:2\r\n:1\r\n", "*1\r\n:1\r\n", "*3\r\n:1\r\n:2\r\n:2\r\n")
	f(`[1 ...]`, "*1\r\n:1\r\n", "*1\r\n:1\r\n", "*0\r\n")
	f(`push["a"]`, "*1\r\n$1\r\na\r\n", ">1\r\n$1\r\na\r\n")
	f("1.5d", "$3\r\n1.5\r\n", ",1.5\r\n")
	f("#t", ":1\r\n", "#t\r\n", ":0\r\n")
	f(`txt:"a\n"`, "$2\r\na\n\r\n", "=6\r\ntxt:a\n\r\n")
	f(`/a.*/`, "$3\r\na\nb\r\n", "$3\r\na\nb\r\n", "$3\r\nba\n\r\n")
	f(`txt:/a.+/`, "$2\r\na\n\r\n", "=6\r\ntxt:a\n\r\n", "$1\r\na\r\n")
	f(`[-"ERR a" OK]`, "*2\r\n-ERR a\r\n+OK\r\n", "*2\r\n-ERR a\r\n+OK\r\n")
}

func TestAnythingIsNoError(t *testing.T) {
	s, err := Parse("x.txt", "> X\n*\n")
	require.NoError(t, err)
	w := s.Steps[0].Commands[0].Want(2)
	require.NoError(t, w.Match(readOne(t, "$-1\r\n"), 2))
	require.NoError(t, w.Match(readOne(t, "+OK\r\n"), 2))
	require.Error(t, w.Match(readOne(t, "-ERR\r\n"), 2))
}

func TestReadReplyRefuses(t *testing.T) {
	for _, wire := range []string{"", "+OK", "+OK\n", "?1\r\n", "$2\r\nabc\r\n", "$-2\r\n", "*x\r\n", "*2\r\n:1\r\n", "$99999999999\r\n"} {
		_, err := ReadReply(bufio.NewReader(strings.NewReader(wire)))
		require.Error(t, err, "%q", wire)
	}
}

func TestReplyString(t *testing.T) {
	f := func(wire, want string) {
		t.Helper()
		require.Equal(t, want, readOne(t, wire).String())
	}
	f("%1\r\n$1\r\na\r\n*2\r\n:1\r\n_\r\n", `{"a" [1 nil]}`)
	f("=6\r\ntxt:a\n\r\n", `txt:"a\n"`)
	f("$4\r\n\x00\xff\"\\\r\n", `"\x00\xff\"\\"`)
	f("~1\r\n#t\r\n", "~[#t]")
	f("*-1\r\n", "nil[]")
	f(",1.5\r\n", "1.5d")
}
