package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/shard"
)

func args(words ...string) [][]byte {
	split := make([][]byte, len(words))
	for i, w := range words {
		split[i] = []byte(w)
	}
	return split
}

func TestLookupInAnyCase(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		mixed := []byte(c.Name)
		for i := range mixed {
			if i%2 == 0 {
				mixed[i] = strings.ToUpper(c.Name)[i]
			}
		}
		for _, name := range []string{c.Name, strings.ToUpper(c.Name), string(mixed)} {
			require.Same(t, c, Lookup([]byte(name)), name)
		}
		require.NotSame(t, c, Lookup([]byte(c.Name[1:])))
	}
	// Bytes that folding by bit 5 alone would take for letters.
	for _, name := range []string{"", "GE\x14", "ge\x54\x00", "g\x45\x74 ", strings.Repeat("g", 1000), "\x00", "get\x00"} {
		require.Nil(t, Lookup([]byte(name)), "%q", name)
	}
	require.Nil(t, Lookup([]byte("\x07\x05\x14")), "GET without bits 5 and 6")
	// Names that agree in all that fits a word.
	for _, name := range []string{"incrbyflyyy", "randomkex", "pexpireax"} {
		require.Nil(t, Lookup([]byte(name)), name)
	}
	for _, c := range All() {
		longer := []byte(c.Name)
		for range 2000 { // of so many lengths some begin to look in the right place
			longer = append(longer, 'x')
			require.Nil(t, Lookup(longer))
		}
	}
}

func TestResolveErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	f := func(want string, words ...string) {
		t.Helper()
		_, err := Resolve(args(words...))
		require.EqualError(t, err, want)
	}
	f("ERR unknown command 'foo', with args beginning with: ", "foo")
	f("ERR unknown command 'foo', with args beginning with: 'a' 'b' ", "foo", "a", "b")
	f("ERR unknown command 'foo', with args beginning with: 'c  d' 'e' ", "foo", "c\r\nd", "e\x00f")
	f("ERR unknown command 'f', with args beginning with: 'a' ", "f\x00oo", "a")
	f("ERR unknown command '"+long[:128]+"', with args beginning with: ", long)
	f("ERR unknown command 'f', with args beginning with: '"+long[:100]+"' '"+long[:25]+"' ", "f", long[:100], long, "z")
	f("ERR unknown subcommand 'foo'. Try CLIENT HELP.", "client", "foo", "bar")
	f("ERR unknown subcommand '"+long[:128]+"'. Try CONFIG HELP.", "cOnfig", long)
	f("ERR wrong number of arguments for 'client' command", "CLIENT")
	f("ERR wrong number of arguments for 'get' command", "GET")
	f("ERR wrong number of arguments for 'get' command", "GET", "a", "b")
	f("ERR wrong number of arguments for 'client|id' command", "CLIENT", "ID", "x")
	f("ERR wrong number of arguments for 'mset' command", "mset", "a")
}

func TestResolveFinds(t *testing.T) {
	t.Parallel()
	f := func(want string, words ...string) {
		t.Helper()
		c, err := Resolve(args(words...))
		require.NoError(t, err)
		require.Equal(t, want, c.FullName())
	}
	f("get", "Get", "k")
	f("command", "COMMAND")
	f("command|count", "COMMAND", "cOUNT")
	f("client|no-evict", "client", "NO-EVICT", "on")
	f("object|encoding", "object", "encoding", "k")
}

// TestUnknownAgainstRedis sends what no table has.
func TestUnknownAgainstRedis(t *testing.T) {
	t.Parallel()
	ask := startRedis(t)
	for _, words := range [][]string{
		{"foo"},
		{"foo", "", "a b", "c\r\nd", "e\x00f", "\xff"},
		{"foo", strings.Repeat("y", 120), strings.Repeat("z", 120), "q"},
		{"foo", strings.Repeat("y", 126), "q"},
		{"foo", strings.Repeat("y", 125), "q"},
		{strings.Repeat("c", 129), "q"},
		{"fo\no", "q\n"},
		{"client", "n\ro"},
		{"config", strings.Repeat("c", 140)},
		{"config"},
		{"get"},
		{"memory", "usage"},
	} {
		_, err := Resolve(args(words...))
		require.Error(t, err)
		require.Equal(t, ask(words...), "-"+err.Error(), "%q", words)
	}
}

func TestKeysOfEveryShape(t *testing.T) {
	t.Parallel()
	f := func(want string, words ...string) {
		t.Helper()
		row := find(args(words...))
		var got []string
		for _, k := range AppendKeys(nil, row, args(words...)) {
			require.Equal(t, shard.MakeKey(k.Bytes), k)
			got = append(got, string(k.Bytes))
		}
		require.Equal(t, want, strings.Join(got, " "))
	}
	f("k", "get", "k")
	f("a c", "mset", "a", "1", "c", "2")
	f("a c", "mset", "a", "1", "c") // refused by its handler
	f("a", "mset", "a")
	f("", "mset")
	f("", "get")
	f("a b", "lcs", "a", "b", "idx")
	f("a", "lcs", "a")
	f("a b", "copy", "a", "b", "db", "1")
	f("a", "copy", "a")
	f("a b c", "del", "a", "b", "c")
	f("k", "object", "encoding", "k")
	f("k", "memory", "usage", "k", "samples", "1")
	f("", "memory", "usage")
	f("k", "idem", "k", "begin", "f", "o", "1")
	f("", "ping", "k")
	f("", "client", "kill", "k")
}

func TestOddKeySpecs(t *testing.T) {
	t.Parallel()
	f := func(want string, spec KeySpec) {
		t.Helper()
		var got []string
		for _, k := range AppendKeys(nil, &Command{Keys: []KeySpec{spec}}, args("c", "1", "2", "3", "4")) {
			got = append(got, string(k.Bytes))
		}
		require.Equal(t, want, strings.Join(got, " "), "%+v", spec)
	}
	f("1 2 3 4", KeySpec{Begin: 1, Last: -1, Step: 1})
	f("1 3", KeySpec{Begin: 1, Last: -1, Step: 2})
	f("1 2 3", KeySpec{Begin: 1, Last: -2, Step: 1})
	f("1 2 3 4", KeySpec{Begin: 1, Last: 99, Step: 1})
	f("", KeySpec{Begin: 9, Last: 9, Step: 1})
	f("", KeySpec{Begin: 3, Last: 2, Step: 1})
	f("", KeySpec{Begin: 1, Last: -9, Step: 1})
	f("1 2", KeySpec{Begin: 1, Last: 2, Step: 0})
	f("1 2", KeySpec{Begin: 1, Last: 2, Step: -3})
}

func TestLookupAllocatesNothing(t *testing.T) {
	request := args("sEt", "key", "value")
	sub := args("object", "ENCODING", "key")
	keys := make([]shard.Key, 0, 8)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, r := range [][][]byte{request, sub} {
			row, err := Resolve(r)
			if err != nil {
				t.Fatal(err)
			}
			keys = AppendKeys(keys[:0], row, r)
		}
		if Lookup(request[1]) != nil {
			t.Fatal("found a command called key")
		}
	}))
	require.Len(t, keys, 1)
}

func BenchmarkResolve(b *testing.B) {
	requests := [][][]byte{args("GET", "k"), args("set", "k", "v"), args("IDEM", "k", "BEGIN", "f", "o", "1")}
	b.ReportAllocs()
	for i := range b.N {
		if _, err := Resolve(requests[i%len(requests)]); err != nil {
			b.Fatal(err)
		}
	}
}
