package server

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A large reply and a large request, once gone, are given back to the system
// although nothing else happens.
func TestLargeBuffersAreGivenBack(t *testing.T) {
	collections := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	l := newLab(t)
	m := l.session()
	l.srv.trimHeap()
	before := collections()
	require.Equal(t, "+OK\r\n", m.do("SET", "k", strings.Repeat("v", trimBytes)))
	require.Len(t, m.do("GET", "k"), len("$33554432\r\n\r\n")+trimBytes)
	m.ex.end()
	require.GreaterOrEqual(t, l.srv.trim.droppedBytes.Load(), int64(trimBytes))
	l.srv.trimHeap()
	require.Less(t, l.srv.trim.droppedBytes.Load(), int64(trimBytes))
	eventually(t, "a collection", func() bool { return collections() > before })
}
