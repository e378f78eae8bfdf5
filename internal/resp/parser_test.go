package resp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
)

// request is what a parser made of one request.
type request struct {
	Args []string
	Err  string
	Size int
}

// reader is a parser with the arguments of its last request.
type reader struct {
	resp.Parser
	args [][]byte
}

func (r *reader) Next(buf []byte) (n int, err error) {
	r.args, n, err = r.Parser.Next(r.args[:0], buf)
	return n, err
}

func (r *reader) Args() [][]byte { return r.args }

// parseAll gives data to a parser in pieces that end where cuts says, and
// returns every request up to the first error, as a connection would read it.
func parseAll(t testing.TB, limits resp.Limits, data []byte, cuts func(i int) bool) []request {
	t.Helper()
	p := resp.Parser{Limits: limits}
	var out []request
	var args [][]byte // of all requests
	defer func() {
		var all []string
		for i := range out {
			all = append(all, out[i].Args...)
		}
		require.Equal(t, strings.Join(all, "|"), strings.Join(texts(args), "|"), "a later request changed an earlier one's arguments")
	}()
	begin := 0
	for end := 1; end <= len(data); end++ {
		if end < len(data) && !cuts(end) {
			continue
		}
		for begin < end {
			// A copy each time: the bytes may move between calls, and the parser
			// may unquote within them.
			buf := append([]byte(nil), data[begin:end]...)
			from := len(args)
			var n int
			var err error
			args, n, err = p.Next(args, buf)
			if err != nil {
				require.Zero(t, n)
				require.Len(t, args, from)
				return append(out, request{Err: err.Error()})
			}
			if n == 0 {
				require.Len(t, args, from)
				checkWant(t, &p, len(buf))
				break
			}
			require.LessOrEqual(t, n, len(buf))
			require.False(t, p.InBulk())
			require.Zero(t, p.Want())
			out = append(out, request{Args: texts(args[from:]), Size: n})
			begin += n
		}
	}
	return out
}

// checkWant holds Want and InBulk to each other: in a bulk, the bytes it asks
// for are more than those that did not suffice.
func checkWant(t testing.TB, p *resp.Parser, have int) {
	t.Helper()
	if p.InBulk() {
		require.Greater(t, p.Want(), have)
		return
	}
	require.Zero(t, p.Want())
}

func texts(args [][]byte) []string {
	out := make([]string, 0, len(args))
	for _, a := range args {
		out = append(out, string(a))
	}
	return out
}

func inOnePiece(int) bool { return false }
func byteByByte(int) bool { return true }

// Each case is read in one piece and byte by byte; the answers are Redis's.
func TestParse(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for _, c := range []struct {
		name, in string
		want     []request
	}{
		{"array", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", []request{{Args: []string{"GET", "k"}, Size: 20}}},
		{"empty bulk", "*1\r\n$0\r\n\r\n", []request{{Args: []string{""}, Size: 10}}},
		{"binary", "*1\r\n$4\r\n\x00\r\n\xff\r\n", []request{{Args: []string{"\x00\r\n\xff"}, Size: 14}}},
		{"pipeline", "*1\r\n$1\r\na\r\nb\n*1\r\n$1\r\nc\r\n", []request{{Args: []string{"a"}, Size: 11}, {Args: []string{"b"}, Size: 2}, {Args: []string{"c"}, Size: 11}}},
		{"no request yet", "*1\r\n$4\r\nab", nil},
		{"count of none", "*0\r\nPING\r\n", []request{{Args: []string{}, Size: 4}, {Args: []string{"PING"}, Size: 6}}},
		{"count below none", "*-1\r\n*-9\r\n", []request{{Args: []string{}, Size: 5}, {Args: []string{}, Size: 5}}},
		{"line ends are not looked at", "*1\rX$1\rXaXX", []request{{Args: []string{"a"}, Size: 11}}},

		{"count with a plus", "*+1\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count with a zero before it", "*01\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count minus zero", "*-0\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count of nothing", "*\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count no number", "*x\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count with a space", "* 1\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count over 31 bits", "*2147483648\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count over 64 bits", "*99999999999999999999\r\n", []request{{Err: "Protocol error: invalid multibulk length"}}},
		{"count without end", "*" + long, []request{{Err: "Protocol error: too big mbulk count string"}}},

		{"bulk negative", "*1\r\n$-1\r\n", []request{{Err: "Protocol error: invalid bulk length"}}},
		{"bulk no number", "*1\r\n$a\r\n", []request{{Err: "Protocol error: invalid bulk length"}}},
		{"bulk of nothing", "*1\r\n$\r\n", []request{{Err: "Protocol error: invalid bulk length"}}},
		{"bulk over the limit", "*1\r\n$536870913\r\n", []request{{Err: "Protocol error: invalid bulk length"}}},
		{"bulk over 64 bits", "*1\r\n$9223372036854775808\r\n", []request{{Err: "Protocol error: invalid bulk length"}}},
		{"bulk not announced", "*1\r\nfoo\r\n", []request{{Err: "Protocol error: expected '$', got 'f'"}}},
		{"bulk an empty line", "*1\r\n\r\n", []request{{Err: "Protocol error: expected '$', got '\r'"}}},
		{"bulk length without end", "*1\r\n$" + long, []request{{Err: "Protocol error: too big bulk count string"}}},
		{"error after good ones", "PING\n*x\r\n", []request{{Args: []string{"PING"}, Size: 5}, {Err: "Protocol error: invalid multibulk length"}}},

		{"inline", "SET  k\t v \r\n", []request{{Args: []string{"SET", "k", "v"}, Size: 12}}},
		{"inline ended by LF", "PING\n", []request{{Args: []string{"PING"}, Size: 5}}},
		{"blank lines", "\r\n\n  \r\n", []request{{Args: []string{}, Size: 2}, {Args: []string{}, Size: 1}, {Args: []string{}, Size: 4}}},
		{"CR inside", "a\rb\n", []request{{Args: []string{"a", "b"}, Size: 4}}},
		{"vertical tab inside", "\va\vb\n", []request{{Args: []string{"a\vb"}, Size: 5}}},
		{"double quotes", `set "a b" "\x41\n\r\t\b\a\"\\\q\x4"` + "\n", []request{{Args: []string{"set", "a b", "A\n\r\t\b\a\"\\qx4"}, Size: 36}}},
		{"single quotes", `set 'a "b' 'it\'s\n'` + "\n", []request{{Args: []string{"set", `a "b`, `it's\n`}, Size: 21}}},
		{"empty in quotes", `a "" ''` + "\n", []request{{Args: []string{"a", "", ""}, Size: 8}}},
		{"quotes within a word", `a"b c" d` + "\n", []request{{Args: []string{"ab c", "d"}, Size: 9}}},
		{"quote left open", `"abc` + "\n", []request{{Err: "Protocol error: unbalanced quotes in request"}}},
		{"single quote left open", `a 'abc` + "\n", []request{{Err: "Protocol error: unbalanced quotes in request"}}},
		{"escape at the end", `"abc\` + "\n", []request{{Err: "Protocol error: unbalanced quotes in request"}}},
		{"something behind a quote", `"a"b` + "\n", []request{{Err: "Protocol error: unbalanced quotes in request"}}},
		{"inline at its limit", long + "\n", []request{{Args: []string{long}, Size: len(long) + 1}}},
		{"inline over its limit", long + "x\n", []request{{Err: "Protocol error: too big inline request"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, parseAll(t, resp.Limits{}, []byte(c.in), inOnePiece))
			if len(c.in) < 1000 {
				require.Equal(t, c.want, parseAll(t, resp.Limits{}, []byte(c.in), byteByByte))
			}
		})
	}
}

func TestLimits(t *testing.T) {
	unauthenticated := resp.Limits{Unauthenticated: true}
	for _, c := range []struct {
		name   string
		limits resp.Limits
		in     string
		want   string
	}{
		{"count before authentication", unauthenticated, "*11\r\n", "unauthenticated multibulk length"},
		{"bulk before authentication", unauthenticated, "*1\r\n$16385\r\n", "unauthenticated bulk length"},
		{"bulk over both limits", unauthenticated, "*1\r\n$536870913\r\n", "invalid bulk length"},
		{"count over both limits", unauthenticated, "*2147483648\r\n", "invalid multibulk length"},
		{"the caps given as limits", resp.Limits{MaxArgs: 10, MaxBulkBytes: 16384, Unauthenticated: true}, "*1\r\n$16385\r\n", "unauthenticated bulk length"},
		{"own bulk limit", resp.Limits{MaxBulkBytes: 1 << 20}, "*1\r\n$1048577\r\n", "invalid bulk length"},
		{"own count limit", resp.Limits{MaxArgs: 3}, "*4\r\n", "invalid multibulk length"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := []request{{Err: "Protocol error: " + c.want}}
			require.Equal(t, want, parseAll(t, c.limits, []byte(c.in), inOnePiece))
		})
	}

	within := "*10\r\n$16384\r\n" + strings.Repeat("a", 16384) + "\r\n" + strings.Repeat("$0\r\n\r\n", 9)
	require.Len(t, parseAll(t, unauthenticated, []byte(within), inOnePiece)[0].Args, 10)
}

func TestWantLeadsToTheEndOfTheBulk(t *testing.T) {
	var p reader
	n, err := p.Next([]byte("*2\r\n$1000\r\nab"))
	require.NoError(t, err)
	require.Zero(t, n)
	require.True(t, p.InBulk())
	require.Equal(t, len("*2\r\n$1000\r\n")+1002, p.Want())
}

// I12: what a client declares reserves nothing.
func TestDeclaredSizesReserveNothing(t *testing.T) {
	in := []byte("*1000000\r\n$536870912\r\n")
	var p reader
	allocs := testing.AllocsPerRun(100, func() {
		p = reader{}
		n, err := p.Next(in)
		if n != 0 || err != nil || !p.InBulk() {
			panic(fmt.Sprint("not waiting within the bulk: ", n, err))
		}
	})
	require.Zero(t, allocs)
	require.Zero(t, cap(p.Args()))
}

// I12: the room for arguments follows the bytes.
func TestRoomForArguments(t *testing.T) {
	const sent = 1_000
	in := []byte("*100000\r\n" + strings.Repeat("$0\r\n\r\n", sent))
	var p reader
	n, err := p.Next(in)
	require.NoError(t, err)
	require.Zero(t, n)
	require.LessOrEqual(t, cap(p.Args()), 2*sent)

	in = append(in, strings.Repeat("$0\r\n\r\n", 100_000-sent)...)
	n, err = p.Next(in)
	require.NoError(t, err)
	require.Equal(t, len(in), n)
	require.Len(t, p.Args(), 100_000)

}

// A request in the smallest pieces costs a step per byte. Were the parser to
// begin anew with each piece, this would take an hour.
func TestManySmallPieces(t *testing.T) {
	const args = 50_000
	in := []byte(fmt.Sprintf("*%d\r\n", args+1) + strings.Repeat("$1\r\na\r\n", args) + "$1000000\r\n" + strings.Repeat("b", 1_000_000) + "\r\n")
	var p reader
	for end := 1; end < len(in); end++ {
		n, err := p.Next(in[:end])
		if n != 0 || err != nil {
			t.Fatalf("after %d bytes: %d, %v", end, n, err)
		}
	}
	n, err := p.Next(in)
	require.NoError(t, err)
	require.Equal(t, len(in), n)
	require.Len(t, p.Args(), args+1)
	require.Equal(t, "a", string(p.Args()[args-1]))
	require.Len(t, p.Args()[args], 1_000_000)
}

// An argument can be appended to without touching what lies behind it.
func TestArgumentsEndWhereTheyEnd(t *testing.T) {
	for _, in := range []string{"*2\r\n$1\r\na\r\n$1\r\nb\r\n", "a b\r\n", "\"a\" b\r\n"} {
		var p reader
		_, err := p.Next([]byte(in))
		require.NoError(t, err)
		args := p.Args()
		_ = append(args[0], "XXXXXXXXXX"...)
		require.Equal(t, "b", string(args[1]))
	}
}

func TestParserAllocatesNothing(t *testing.T) {
	pipeline := []byte(strings.Repeat("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\nset k \"v\\x00\"\r\n", 10))
	var p reader
	buf := make([]byte, len(pipeline))
	allocs := testing.AllocsPerRun(100, func() {
		copy(buf, pipeline)
		for at := 0; at < len(buf); {
			n, err := p.Next(buf[at : at+(len(buf)-at)/2])
			if n == 0 {
				n, err = p.Next(buf[at:])
			}
			if n == 0 || err != nil || len(p.Args()) != 3 {
				panic(fmt.Sprint(n, err, p.Args()))
			}
			at += n
		}
	})
	require.Zero(t, allocs)
}

func BenchmarkParse(b *testing.B) {
	get := []byte(strings.Repeat("*2\r\n$3\r\nGET\r\n$16\r\nkey:000000012345\r\n", 16))
	var p reader
	b.SetBytes(int64(len(get)))
	b.ReportAllocs()
	for b.Loop() {
		for at := 0; at < len(get); {
			n, err := p.Next(get[at:])
			if err != nil {
				b.Fatal(err)
			}
			at += n
		}
	}
}
