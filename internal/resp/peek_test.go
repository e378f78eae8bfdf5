package resp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPeek(t *testing.T) {
	f := func(data, want string) {
		t.Helper()
		got, ok := Peek([]byte(data))
		require.Equal(t, want != "", ok, "%q", data)
		require.Equal(t, want, string(got), "%q", data)
	}
	f("*2\r\n$3\r\nGET\r\n$5\r\nk\r\n$1\r\n", "k\r\n$1")
	f("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n", "key")
	f("*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$100\r\nrest is not here yet", "key")
	f("*12\r\n$4\r\nMSET\r\n$10\r\n0123456789\r\n", "0123456789")
	f("*2\r\n$3\r\nGET\r\n$3\r\nke", "")
	f("*1\r\n$4\r\nPING\r\n", "")
	f("*2\r\n$3\r\nGET\r\n$-1\r\n", "")
	f("*2\r\n$3\r\nGET\r\n$99999\r\n", "")
	f("*2\r\n$3\r\nGET\r\n$\r\nk", "")
	f("*-1\r\n", "")
	f("GET key\r\n", "")
	f("", "")
}

// FuzzPeek: nothing makes it panic, and of a request that is whole it finds
// what the parser finds, unless the key is longer than it looks at.
func FuzzPeek(f *testing.F) {
	f.Add([]byte("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n"))
	f.Add([]byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		key, ok := Peek(data)
		var p Parser
		args, n, err := p.Next(nil, data)
		if err != nil || n == 0 || data[0] != '*' || !ok {
			return
		}
		if len(args) >= 2 {
			require.Equal(t, string(args[1]), string(key))
		}
	})
}
