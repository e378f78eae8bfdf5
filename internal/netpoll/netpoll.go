// Package netpoll tells which sockets can be read or written, and does it for
// many at a time. Level triggered:
// what is not taken is reported again, so nothing is lost by stopping early.
//
// A Vector reads from or writes to many sockets with one system call.
//
// A Poller belongs to one goroutine; only Wake may be called from others. It
// never reads, writes or closes a descriptor it was given. Where the system
// has no epoll, New fails with ErrUnavailable and the server runs a goroutine
// per connection instead.
package netpoll

import "errors"

// ErrUnavailable says that this system has no poller.
var ErrUnavailable = errors.New("no epoll on this system")

// Interest is what a descriptor is watched for. Errors and a full hang-up are
// reported whatever the interest.
type Interest uint8

const (
	Read   Interest = 1 << iota // readable, or the peer sent its end
	Write                       // writable
	HalfUp                      // the peer sent its end, without Read's wake-ups for data
)

// Event is one ready descriptor.
type Event struct {
	FD       int
	Readable bool // a read will not block: data, end or an error
	Writable bool
	HalfDown bool // the peer sent its end; data may be waiting before it
	Down     bool // error or hung up both ways
}
