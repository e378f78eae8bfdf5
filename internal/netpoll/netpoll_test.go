//go:build linux

package netpoll

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

// each runs f with a poller of either kind.
func each(t *testing.T, f func(t *testing.T, p *Poller)) {
	for _, eager := range []bool{false, true} {
		t.Run(fmt.Sprintf("eager=%v", eager), func(t *testing.T) {
			p, err := New()
			require.NoError(t, err)
			t.Cleanup(p.Close)
			p.Eager = eager
			f(t, p)
		})
	}
}

func wait(t *testing.T, p *Poller, timeoutMilli int) []Event {
	t.Helper()
	events, err := p.Wait(timeoutMilli)
	require.NoError(t, err)
	return events
}

// waitFor goes on after waits that a signal of the runtime interrupted.
func waitFor(t *testing.T, p *Poller) []Event {
	t.Helper()
	for {
		if events := wait(t, p, -1); len(events) > 0 {
			return events
		}
	}
}

func TestReadableUntilTaken(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		a, b := pair(t)
		require.NoError(t, p.Add(a, Read))
		require.Empty(t, wait(t, p, 0))

		_, err := unix.Write(b, []byte("xy"))
		require.NoError(t, err)
		var one [1]byte
		for range 2 { // level triggered: the byte that was not taken is reported again
			require.Equal(t, []Event{{FD: a, Readable: true}}, waitFor(t, p))
			_, err := unix.Read(a, one[:])
			require.NoError(t, err)
		}
		require.Empty(t, wait(t, p, 0))
	})
}

func TestInterestDecidesWhatIsReported(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		a, b := pair(t)
		require.NoError(t, p.Add(a, Write))
		require.Equal(t, []Event{{FD: a, Writable: true}}, waitFor(t, p))

		_, err := unix.Write(b, []byte("x"))
		require.NoError(t, err)
		require.NoError(t, p.Modify(a, HalfUp))
		require.Empty(t, wait(t, p, 0), "data must not wake one who waits for the end alone")

		require.NoError(t, unix.Shutdown(b, unix.SHUT_WR))
		require.Equal(t, []Event{{FD: a, HalfDown: true}}, waitFor(t, p))

		require.NoError(t, p.Remove(a))
		require.Empty(t, wait(t, p, 0))
	})
}

func TestHangUpIsReportedWithoutInterest(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		a, b := pair(t)
		require.NoError(t, p.Add(a, 0))
		require.NoError(t, unix.Shutdown(a, unix.SHUT_RDWR))
		require.NoError(t, unix.Shutdown(b, unix.SHUT_RDWR))
		require.Equal(t, []Event{{FD: a, Down: true}}, waitFor(t, p))
	})
}

func TestWakeFromManyGoroutinesIsOneWake(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 1000 {
					p.Wake()
				}
			})
		}
		all.Wait()
		require.Empty(t, wait(t, p, -1), "a wake-up is no event")
		// Were the count left in the eventfd, the next wait would not block; a
		// socket proves that the poller still works after so many.
		a, b := pair(t)
		require.NoError(t, p.Add(a, Read))
		require.Empty(t, wait(t, p, 0))
		_, err := unix.Write(b, []byte("x"))
		require.NoError(t, err)
		require.Equal(t, []Event{{FD: a, Readable: true}}, waitFor(t, p))
	})
}

func TestWakeEndsAWaitThatBlocks(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		woken := make(chan error, 1)
		go func() {
			_, err := p.Wait(-1)
			woken <- err
		}()
		p.Wake()
		require.NoError(t, <-woken)
	})
}

func TestErrorsName(t *testing.T) {
	each(t, func(t *testing.T, p *Poller) {
		require.ErrorIs(t, p.Add(-1, Read), unix.EBADF)
		a, _ := pair(t)
		require.ErrorIs(t, p.Modify(a, Read), unix.ENOENT)
	})
}
