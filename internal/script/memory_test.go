package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// memory is a local Hapax without sockets: bytes in, bytes out.
type memory struct{ *local }

func startMemory(t *testing.T, o localOptions) *memory {
	o.inline = true
	m := &memory{newLocal(t, o)}
	t.Cleanup(func() { require.NoError(t, m.eng.Close()) })
	return m
}

func (m *memory) Dial() (Conn, error) {
	return &memoryConn{s: m.srv.NewSession(), eng: m.eng}, nil
}

// Reopen starts again on what SIGKILL leaves.
func (m *memory) Reopen() error { return m.restart(m.fs.Kill()) }

// restart abandons the present server and starts one on fs.
func (m *memory) restart(fs *vfs.Mem) error {
	if err := m.eng.Close(); err != nil {
		return err
	}
	m.fs = fs
	m.open()
	return nil
}

// memoryConn is a session with this test as its network.
type memoryConn struct {
	s   *server.Memory
	eng *engine.Engine
	out []byte // arrived and not read yet
}

func (c *memoryConn) Send(b []byte) error {
	if err := c.s.Feed(b); err != nil && !errors.Is(err, server.ErrClosed) {
		return err
	}
	return c.s.Settle()
}

func (c *memoryConn) Receive() (Reply, error) {
	if err := c.s.Settle(); err != nil {
		return Reply{}, err
	}
	if err := c.finishSnapshots(); err != nil {
		return Reply{}, err
	}
	c.out = append(c.out, c.s.Output()...)
	r := bytes.NewReader(c.out)
	buffered := bufio.NewReader(r)
	switch rep, err := ReadReply(buffered); {
	case err == nil:
		c.out = c.out[len(c.out)-r.Len()-buffered.Buffered():]
		return rep, nil
	case errors.Is(err, errWire):
		return rep, err
	}
	switch {
	case len(c.out) > 0:
		return Reply{}, fmt.Errorf("half a reply: %q", c.out)
	case c.s.Closed():
		return Reply{}, io.EOF
	}
	return Reply{}, ErrNoReply
}

// finishSnapshots gives a client that waits for a snapshot what it waits for.
func (c *memoryConn) finishSnapshots() error {
	for turn := 0; c.s.Blocked() && turn < 2; turn++ { // one may be in the way of its own
		for !c.eng.StepSnapshot() {
		}
		c.s.Tick()
		if err := c.s.Settle(); err != nil {
			return err
		}
	}
	return nil
}

func (c *memoryConn) Close() error {
	c.s.Close()
	return nil
}

// TestMemory runs every script in memory with one, several and many shards.
func TestMemory(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		for _, shards := range []int{1, 4, 16} {
			t.Run(fmt.Sprintf("shards%d", shards), func(t *testing.T) {
				forEachProto(t, s, func(t *testing.T, proto int) {
					target := startMemory(t, localOptions{shards: shards})
					r := Runner{Target: target, Proto: proto}
					require.NoError(t, r.Run(s))
					require.NoError(t, target.checkReplay())
				})
			})
		}
	})
}
