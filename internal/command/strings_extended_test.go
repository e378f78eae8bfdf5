package command

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// addText is what INCRBYFLOAT makes of two texts; without Redis's code word
// for errors.
func addText(a, b string) string {
	x, ok := parseExtended([]byte(a))
	if !ok {
		return "not a float"
	}
	y, ok := parseExtended([]byte(b))
	if !ok {
		return "not a float"
	}
	sum, finite := addExtended(x, y)
	if !finite {
		return "not finite"
	}
	return string(appendExtended(nil, sum))
}

func TestExtendedSums(t *testing.T) {
	t.Parallel()
	f := func(a, b, want string) {
		t.Helper()
		require.Equal(t, want, addText(a, b), "%s + %s", a, b)
	}
	f("0", "0", "0")
	f("0.1", "0.2", "0.3") // as 64-bit floats it would be 0.30000000000000004
	f("10.50", "0.1", "10.6")
	f("5.0e3", "2.0e2", "5200")
	f("-5", "5", "0")
	f("-0", "-0", "0")
	f("3", "-5.5", "-2.5")
	f("1e-17", "0", "0.00000000000000001")
	f("4.9e-18", "0", "0")
	f("-4.9e-18", "0", "0")
	f("9223372036854775807", "1", "9223372036854775808")
	f("18446744073709551615", "0", "18446744073709551615") // 64 bits of mantissa, all set
	f("18446744073709551617", "0", "18446744073709551616") // 65 bits: a tie, to even
	f("1e20", "1", "100000000000000000000")
	f("0x10", "0x.8p1", "17")
	f("+1", ".5", "1.5")
	f("1.", "1e+1", "11")
	f("1e400", "0", new(big.Float).SetPrec(64).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(400), nil)).Text('f', 0))
	f("inf", "1", "not finite")
	f("-infinity", "Inf", "not finite")
	f("1.18e4932", "1.18e4932", "not finite")
}

func TestNotExtended(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " 1", "1 ", "\t1", "abc", "1a", "+", "-", ".", "e1", "1e", "1e+", "--1", "+-1", "1.2.3", "1_0",
		"nan", "-nan", "nan(1)", "infinit", "infinityx", "0x", "0xg", "0x1p", "0x.", "0xp1", "0x1.2.3", "1p3",
		"1e5000", "-1e5000", "1e-5000", "1e4933", "1e999999999999999999999", "1e-999999999999999999999",
		"0x1p16384", "0x1p-16446", "1\x00", strings.Repeat("1", 5120), "12345678901234567890e4915",
	} {
		_, ok := parseExtended([]byte(text))
		require.False(t, ok, "%q", text)
	}
	for _, text := range []string{
		"0e999999999999999999999", "0x0p999999", "0x1p16383", "0x1.8p-16446", "1e-4950", "1.18e4932",
		strings.Repeat("0", 5119), "0." + strings.Repeat("0", 4900) + "1", "1" + strings.Repeat("0", 4932) + "e-1",
	} {
		_, ok := parseExtended([]byte(text))
		require.True(t, ok, "%q", text)
	}
}

// Every 64-bit float survives text and back: the decimal reader rounds once.
func TestExtendedReadsFloats(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, 1))
	for range 2000 {
		f := math.Float64frombits(rnd.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		for _, format := range []string{"%.25e", "%x", "%.400f"} {
			x, ok := parseExtended(fmt.Appendf(nil, format, f))
			require.True(t, ok)
			if format == "%.25e" {
				back, _ := x.Float64()
				require.Equal(t, f, back)
			}
			if format == "%x" {
				require.Zero(t, x.Cmp(new(big.Float).SetFloat64(f)))
			}
		}
	}
}

// randomDecimal is a number as people write them, or nearly one.
func randomDecimal(rnd *rand.Rand) string {
	digits := func(most int) string {
		var b strings.Builder
		for range rnd.IntN(most + 1) {
			b.WriteByte(byte('0' + rnd.IntN(10)))
		}
		return b.String()
	}
	s := []string{"", "", "-", "+"}[rnd.IntN(4)] + digits(20)
	if rnd.IntN(4) > 0 {
		s += "." + digits(22)
	}
	switch rnd.IntN(6) {
	case 0:
		s += fmt.Sprintf("e%d", rnd.IntN(60)-30)
	case 1:
		s += fmt.Sprintf("E%+d", rnd.IntN(10000)-5000)
	}
	switch rnd.IntN(30) {
	case 0:
		s = strings.Replace(s, ".", " ", 1)
	case 1:
		s = fmt.Sprintf("0x%x.%xp%d", rnd.Uint64()>>rnd.IntN(64), rnd.Uint64()>>rnd.IntN(64), rnd.IntN(100)-50)
	}
	return s
}

// TestExtendedAgainstRedis adds random numbers here and in redis-server, whose
// long double is the machine's own.
func TestExtendedAgainstRedis(t *testing.T) {
	t.Parallel()
	if runtime.GOARCH != "amd64" {
		t.Skip("long double is another type on " + runtime.GOARCH)
	}
	ask := startRedis(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 4000 {
		a, b := randomDecimal(rnd), randomDecimal(rnd)
		require.Equal(t, "+OK", ask("SET", "k", a))
		want := ask("INCRBYFLOAT", "k", b)
		switch {
		case strings.HasPrefix(want, "-ERR value is not a valid float"):
			want = "not a float"
		case strings.HasPrefix(want, "-ERR increment would produce NaN"):
			want = "not finite"
		}
		require.Equal(t, want, addText(a, b), "%q + %q", a, b)
	}
}
