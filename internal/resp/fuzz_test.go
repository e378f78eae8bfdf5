package resp_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/redcon"

	"github.com/hapaxkv/hapax/internal/resp"
)

// requestSeeds begin both fuzz tests; more lie in testdata.
var requestSeeds = []string{
	"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
	"*1\r\n$4\r\nPING\r\nPING\r\n\r\nPING\n",
	"SET \"a\\x00\\n\" 'b\\'' c\"d\"\r\n",
	"*0\r\n*-1\r\n*1\r\n$0\r\n\r\n",
	"*1\r\n$-1\r\n",
	"*1\r\n$+1\r\na\r\n",
	"*01\r\n$1\r\na\r\n",
	"*1\n$1\na\n",
	"*1\r\n$1\r\naXX*1\r\n$1\r\nb\r\n",
	"*1000000\r\n$536870912\r\n",
	"*2\r\n:1\r\n",
	"$5 hello\r\n",
	"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n",
}

// However the bytes are split, the same requests come out.
func FuzzSplit(f *testing.F) {
	for i, s := range requestSeeds {
		f.Add([]byte(s), uint64(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, unauthenticated bool) {
		limits := resp.Limits{MaxBulkBytes: 1 << 20, Unauthenticated: unauthenticated}
		rnd := rand.New(rand.NewPCG(seed, 0))
		want := parseAll(t, limits, data, inOnePiece)
		require.Equal(t, want, parseAll(t, limits, data, func(int) bool { return rnd.IntN(7) == 0 }))
		if len(data) < 4096 {
			require.Equal(t, want, parseAll(t, limits, data, byteByByte))
		}
	})
}

// redcon's parser reads the same requests, except where dialect tells how it
// differs from Redis.
func FuzzAgainstRedcon(f *testing.F) {
	for _, s := range requestSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var p reader
		for len(data) > 0 {
			if dialect(data) != "" {
				return
			}
			// redcon first: an inline request is unquoted in place.
			complete, args, _, rest, theirErr := redcon.ReadNextCommand(bytes.Clone(data), nil)
			n, err := p.Next(data)
			require.Equal(t, theirErr != nil, err != nil, "redcon: %v, Hapax: %v", theirErr, err)
			require.Equal(t, complete, n > 0)
			if n == 0 {
				return
			}
			require.Equal(t, texts(args), texts(p.Args()))
			require.Equal(t, len(data)-len(rest), n)
			data = data[n:]
		}
	})
}

// TestDialectIsNarrow shows an instance of every difference, and that redcon
// indeed differs there.
func TestDialectIsNarrow(t *testing.T) {
	for in, want := range map[string]string{
		"$4 PING\r\n":                   "tile38",
		"a\tb\r\n":                      "quoting",
		"a \"\\x41\"\r\n":               "quoting",
		"*1\rX$1\r\na\r\n":              "line end",
		"*-1\r\n":                       "negative count",
		"*+1\r\n$1\r\na\r\n":            "integer form",
		"*1\r\n$01\r\na\r\n":            "integer form",
		"*2147483648\r\n$1\r\na\r\n":    "limit",
		"*1\r\n$536870913\r\na":         "limit",
		"*1\r\n$1\r\naXX":               "bulk end",
		"*1\r\nx":                       "missing $",
		strings.Repeat("a", 66000) + "": "limit",
	} {
		t.Run(strconv.Quote(in[:min(len(in), 20)]), func(t *testing.T) {
			require.Equal(t, want, dialect([]byte(in)))
			complete, theirs, _, rest, theirErr := redcon.ReadNextCommand([]byte(in), nil)
			var p reader
			n, err := p.Next([]byte(in))
			same := complete == (n > 0) && (theirErr != nil) == (err != nil) &&
				(n == 0 || len(in)-len(rest) == n && strings.Join(texts(theirs), "|") == strings.Join(texts(p.Args()), "|"))
			require.False(t, same, "redcon reads this as Hapax does")
		})
	}
}

// dialect names what in the first request of b redcon reads unlike Redis, ""
// when nothing does:
//
//   - it speaks Tile38's protocol too;
//   - its inline requests know only spaces and other escapes;
//   - it wants CR LF behind lengths and bulks, where Redis takes CR and any byte;
//   - it reads integers loosely and without limits, and refuses *-1;
//   - it calls a missing $ at its first byte, Redis at the end of the line.
func dialect(b []byte) string {
	if b[0] == '$' {
		return "tile38"
	}
	if b[0] != '*' {
		return inlineDialect(b)
	}
	count, rest, why := lengthLine(b, math.MaxInt32)
	if why != "" || rest == nil {
		return why
	}
	if count < 0 {
		return "negative count"
	}
	for range count {
		if len(rest) == 0 {
			return ""
		}
		if cr := bytes.IndexByte(rest, '\r'); rest[0] != '$' && (cr < 0 || cr+1 == len(rest)) {
			return "missing $"
		}
		if rest[0] != '$' {
			return ""
		}
		var size int
		size, rest, why = lengthLine(rest, 512<<20)
		if why != "" || rest == nil {
			return why
		}
		if size < 0 {
			return "negative bulk" // redcon may even panic
		}
		if len(rest) < size+2 {
			return ""
		}
		if string(rest[size:size+2]) != "\r\n" {
			return "bulk end"
		}
		rest = rest[size+2:]
	}
	return ""
}

func inlineDialect(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	if len(line) > 64<<10 {
		return "limit"
	}
	if bytes.ContainsAny(bytes.TrimSuffix(line, []byte("\r")), "\"'\\\t\v\f\r") {
		return "quoting"
	}
	return ""
}

// lengthLine reads a length line. rest is nil when the request ends there for
// both parsers: incomplete, or no number for either.
func lengthLine(b []byte, limit int) (n int, rest []byte, why string) {
	cr := bytes.IndexByte(b, '\r')
	if cr < 0 || cr+1 == len(b) {
		if bytes.IndexByte(b, '\n') >= 0 {
			return 0, nil, "line end"
		}
		if len(b) > 64<<10 {
			return 0, nil, "limit"
		}
		return 0, nil, ""
	}
	if cr > 64<<10 {
		return 0, nil, "limit"
	}
	if b[cr+1] != '\n' || bytes.IndexByte(b[:cr], '\n') >= 0 {
		return 0, nil, "line end"
	}
	text := string(b[min(1, cr):cr])
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) || err == nil && n > limit {
		return 0, nil, "limit"
	}
	if err != nil {
		return 0, nil, ""
	}
	if strconv.Itoa(n) != text {
		return 0, nil, "integer form"
	}
	return n, b[cr+2:], ""
}
