package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Short of memory or disk, native commands refuse what would be written and
// nothing else.
func TestNativeRefusalsStopWritesAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.do("IDEM", "pending", "BEGIN", "f", "o", "60000")
	h.do("IDEM", "waiting", "BEGIN", "f", "o", "60000")
	h.do("IDEM", "done", "BEGIN", "f", "o", "60000")
	h.do("IDEM", "done", "COMPLETE", "f", "o", "result")
	h.do("ONCE", "mark", "60000")
	h.do("LIMIT", "spent", "1", "60000")
	misconf := Error("MISCONF Errors writing to the AOF file: no room")
	for _, why := range []error{ErrOOM, misconf} {
		h.ctx.Refused = why
		refusal := "-" + why.Error()
		h.requireSilent(func() {
			require.Equal(t, refusal, h.do("IDEM", "new", "BEGIN", "f", "o", "60000"))
			require.Equal(t, refusal, h.do("ONCE", "new", "60000"))
			require.Equal(t, refusal, h.do("LIMIT", "new", "5", "60000"))

			require.Equal(t, "*1\r\n$7\r\npending", h.do("IDEM", "pending", "BEGIN", "f", "o", "60000"))
			require.Equal(t, "*1\r\n$8\r\nconflict", h.do("IDEM", "pending", "BEGIN", "g", "o", "60000"))
			require.Equal(t, "*2\r\n$9\r\ncompleted\r\n$6\r\nresult", h.do("IDEM", "done", "BEGIN", "f", "o", "60000"))
			require.Equal(t, ":1", h.do("IDEM", "done", "COMPLETE", "f", "o", "result"))
			require.Equal(t, ":0", h.do("IDEM", "new", "COMPLETE", "f", "o", "result"))
			require.Equal(t, ":0", h.do("ONCE", "mark", "60000"))
			require.Contains(t, h.do("LIMIT", "spent", "1", "60000"), "*4\r\n:0\r\n")
			require.Contains(t, h.do("LIMIT", "new", "5", "60000", "0"), "*4\r\n:1\r\n:5\r\n")
		})
		require.EqualValues(t, 3, h.count.IdemAcquired, "a refused BEGIN acquired nothing")
	}

	h.requireSilent(func() {
		require.Equal(t, "-"+misconf.Error(), h.do("IDEM", "waiting", "COMPLETE", "f", "o", "result"))
	})
	h.ctx.Refused = ErrOOM
	require.Equal(t, ":1", h.do("IDEM", "waiting", "COMPLETE", "f", "o", "result"),
		"the result of an operation that was admitted is never lost to maxmemory")
}

// A command of few bytes that writes a long value anew asks for its room first,
// and is refused before it wrote anything.
func TestLongValuesAskForRoom(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	long := strings.Repeat("v", 5000)
	h.do("SET", "long", long)
	h.do("SET", "short", "v")
	room := 4000
	host.room = &room
	h.requireSilent(func() {
		for _, args := range [][]string{
			{"RENAME", "long", "x"}, {"RENAMENX", "long", "x"}, {"COPY", "long", "x"}, {"MOVE", "long", "1"},
			{"SETRANGE", "x", "4001", "v"},
		} {
			require.Equal(t, "-MISCONF no room", h.do(args...), "%q", args)
		}
	})
	require.Equal(t, "+OK", h.do("RENAME", "short", "x"))
	require.Equal(t, ":1", h.do("COPY", "x", "y"))
	require.Equal(t, ":1", h.do("MOVE", "y", "1"))
	require.Equal(t, ":3001", h.do("SETRANGE", "z", "3000", "v"))
	require.Equal(t, ":5000", h.do("STRLEN", "long"))
}
