package netpoll

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Vector carries out many receives or sends with one system call: it hands
// them to the kernel through an io_uring, whose calls all complete before the
// call returns, because none may wait. It is to recv(2) and send(2) on many
// sockets what readv(2) is to read(2) on many buffers.
//
// Without pipelining, entering and leaving the kernel for each socket is a
// fifth of what a server spends where system calls are dear: on a guest
// without hardware virtualisation GET and SET of 50 connections took 20 to 30%
// less CPU with vectors of about 28 calls.
//
// A Vector belongs to one goroutine. Buffers are borrowed until Run returns.
type Vector struct {
	fd     int
	rings  []byte // submission and completion ring, one mapping
	table  []byte // the submissions
	sq     *uring
	cq     *uring
	cqes   unsafe.Pointer
	calls  []vectorCall
	broken error
}

// vectorCall is one call and, after Run, its result.
type vectorCall struct {
	b   []byte // keeps the memory alive while the kernel uses it
	res int32
}

// uring is the shared part of a ring: where it was read to, where it was
// written to.
type uring struct {
	head, tail *uint32
	mask       uint32
}

// VectorCalls is how many calls one Run makes at most.
const VectorCalls = 32

// Offsets, opcodes and flags of io_uring's interface, from its header
// linux/io_uring.h.
const (
	uringOffRings = 0
	uringOffTable = 0x10000000

	uringSetupSubmitAll   = 1 << 7 // a failed call does not hold up those behind it: Linux 5.18
	uringSetupCoopTaskrun = 1 << 8 // no interrupts to tell of completions: Linux 5.19
	uringFeatSingleMmap   = 1 << 0
	uringEnterGetEvents   = 1 << 0

	uringOpSend = 26
	uringOpRecv = 27
)

type uringParams struct {
	sqEntries, cqEntries, flags         uint32
	sqThreadCPU, sqThreadIdle, features uint32
	wqFD                                uint32
	_                                   [3]uint32
	sqOff                               struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cqOff struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

type uringSQE struct {
	op, flags uint8
	ioprio    uint16
	fd        int32
	off, addr uint64
	length    uint32
	msgFlags  uint32
	userData  uint64
	_         [3]uint64
}

type uringCQE struct {
	userData uint64
	res      int32
	flags    uint32
}

// NewVector makes a vector; an error when the system has no io_uring of Linux
// 5.19 or later, or forbids it, as container runtimes often do.
func NewVector() (*Vector, error) {
	p := uringParams{flags: uringSetupSubmitAll | uringSetupCoopTaskrun}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, VectorCalls, uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	v := &Vector{fd: int(fd), calls: make([]vectorCall, 0, VectorCalls)}
	unix.CloseOnExec(v.fd)
	if err := v.mapRings(&p); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

func (v *Vector) mapRings(p *uringParams) (err error) {
	if p.features&uringFeatSingleMmap == 0 {
		return fmt.Errorf("io_uring: rings of before Linux 5.4: %w", unix.ENOSYS)
	}
	size := max(p.sqOff.array+4*p.sqEntries, p.cqOff.cqes+p.cqEntries*uint32(unsafe.Sizeof(uringCQE{})))
	const access, how = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	if v.rings, err = unix.Mmap(v.fd, uringOffRings, int(size), access, how); err != nil {
		return fmt.Errorf("io_uring: mapping its rings: %w", err)
	}
	tableBytes := p.sqEntries * uint32(unsafe.Sizeof(uringSQE{}))
	if v.table, err = unix.Mmap(v.fd, uringOffTable, int(tableBytes), access, how); err != nil {
		return fmt.Errorf("io_uring: mapping its submissions: %w", err)
	}
	v.sq = &uring{v.word(p.sqOff.head), v.word(p.sqOff.tail), *v.word(p.sqOff.mask)}
	v.cq = &uring{v.word(p.cqOff.head), v.word(p.cqOff.tail), *v.word(p.cqOff.mask)}
	v.cqes = unsafe.Pointer(&v.rings[p.cqOff.cqes])
	for i := range p.sqEntries { // entry i of the ring is submission i, for good
		*v.word(p.sqOff.array + 4*i) = i
	}
	return nil
}

func (v *Vector) word(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&v.rings[offset])) }

// Recv adds a receive into b, which is not empty, from a socket; Send adds a
// send of b. The number of the call, from 0, is its place in the order of
// adding.
func (v *Vector) Recv(fd int, b []byte) { v.add(uringOpRecv, fd, b) }

// Send: see Recv.
func (v *Vector) Send(fd int, b []byte) { v.add(uringOpSend, fd, b) }

func (v *Vector) add(op uint8, fd int, b []byte) {
	i := uint32(len(v.calls))
	at := (*v.sq.tail + i) & v.sq.mask
	*(*uringSQE)(unsafe.Pointer(&v.table[uintptr(at)*unsafe.Sizeof(uringSQE{})])) = uringSQE{
		op: op, fd: int32(fd), userData: uint64(i),
		addr: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))), length: uint32(len(b)),
		msgFlags: unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL,
	}
	v.calls = append(v.calls, vectorCall{b: b, res: -int32(unix.EAGAIN)})
}

// Run makes the calls that were added. After an error the vector is of no more
// use; calls that were not made have failed with EAGAIN.
func (v *Vector) Run() error {
	n := uint32(len(v.calls))
	if n == 0 || v.broken != nil {
		return v.broken
	}
	atomic.StoreUint32(v.sq.tail, *v.sq.tail+n)
	submitted := uint32(0)
	for tries := 0; submitted < n && v.broken == nil; tries++ {
		took, errno := v.enter(n-submitted, 0, 0)
		submitted += took
		if errno != 0 && (!passing(errno) || tries > maxTries) {
			v.broken = fmt.Errorf("io_uring_enter: %w", errno)
		}
	}
	for done := v.reap(); done < submitted; done += v.reap() {
		// None may wait, so this is not seen. But nobody may use the memory
		// of a call that is still under way.
		if _, errno := v.enter(0, submitted-done, uringEnterGetEvents); errno != 0 && !passing(errno) {
			panic(fmt.Sprintf("io_uring_enter lost %d calls: %v", submitted-done, errno))
		}
	}
	runtime.KeepAlive(v.calls)
	return v.broken
}

// maxTries is how often the kernel may have no memory for calls before the
// vector is given up.
const maxTries = 1000

// passing says whether another try may succeed.
func passing(errno unix.Errno) bool {
	return errno == unix.EINTR || errno == unix.EAGAIN || errno == unix.EBUSY
}

// enter returns how many calls the kernel took. The scheduler is not told, as
// with any call of a loop that does not wait.
func (v *Vector) enter(submit, wait uint32, flags uintptr) (uint32, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(v.fd), uintptr(submit), uintptr(wait), flags, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return uint32(n), 0
}

// reap takes results and says how many there were.
func (v *Vector) reap() uint32 {
	head, tail := *v.cq.head, atomic.LoadUint32(v.cq.tail)
	for at := head; at != tail; at++ {
		e := (*uringCQE)(unsafe.Add(v.cqes, uintptr(at&v.cq.mask)*unsafe.Sizeof(uringCQE{})))
		v.calls[e.userData].res = e.res
	}
	atomic.StoreUint32(v.cq.head, tail)
	return tail - head
}

// Result is what call i returned, as read(2) or write(2) would.
func (v *Vector) Result(i int) (int, error) {
	res := v.calls[i].res
	if res < 0 {
		return -1, unix.Errno(-res)
	}
	return int(res), nil
}

// Reset forgets the calls, so that others can be added.
func (v *Vector) Reset() {
	clear(v.calls)
	v.calls = v.calls[:0]
}

// Close gives everything back.
func (v *Vector) Close() {
	if v.table != nil {
		_ = unix.Munmap(v.table)
	}
	if v.rings != nil {
		_ = unix.Munmap(v.rings)
	}
	unix.Close(v.fd)
}
