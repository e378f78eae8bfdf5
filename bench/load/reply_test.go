package load

import (
	"fmt"
	"strings"
	"testing"
)

// seen is what a script would see of a reply.
func seen(r *Reply) string {
	head := "null"
	if r.Head != nil {
		head = fmt.Sprintf("%q", r.Head)
	}
	return fmt.Sprintf("%c %s %d", r.Kind, head, r.Bytes)
}

// readAll feeds pieces to a reader.
func readAll(t *testing.T, pieces ...string) []string {
	t.Helper()
	var r reader
	var out []string
	for _, piece := range pieces {
		for b := []byte(piece); len(b) > 0; {
			rest, done, err := r.next(b)
			if err != nil {
				t.Fatalf("%q: %v", pieces, err)
			}
			if done {
				out = append(out, seen(&r.reply))
			}
			b = rest
		}
	}
	return out
}

// TestReplies reads every kind of reply, cut at every place.
func TestReplies(t *testing.T) {
	long := strings.Repeat("v", 3*headBytes)
	text := "+OK\r\n:12\r\n-ERR " + long + "\r\n$-1\r\n$0\r\n\r\n$5\r\na\r\nbc\r\n*-1\r\n*0\r\n" +
		"*2\r\n$9\r\ncompleted\r\n$3\r\nxyz\r\n*3\r\n$-1\r\n*2\r\n:1\r\n$2\r\nab\r\n+x\r\n$" +
		fmt.Sprint(len(long)) + "\r\n" + long + "\r\n+end\r\n"
	want := []string{
		`+ "OK" 0`, `: "12" 0`, `- "` + ("ERR " + long)[:headBytes-1] + `" 0`, `$ null 0`, `$ "" 0`, `$ "a\r\nbc" 5`,
		`* null 0`, `* null 0`, `* "completed" 12`, `* "1" 2`, fmt.Sprintf("$ %q %d", long[:headBytes], len(long)), `+ "end" 0`,
	}
	for cut := range text {
		got := readAll(t, text[:cut], text[cut:])
		// How much of a long error is kept depends on where it was cut.
		got[2] = `- ` + got[2][2:min(len(got[2]), headBytes+2)] + `" 0`
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("cut at %d:\n got %v\nwant %v", cut, got, want)
		}
	}
	var single []string
	for _, c := range text {
		single = append(single, string(c))
	}
	if got := readAll(t, single...); len(got) != len(want) {
		t.Errorf("byte by byte: %d replies, want %d", len(got), len(want))
	}
}

// TestNoReplies refuses what is none.
func TestNoReplies(t *testing.T) {
	for _, text := range []string{"hello\r\n", "$x\r\n", "$\r\n", "*-2\r\n", "$99999999999\r\n", "\r\n"} {
		var r reader
		if _, done, err := r.next([]byte(text)); err == nil || done {
			t.Errorf("%q was read as %s", text, seen(&r.reply))
		}
	}
}

// TestCommands writes what a server reads.
func TestCommands(t *testing.T) {
	if got, want := string(Key(nil, "key:", 120)), "$16\r\nkey:000000000120\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(Key(nil, "k", 0)), "$13\r\nk000000000000\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(Command(nil, "GET", "")), "*2\r\n$3\r\nGET\r\n$0\r\n\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	begin := string(Dialect{}.begin(nil, 0xabc, digestHead))
	if want := "*6\r\n$4\r\nIDEM\r\n$18\r\norder:000000002748\r\n$5\r\nBEGIN\r\n$64\r\n" + digestHead + "0000000000000abc\r\n"; !strings.HasPrefix(begin, want) {
		t.Errorf("got %q, want it to begin with %q", begin, want)
	}
}
