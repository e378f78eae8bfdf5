package shard

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// An entry is a key with its value, in one block of the arena:
//
//	1     flags: type, raw, form of the deadline, where key and value are
//	3     access clock (see access.go), little endian
//	1..   length of the key, as a varint
//	      the key; or, when it is over 1 KiB, its hash and the handle of a big block
//	0|5|8 the deadline
//	1..   length of the value, as a varint
//	      the value; or, when the entry would be over 4 KiB, the handle of a big block
//
// Flags and clock are also used as one word, which is why Hapax supports
// little-endian machines only.
//
// Only the index refers to an entry, so it may move. Its bytes never change
// while its key and value live, except for the clock, a deadline of the same
// form, and what Splice documents (I4).
const (
	flagType     = 0x07
	flagRaw      = 0x08
	flagShort    = 0x10 // deadline of 5 bytes
	flagLong     = 0x20 // deadline of 8 bytes
	flagBigValue = 0x40
	flagBigKey   = 0x80

	entryHead   = 4
	maxKeyBytes = 1024 // of a key inside its entry
	handleBytes = 8
)

// Deadlines from 2020 to 2054 take five bytes: milliseconds since deadlineBase.
const (
	deadlineBase = 1577836800000
	deadlineSpan = 1 << 40
)

func isShortDeadline(milli int64) bool {
	return milli >= deadlineBase && milli < deadlineBase+deadlineSpan
}

// deadlineFlag is the form that milli needs.
func deadlineFlag(milli int64) byte {
	switch {
	case milli == 0:
		return 0
	case isShortDeadline(milli):
		return flagShort
	}
	return flagLong
}

func deadlineBytes(flags byte) int {
	switch {
	case flags&flagShort != 0:
		return 5
	case flags&flagLong != 0:
		return 8
	}
	return 0
}

// entry is one entry, taken apart. What its pointers lead to is borrowed from
// the keyspace.
type entry struct {
	flags      byte
	key        []byte
	deadlineAt unsafe.Pointer
	value      []byte
}

func flagsOf(e unsafe.Pointer) byte { return *(*byte)(e) }

// uvarintAt reads a length of at most five bytes and says how many it took.
func uvarintAt(p unsafe.Pointer) (n, width int) {
	b := *(*byte)(p)
	if b < 0x80 {
		return int(b), 1
	}
	n = int(b & 0x7f)
	for width = 1; ; width++ {
		b = *(*byte)(unsafe.Add(p, width))
		n |= int(b&0x7f) << (7 * width)
		if b < 0x80 {
			return n, width + 1
		}
	}
}

func uvarintBytes(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

func handleAt(p unsafe.Pointer) handle {
	return handle(binary.LittleEndian.Uint64((*[8]byte)(p)[:]))
}

// keyOf is e's key and where it ends in the entry.
func (ks *keyspace) keyOf(e unsafe.Pointer) (key []byte, end unsafe.Pointer) {
	p := unsafe.Add(e, entryHead)
	n, width := uvarintAt(p)
	p = unsafe.Add(p, width)
	if flagsOf(e)&flagBigKey == 0 {
		return unsafe.Slice((*byte)(p), n), unsafe.Add(p, n)
	}
	return unsafe.Slice((*byte)(ks.big.payload(handleAt(unsafe.Add(p, 8)))), n), unsafe.Add(p, 8+handleBytes)
}

// hashOf is the hash of e's key. That of a big one is kept: growing a segment
// must not read half a gigabyte.
func (ks *keyspace) hashOf(e unsafe.Pointer) uint64 {
	if flagsOf(e)&flagBigKey != 0 {
		_, width := uvarintAt(unsafe.Add(e, entryHead))
		return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(e, entryHead+width))[:])
	}
	key, _ := ks.keyOf(e)
	return hashKey(key)
}

// behindKey is what comes behind e's key, its deadline or its value; nil when
// that key is another than k.
func (ks *keyspace) behindKey(e unsafe.Pointer, k *Key) unsafe.Pointer {
	p := unsafe.Add(e, entryHead)
	n, width := uvarintAt(p)
	if n != len(k.Bytes) {
		return nil
	}
	p = unsafe.Add(p, width)
	key, end := p, unsafe.Add(p, n)
	if flagsOf(e)&flagBigKey != 0 {
		key, end = ks.big.payload(handleAt(unsafe.Add(p, 8))), unsafe.Add(p, 8+handleBytes)
	}
	if string(unsafe.Slice((*byte)(key), n)) != string(k.Bytes) {
		return nil
	}
	return end
}

// deadlineOf is e's deadline, 0 for none.
func (ks *keyspace) deadlineOf(e unsafe.Pointer) int64 {
	flags := flagsOf(e)
	if flags&(flagShort|flagLong) == 0 {
		return 0
	}
	_, p := ks.keyOf(e)
	return readDeadline(p, flags)
}

func readDeadline(p unsafe.Pointer, flags byte) int64 {
	switch {
	case flags&flagShort != 0:
		b := (*[5]byte)(p)
		return deadlineBase + int64(binary.LittleEndian.Uint32(b[:4])) + int64(b[4])<<32
	case flags&flagLong != 0:
		return int64(binary.LittleEndian.Uint64((*[8]byte)(p)[:]))
	}
	return 0
}

func writeDeadline(p unsafe.Pointer, milli int64) unsafe.Pointer {
	switch deadlineFlag(milli) {
	case flagShort:
		b, v := (*[5]byte)(p), uint64(milli-deadlineBase)
		binary.LittleEndian.PutUint32(b[:4], uint32(v))
		b[4] = byte(v >> 32)
		return unsafe.Add(p, 5)
	case flagLong:
		binary.LittleEndian.PutUint64((*[8]byte)(p)[:], uint64(milli))
		return unsafe.Add(p, 8)
	}
	return p
}

// parse takes e apart.
func (ks *keyspace) parse(e unsafe.Pointer) entry {
	flags := flagsOf(e)
	key, p := ks.keyOf(e)
	x := entry{flags: flags, key: key, deadlineAt: p}
	x.value = ks.valueAt(p, flags)
	return x
}

// valueAt is the value of an entry whose key ends at p.
func (ks *keyspace) valueAt(p unsafe.Pointer, flags byte) []byte {
	p = unsafe.Add(p, deadlineBytes(flags))
	n, width := uvarintAt(p)
	p = unsafe.Add(p, width)
	if flags&flagBigValue != 0 {
		p = ks.big.payload(handleAt(p))
	}
	return unsafe.Slice((*byte)(p), n)
}

func (x *entry) deadline() int64 { return readDeadline(x.deadlineAt, x.flags) }

func (x *entry) asValue() Value {
	return Value{
		Type:          Type(x.flags & flagType),
		Raw:           x.flags&flagRaw != 0,
		DeadlineMilli: x.deadline(),
		Bytes:         x.value,
	}
}

// bigHandles are the handles of an entry's big blocks, 0 where it has none.
func (ks *keyspace) bigHandles(e unsafe.Pointer) (key, value handle) {
	flags := flagsOf(e)
	if flags&(flagBigKey|flagBigValue) == 0 {
		return 0, 0
	}
	p := unsafe.Add(e, entryHead)
	n, width := uvarintAt(p)
	p = unsafe.Add(p, width)
	if flags&flagBigKey != 0 {
		key = handleAt(unsafe.Add(p, 8))
		p = unsafe.Add(p, 8+handleBytes)
	} else {
		p = unsafe.Add(p, n)
	}
	if flags&flagBigValue != 0 {
		p = unsafe.Add(p, deadlineBytes(flags))
		_, width = uvarintAt(p)
		value = handleAt(unsafe.Add(p, width))
	}
	return key, value
}
