package script

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is a target that answers each command from a table and remembers what
// it was sent.
type fake struct {
	answers map[string]string
	seen    []string
	dials   int
	reopens int
	milli   int64
}

func (f *fake) Dial() (Conn, error)       { f.dials++; return &fakeConn{f: f}, nil }
func (f *fake) Advance(milli int64) error { f.milli += milli; return nil }
func (f *fake) Reopen() error             { f.reopens++; return nil }
func (f *fake) run(t *testing.T, script string, r Runner) error {
	t.Helper()
	s, err := Parse("x.txt", script)
	require.NoError(t, err)
	r.Target = f
	if r.Proto == 0 {
		r.Proto = 2
	}
	return r.Run(s)
}

type fakeConn struct {
	f   *fake
	out bytes.Buffer
	end bool
}

func (c *fakeConn) Send(b []byte) error {
	if c.end {
		return nil // a closed socket swallows the first write
	}
	r := bufio.NewReader(bytes.NewReader(b))
	for {
		req, err := ReadReply(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var words []string
		for _, it := range req.Items {
			words = append(words, string(it.Text))
		}
		cmd := strings.Join(words, " ")
		c.f.seen = append(c.f.seen, cmd)
		switch answer, ok := c.f.answers[cmd]; {
		case ok:
			c.out.WriteString(answer)
		case words[0] == "ECHO":
			c.out.WriteString("+" + strings.Join(words[1:], " ") + "\r\n")
		default:
			c.out.WriteString("+OK\r\n")
		}
		c.end = c.end || words[0] == "QUIT"
	}
}

func (c *fakeConn) Receive() (Reply, error) {
	if c.out.Len() == 0 && c.end {
		return Reply{}, io.EOF
	}
	if c.out.Len() == 0 {
		return Reply{}, ErrNoReply
	}
	line, _ := c.out.ReadString('\n')
	return ReadReply(bufio.NewReader(strings.NewReader(line)))
}

func (c *fakeConn) Close() error { return nil }

// TestRunnerRestores: a connection that a crash took comes back in the state
// the script had brought it to.
func TestRunnerRestores(t *testing.T) {
	f := &fake{answers: map[string]string{"SELECT 99": "-ERR\r\n"}}
	err := f.run(t, "> SELECT 3\nOK\n> SELECT 99\n-ERR\n> CLIENT SETNAME me\nOK\n> GET a\nOK\n", Runner{
		Proto: 3,
		Crash: func() error { return nil },
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"HELLO 3", "SELECT 3",
		"HELLO 3", "SELECT 3", "SELECT 99",
		"HELLO 3", "SELECT 3", "CLIENT SETNAME me",
		"HELLO 3", "SELECT 3", "CLIENT SETNAME me", "GET a",
	}, f.seen)
}

func TestRunnerReportsTheLine(t *testing.T) {
	f := &fake{answers: map[string]string{"GET b": ":1\r\n"}}
	err := f.run(t, "> GET a\nOK\n> GET a\n> GET b\nOK\n2\n", Runner{})
	require.ErrorContains(t, err, "x.txt:3: line 4: > GET b\nwant 2\n got 1")
}

func TestRunnerFindsWhatNobodyExpected(t *testing.T) {
	f := &fake{answers: map[string]string{"GET a": "+OK\r\n+OK\r\n"}}
	require.ErrorContains(t, f.run(t, "> GET a\nOK\n", Runner{}), "more than the script expects")
	require.ErrorContains(t, f.run(t, "> GET a\n> GET b\nsilence\nOK\n> GET c\nOK\n", Runner{}), "more than the script expects")
}

func TestRunnerSilence(t *testing.T) {
	f := &fake{answers: map[string]string{"CLIENT REPLY SKIP": "", "GET a": ""}}
	require.NoError(t, f.run(t, "> CLIENT REPLY SKIP\n> GET a\n> GET b\nsilence\nsilence\nOK\n", Runner{}))
	require.ErrorIs(t, f.run(t, "> GET a\nOK\n", Runner{}), ErrNoReply)
}

func TestRunnerClosed(t *testing.T) {
	f := &fake{}
	require.NoError(t, f.run(t, "> QUIT\nOK\n@closed\n> GET a\nOK\n", Runner{}))
	require.Equal(t, 2, f.dials)
	require.ErrorContains(t, f.run(t, "> GET a\nOK\n@closed\n", Runner{}), "want a closed connection")
	require.ErrorContains(t, f.run(t, "> QUIT\nOK\n", Runner{}), "connection main")
}

func TestRunnerSkipsForTheOracle(t *testing.T) {
	const text = "@since 7.2\n> NEW\nOK\n@skip-oracle it is not Redis\n> OURS\nOK\n> OLD\nOK\n"
	f := func(version string, want ...string) {
		t.Helper()
		target := &fake{}
		require.NoError(t, target.run(t, text, Runner{Oracle: version}))
		require.Equal(t, append(want, "ECHO the end of the script"), target.seen)
	}
	f("", "NEW", "OURS", "OLD")
	f("7.0.15", "OLD")
	f("7.2", "NEW", "OLD")
	f("7.10.1", "NEW", "OLD")
	f("6.9.9", "OLD")
}

func TestRunnerTimeAndReopen(t *testing.T) {
	f := &fake{}
	require.NoError(t, f.run(t, "@local x\n> GET a\nOK\n@clock +5000\n@reopen\n@clock +1\n> GET a\nOK\n", Runner{}))
	require.EqualValues(t, 5001, f.milli)
	require.Equal(t, 1, f.reopens)
	require.Equal(t, 2, f.dials)
}

func TestFollowHello(t *testing.T) {
	c := &client{proto: 2}
	c.follow([][]byte{[]byte("hello"), []byte("3"), []byte("AUTH"), []byte("u"), []byte("p"), []byte("SETNAME"), []byte("n")})
	require.Equal(t, client{proto: 3, name: "n"}, *c)
	c.follow([][]byte{[]byte("RESET")})
	require.Equal(t, client{proto: 2}, *c)
}
