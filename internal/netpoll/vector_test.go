//go:build linux

package netpoll

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newVector(t *testing.T) *Vector {
	t.Helper()
	v, err := NewVector()
	if err != nil {
		t.Skipf("no io_uring here: %v", err)
	}
	t.Cleanup(v.Close)
	return v
}

// Every call's result is its own, whatever its neighbours ran into.
func TestVectorResults(t *testing.T) {
	v := newVector(t)
	data, dataPeer := pair(t)
	idle, _ := pair(t)
	ended, endedPeer := pair(t)
	gone, gonePeer := pair(t)
	full, _ := pair(t)
	_, err := unix.Write(dataPeer, []byte("hello"))
	require.NoError(t, err)
	require.NoError(t, unix.Shutdown(endedPeer, unix.SHUT_WR))
	require.NoError(t, unix.Shutdown(gonePeer, unix.SHUT_RD))

	buf := make([]byte, 16)
	big := make([]byte, 32<<20)
	v.Recv(data, buf)
	v.Recv(idle, make([]byte, 1))
	v.Recv(ended, make([]byte, 1))
	v.Send(gone, []byte("x"))
	v.Send(full, big)
	v.Send(data, []byte("answer"))
	v.Recv(1<<20, make([]byte, 1))
	require.NoError(t, v.Run())

	n, err := v.Result(0)
	require.NoError(t, err)
	require.Equal(t, "hello", string(buf[:n]))
	_, err = v.Result(1)
	require.Equal(t, unix.EAGAIN, err)
	n, err = v.Result(2)
	require.NoError(t, err)
	require.Zero(t, n, "the end")
	_, err = v.Result(3)
	require.Equal(t, unix.EPIPE, err)
	n, err = v.Result(4)
	require.NoError(t, err)
	require.Greater(t, n, 0)
	require.Less(t, n, len(big), "what does not fit stays")
	n, err = v.Result(5)
	require.NoError(t, err)
	require.Equal(t, 6, n)
	_, err = v.Result(6)
	require.Equal(t, unix.EBADF, err)

	v.Reset()
	v.Send(full, big)
	require.NoError(t, v.Run())
	_, err = v.Result(0)
	require.Equal(t, unix.EAGAIN, err, "a full socket")
	n, err = unix.Read(dataPeer, buf)
	require.NoError(t, err)
	require.Equal(t, "answer", string(buf[:n]))
}

// The rings go round many times, with vectors of every size.
func TestVectorGoesOn(t *testing.T) {
	v := newVector(t)
	var from, to [VectorCalls]int
	for i := range VectorCalls {
		from[i], to[i] = pair(t)
	}
	bufs := make([][]byte, VectorCalls)
	for i := range bufs {
		bufs[i] = make([]byte, 64)
	}
	for round := range 500 {
		n := round%VectorCalls + 1
		for i := range n {
			v.Send(from[i], fmt.Appendf(nil, "%d of %d", i, round))
		}
		require.NoError(t, v.Run())
		v.Reset()
		for i := range n {
			clear(bufs[i])
			v.Recv(to[i], bufs[i])
		}
		require.NoError(t, v.Run())
		for i := range n {
			got, err := v.Result(i)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("%d of %d", i, round), string(bufs[i][:got]))
		}
		v.Reset()
	}
}

// A vector whose ring is gone says so, and what it did not do looks like a
// socket that was not ready.
func TestVectorThatBreaks(t *testing.T) {
	v := newVector(t)
	a, b := pair(t)
	_, err := unix.Write(b, []byte("x"))
	require.NoError(t, err)
	good := v.fd
	v.fd = -1
	v.Recv(a, make([]byte, 1))
	require.ErrorIs(t, v.Run(), unix.EBADF)
	_, err = v.Result(0)
	require.Equal(t, unix.EAGAIN, err)
	v.fd = good
	require.Error(t, v.Run(), "for good")
	var one [1]byte
	n, err := unix.Read(a, one[:])
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func BenchmarkSocketCalls(b *testing.B) {
	const sockets = 28
	var from, to [sockets]int
	for i := range sockets {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
		require.NoError(b, err)
		from[i], to[i] = fds[0], fds[1]
		defer unix.Close(fds[0])
		defer unix.Close(fds[1])
	}
	msg := bytes.Repeat([]byte("x"), 100)
	bufs := make([][]byte, sockets)
	for i := range bufs {
		bufs[i] = make([]byte, 4096)
	}
	b.Run("one by one", func(b *testing.B) {
		for b.Loop() {
			for i := range sockets {
				_, _ = unix.Write(from[i], msg)
			}
			for i := range sockets {
				_, _ = unix.Read(to[i], bufs[i])
			}
		}
	})
	b.Run("vector", func(b *testing.B) {
		v, err := NewVector()
		if err != nil {
			b.Skip(err)
		}
		defer v.Close()
		b.ReportAllocs()
		for b.Loop() {
			for i := range sockets {
				v.Send(from[i], msg)
			}
			if v.Run() != nil {
				b.Fatal()
			}
			v.Reset()
			for i := range sockets {
				v.Recv(to[i], bufs[i])
			}
			if v.Run() != nil {
				b.Fatal()
			}
			v.Reset()
		}
	})
}
