package e2e

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hapaxkv/hapax/internal/script"
)

// wireTimeout is when a reply that doesn't come counts as a hang.
const wireTimeout = 60 * time.Second

// wire is a bare connection: bytes as they are, replies in the notation of the
// scripts. Its failures fail the test.
type wire struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dial(t *testing.T, s *server) *wire {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &wire{t, c, bufio.NewReader(c)}
}

// encode is a command as clients send it.
func encode(args ...string) []byte {
	b := []byte("*" + strconv.Itoa(len(args)) + "\r\n")
	for _, a := range args {
		b = append(b, "$"+strconv.Itoa(len(a))+"\r\n"...)
		b = append(b, a...)
		b = append(b, '\r', '\n')
	}
	return b
}

// send writes bytes as they are.
func (w *wire) send(b []byte) {
	w.t.Helper()
	w.SetWriteDeadline(time.Now().Add(wireTimeout))
	if _, err := w.Write(b); err != nil {
		w.t.Fatalf("writing: %v", err)
	}
}

// reply reads one reply.
func (w *wire) reply() script.Reply {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(wireTimeout))
	r, err := script.ReadReply(w.r)
	if err != nil {
		w.t.Fatalf("reading a reply: %v", err)
	}
	return r
}

// do runs a command and shows its reply as a script would.
func (w *wire) do(args ...string) string {
	w.t.Helper()
	w.send(encode(args...))
	return w.reply().String()
}

// want runs a command, given as words, and compares its reply.
func (w *wire) want(reply, command string) {
	w.t.Helper()
	if got := w.do(strings.Fields(command)...); got != reply {
		w.t.Errorf("%s: got %s, want %s", command, got, reply)
	}
}

// closed waits until the server closes the connection and returns what it said
// before.
func (w *wire) closed() string {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(wireTimeout))
	var said strings.Builder
	_, err := w.r.WriteTo(&said)
	if e, ok := err.(net.Error); ok && e.Timeout() {
		w.t.Fatalf("the connection is still open; the server said %q", said.String())
	}
	return said.String()
}

// info returns a field of INFO.
func (w *wire) info(field string) string {
	w.t.Helper()
	w.send(encode("INFO", "everything"))
	for _, line := range strings.Split(string(w.reply().Text), "\r\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return value
		}
	}
	w.t.Fatalf("INFO has no field %s", field)
	return ""
}

func (w *wire) infoInt(field string) int64 {
	w.t.Helper()
	n, err := strconv.ParseInt(w.info(field), 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
