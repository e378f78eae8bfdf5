package netpoll

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Available says whether New can work here.
const Available = true

// batchEvents is how many descriptors one Wait returns at most; the rest come
// with the next.
const batchEvents = 1024

// Poller is one epoll instance with an eventfd that wakes it.
type Poller struct {
	// Eager makes Wait keep its processor for a millisecond before it lets the
	// scheduler have it. Only for a goroutine that leaves others a processor.
	Eager bool

	epfd, wakefd int
	raw          []unix.EpollEvent
	events       []Event
}

// New makes a poller.
func New() (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(epfd)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &Poller{
		epfd: epfd, wakefd: wakefd,
		raw:    make([]unix.EpollEvent, batchEvents),
		events: make([]Event, 0, batchEvents),
	}
	if err := p.Add(wakefd, Read); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Add watches fd.
func (p *Poller) Add(fd int, i Interest) error { return p.control(unix.EPOLL_CTL_ADD, fd, i) }

// Modify replaces what fd is watched for.
func (p *Poller) Modify(fd int, i Interest) error { return p.control(unix.EPOLL_CTL_MOD, fd, i) }

// Remove stops watching fd. Closing fd does the same.
func (p *Poller) Remove(fd int) error { return p.control(unix.EPOLL_CTL_DEL, fd, 0) }

func (p *Poller) control(op, fd int, i Interest) error {
	e := unix.EpollEvent{Events: mask(i), Fd: int32(fd)}
	if err := unix.EpollCtl(p.epfd, op, fd, &e); err != nil {
		return fmt.Errorf("epoll_ctl %d on descriptor %d: %w", op, fd, err)
	}
	return nil
}

func mask(i Interest) uint32 {
	var m uint32
	if i&Read != 0 {
		m |= unix.EPOLLIN
	}
	if i&Write != 0 {
		m |= unix.EPOLLOUT
	}
	if i&HalfUp != 0 {
		m |= unix.EPOLLRDHUP
	}
	return m
}

// Wait blocks until something is ready, Wake was called or timeoutMilli passed
// (negative: forever). The events are valid until the next Wait; an
// interrupted wait returns none.
func (p *Poller) Wait(timeoutMilli int) ([]Event, error) {
	n, err := 0, error(nil)
	if p.Eager {
		n, err = p.waitEagerly(timeoutMilli)
	}
	if n == 0 && err == nil && (timeoutMilli != 0 || !p.Eager) {
		n, err = unix.EpollWait(p.epfd, p.raw, timeoutMilli)
	}
	if err == unix.EINTR {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("epoll_wait: %w", err)
	}
	p.events = p.events[:0]
	for i := range p.raw[:n] {
		e := &p.raw[i]
		if int(e.Fd) == p.wakefd {
			p.drain()
			continue
		}
		p.events = append(p.events, Event{
			FD:       int(e.Fd),
			Readable: e.Events&unix.EPOLLIN != 0,
			Writable: e.Events&unix.EPOLLOUT != 0,
			HalfDown: e.Events&unix.EPOLLRDHUP != 0,
			Down:     e.Events&(unix.EPOLLERR|unix.EPOLLHUP) != 0,
		})
	}
	return p.events, nil
}

// waitEagerly waits a millisecond at most, without telling the scheduler. A
// wait that tells it loses its processor after 20 µs and must get one back,
// which costs a busy server a futex call or two for each round: 10 to 30% of
// its CPU per request without pipelining, 10% with 16 commands a pipeline.
// The collector's signal interrupts the wait.
func (p *Poller) waitEagerly(timeoutMilli int) (int, error) {
	wait := uintptr(1)
	if timeoutMilli == 0 {
		wait = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epfd),
		uintptr(unsafe.Pointer(&p.raw[0])), uintptr(len(p.raw)), wait, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// drain takes the count of wake-ups, so that they are reported once.
func (p *Poller) drain() {
	var count [8]byte
	_, _ = unix.Read(p.wakefd, count[:]) // EAGAIN: another Wait took it
}

// one is what an eventfd adds up: a 64-bit number in the machine's order. Any
// non-zero value wakes.
var one = [8]byte{1, 0, 0, 0, 0, 0, 0, 1}

// Wake makes the present or the next Wait return. Safe from any goroutine,
// never blocks: a full eventfd is awake already.
func (p *Poller) Wake() {
	_, _ = unix.Write(p.wakefd, one[:])
}

// Close releases the poller, not the descriptors it watched. Nobody may call
// Wake afterwards.
func (p *Poller) Close() {
	unix.Close(p.wakefd)
	unix.Close(p.epfd)
}
