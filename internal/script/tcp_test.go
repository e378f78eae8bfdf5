package script

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// tcp is a local Hapax behind a real socket.
type tcp struct {
	*local
	addr string
	stop func() error
}

func startTCP(t *testing.T, o localOptions) *tcp {
	s := &tcp{local: newLocal(t, o)}
	s.serve()
	t.Cleanup(func() { require.NoError(t, s.stop()) })
	return s
}

func (s *tcp) serve() {
	require.NoError(s.t, s.srv.Listen())
	s.addr = s.srv.Addrs()[0].String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.srv.Serve(ctx) }()
	s.stop = func() error {
		cancel()
		err := <-served
		if closeErr := s.eng.Close(); err == nil {
			err = closeErr
		}
		return err
	}
}

func (s *tcp) Dial() (Conn, error) { return dial("tcp", s.addr) }

// Reopen leaves the old process's files as SIGKILL would.
func (s *tcp) Reopen() error {
	fs := s.fs.Kill()
	if err := s.stop(); err != nil {
		return err
	}
	s.fs = fs
	s.open()
	s.serve()
	return nil
}

// TestTCP runs every script over sockets, in both protocols, with one loop and
// with several, on epoll and on goroutines.
func TestTCP(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		for _, o := range []localOptions{
			{shards: 4, loops: 1, backend: "epoll"},
			{shards: 4, loops: 4, backend: "epoll"},
			{shards: 4, loops: 1, backend: "epoll", plain: true},
			{shards: 4, loops: 1, backend: "goroutine"},
		} {
			t.Run(fmt.Sprintf("%s%d-plain=%v", o.backend, o.loops, o.plain), func(t *testing.T) {
				if o.backend == "epoll" && runtime.GOOS != "linux" {
					t.Skip("epoll is Linux's")
				}
				forEachProto(t, s, func(t *testing.T, proto int) {
					target := startTCP(t, o)
					r := Runner{Target: target, Proto: proto}
					require.NoError(t, r.Run(s))
					require.NoError(t, target.checkReplay())
				})
			})
		}
	})
}
