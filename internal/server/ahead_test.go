package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a batch holds and which of its requests had their keys fetched: all of
// usual ones, the first of one with many, and none of a request that is alone.
func TestBatches(t *testing.T) {
	l := newLab(t)
	m := l.session()
	many := func(n int) string {
		args := []string{"MGET"}
		for i := range n {
			args = append(args, fmt.Sprint(i))
		}
		return wire(args...)
	}
	batch := func(pipeline string) (requests int, near string) {
		m.ex.begin()
		require.NoError(t, m.ex.parseAhead(&m.s, []byte(pipeline)))
		end := 0
		for i := range m.ex.ahead {
			r := &m.ex.ahead[i]
			require.Greater(t, r.end, end)
			end = r.end
			if r.near {
				near += "y"
			} else {
				near += "n"
			}
		}
		return len(m.ex.ahead), near
	}
	f := func(pipeline string, wantNear string) {
		t.Helper()
		n, near := batch(pipeline)
		require.Equal(t, wantNear, near)
		require.Equal(t, len(wantNear), n)
		// The same requests run, whatever was fetched.
		alone := l.session()
		require.Equal(t, alone.ask(pipeline), m.ask(pipeline))
	}
	get := wire("GET", "1")
	f(get, "n")
	f(get+get, "yy")
	f(strings.Repeat(get, maxAhead+5), strings.Repeat("y", maxAhead))
	f(wire("PING")+get+wire("NOSUCH"), "yyy")
	f(many(5)+many(20), "yy")
	f(get+many(maxAhead)+get, "yn")
	f(get+many(maxAhead-1)+get, "yy")
	f(many(maxAhead)+get, "n")
	f(many(1000)+get, "n")
	f(wire("PING")+wire("SELECT", "1")+get+wire("SELECT", "0"), "yy")
	f("GET 1\r\n"+get, "n")
}
