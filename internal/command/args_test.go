package command

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseInt(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 1, 9, 10, -1, -10, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, math.MinInt64 + 1, 1 << 32} {
		got, ok := ParseInt([]byte(strconv.FormatInt(n, 10)))
		require.True(t, ok, n)
		require.Equal(t, n, got)
	}
	for _, s := range []string{
		"", "-", "+1", " 1", "1 ", "01", "00", "-0", "-01", "1.0", "1e3", "0x1", "a", "1a", "--1", "1\x00", "\x001",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "18446744073709551615",
		"99999999999999999999", "123456789012345678901", "-", "１",
	} {
		_, ok := ParseInt([]byte(s))
		require.False(t, ok, "%q", s)
	}
}

// TestParseIntIsCanonical: what is taken is exactly what printing yields.
func TestParseIntIsCanonical(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	const alphabet = "0123456789-+ "
	for range 20000 {
		s := ""
		for range rnd.IntN(21) {
			s += string(alphabet[rnd.IntN(len(alphabet))])
		}
		n, ok := ParseInt([]byte(s))
		m, err := strconv.ParseInt(s, 10, 64)
		canonical := err == nil && strconv.FormatInt(m, 10) == s
		require.Equal(t, canonical, ok, "%q", s)
		if ok {
			require.Equal(t, m, n)
		}
	}
}

func TestIntegersInRange(t *testing.T) {
	t.Parallel()
	f := func(want string, arg string, lo, hi int64, outside error) {
		t.Helper()
		_, err := RangeArg([]byte(arg), lo, hi, outside)
		require.EqualError(t, err, want)
	}
	f("ERR value is not an integer or out of range", "x", 0, 1, nil)
	f("ERR value is out of range, value must between 0 and 1", "2", 0, 1, nil)
	f("ERR value is out of range, must be positive", "-1", 0, math.MaxInt64, nil)
	f("ERR own text", "9", 0, 1, Error("ERR own text"))
	n, err := RangeArg([]byte("5"), 5, 5, nil)
	require.NoError(t, err)
	require.EqualValues(t, 5, n)
}

func TestParseFloat(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]float64{
		"0": 0, "-0": 0, "1": 1, "+1": 1, "1.5": 1.5, ".5": .5, "5.": 5, "1e3": 1000, "1E-2": .01, "0x10": 16, "-0X1p4": -16,
		"0x1.8": 1.5, "inf": math.Inf(1), "-Infinity": math.Inf(-1), "0e-400": 0, "0.000e99": 0, "0x0": 0, "00.1": .1,
	} {
		got, ok := ParseFloat([]byte(s))
		require.True(t, ok, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{
		"", " 1", "1 ", "a", "1a", "nan", "NaN", "-nan", "1e400", "-1e400", "1e-400", "1_0", "0x", "0xg", "1e", "--1",
		"0x1p-2000", "1,5", "\x00", strings.Repeat("1", 6000),
	} {
		_, ok := ParseFloat([]byte(s))
		require.False(t, ok, "%q", s)
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	require.True(t, Is([]byte("nX"), "nx"))
	require.True(t, Is([]byte("NO-EVICT"), "no-evict"))
	require.True(t, Is(nil, ""))
	require.False(t, Is([]byte("nx "), "nx"))
	require.False(t, Is([]byte("n"), "nx"))
	require.False(t, Is([]byte("\x0dO-EVICT"), "-o-evict"), "bit 5 alone doesn't make a letter")
	require.False(t, Is([]byte("@"), "`"))
}

func TestMatch(t *testing.T) {
	t.Parallel()
	yes := func(pattern, s string) {
		t.Helper()
		require.True(t, Match([]byte(pattern), []byte(s)), "%q should match %q", pattern, s)
	}
	no := func(pattern, s string) {
		t.Helper()
		require.False(t, Match([]byte(pattern), []byte(s)), "%q should not match %q", pattern, s)
	}
	yes("", "")
	no("", "a")
	yes("*", "")
	yes("***", "abc")
	yes("a*c", "abbbc")
	yes("a*c", "ac")
	no("a*c", "acb")
	yes("*a*b*", "xxaxxbxx")
	no("*a*b*", "xxbxxaxx")
	yes("h?llo", "hello")
	no("h?llo", "hllo")
	no("?", "")
	yes("h[ae]llo", "hallo")
	no("h[ae]llo", "hillo")
	yes("h[^e]llo", "hallo")
	no("h[^e]llo", "hello")
	yes("h[a-c]llo", "hbllo")
	yes("h[c-a]llo", "hbllo")
	no("h[a-c]llo", "hdllo")
	yes("[a-]", "^") // a range takes the bracket as its end
	no("[a-]", "-")
	no("[]a]", "]") // a class that closes at once matches nothing
	no("[]a]", "a]")
	yes("[^]a]", "xa]")
	yes("[ab", "b") // never closed
	no("[", "[")
	yes("[^", "x")
	yes("\\*", "*")
	no("\\*", "x")
	yes("a\\", "a\\")
	yes("[\\]]", "]")
	yes("[\xf0-\xff]", "\xf8")
	no("[a-\xff]", "Z")
}

// TestMatchAgainstRedis goes through KEYS of a server whose keys are all
// short words over a nasty alphabet.
func TestMatchAgainstRedis(t *testing.T) {
	t.Parallel()
	ask := startRedis(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, most int) string {
		s := ""
		for range 1 + rnd.IntN(most) {
			s += string(alphabet[rnd.IntN(len(alphabet))])
		}
		return s
	}
	for range 3000 {
		key, pattern := word("abcC-]\\^*", 5), word("abcC-]\\^*?[[", 8)
		require.Equal(t, "+OK", ask("SET", key, "v"))
		want := ask("EVAL", "return #redis.call('KEYS', ARGV[1])", "0", pattern)
		got := ":0"
		if Match([]byte(pattern), []byte(key)) {
			got = ":1"
		}
		require.Equal(t, want, got, "%q on %q", pattern, key)
		require.Equal(t, ":1", ask("DEL", key))
	}
}

func TestMatchFolds(t *testing.T) {
	t.Parallel()
	require.True(t, MatchFold([]byte("MAX*"), []byte("maxmemory")))
	require.True(t, MatchFold([]byte("max[L-N]"), []byte("maxM")))
	require.True(t, MatchFold([]byte("[A]"), []byte("a")))
	require.False(t, MatchFold([]byte("[^A]"), []byte("a")))
	require.False(t, Match([]byte("MAX*"), []byte("maxmemory")))
}

// TestMatchDoesNotBlowUp takes patterns on which trying every split of every
// star would not end within a lifetime.
func TestMatchDoesNotBlowUp(t *testing.T) {
	t.Parallel()
	s := []byte(strings.Repeat("a", 5000))
	require.False(t, Match([]byte(strings.Repeat("a*", 100)+"b"), s))
	require.False(t, Match([]byte(strings.Repeat("*[ab]", 100)+"c"), s))
	require.True(t, Match([]byte(strings.Repeat("*a", 100)+"*"), s))
}
