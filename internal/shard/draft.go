package shard

import (
	"encoding/binary"
	"unsafe"
)

// draft is an entry to be made.
type draft struct {
	key           *Key
	typ           Type
	raw           bool
	deadlineMilli int64
	clock         uint32
	valueBytes    int    // length of the value
	value         handle // big block that holds the value already, or 0
}

// layout is how large d's entry is, and its flags.
func (d *draft) layout() (sizeBytes int, flags byte) {
	flags = byte(d.typ) & flagType
	if d.raw {
		flags |= flagRaw
	}
	flags |= deadlineFlag(d.deadlineMilli)
	n := entryHead + uvarintBytes(len(d.key.Bytes)) + deadlineBytes(flags) + uvarintBytes(d.valueBytes)
	if len(d.key.Bytes) > maxKeyBytes {
		flags |= flagBigKey
		n += 8 + handleBytes
	} else {
		n += len(d.key.Bytes)
	}
	if d.value != 0 || n+d.valueBytes > maxBlockBytes {
		return n + handleBytes, flags | flagBigValue
	}
	return n + d.valueBytes, flags
}

// newEntry makes d's entry with everything but the value's bytes, and returns
// where those go. Nothing refers to the entry yet. False when there is no
// memory; then nothing is held.
func (ks *keyspace) newEntry(d *draft) (r ref, value unsafe.Pointer, ok bool) {
	size, flags := d.layout()
	bigKey, bigValue := handle(0), d.value
	if flags&flagBigKey != 0 {
		if bigKey, ok = ks.big.alloc(len(d.key.Bytes)); !ok {
			return 0, nil, false
		}
	}
	if flags&flagBigValue != 0 && bigValue == 0 {
		if bigValue, ok = ks.big.alloc(d.valueBytes); !ok {
			ks.releaseBig(bigKey)
			return 0, nil, false
		}
	}
	if r, ok = ks.arena.alloc(entryUnits(size)); !ok {
		ks.releaseBig(bigKey)
		if d.value == 0 {
			ks.releaseBig(bigValue)
		}
		return 0, nil, false
	}
	e := ks.arena.at(r)
	*(*uint32)(e) = uint32(flags) | d.clock<<8
	p := putUvarint(unsafe.Add(e, entryHead), len(d.key.Bytes))
	if bigKey != 0 {
		copy(unsafe.Slice((*byte)(ks.big.payload(bigKey)), len(d.key.Bytes)), d.key.Bytes)
		p = putUint64(putUint64(p, d.key.Hash), uint64(bigKey))
	} else {
		p = unsafe.Add(p, copy(unsafe.Slice((*byte)(p), len(d.key.Bytes)), d.key.Bytes))
	}
	p = writeDeadline(p, d.deadlineMilli)
	p = putUvarint(p, d.valueBytes)
	if bigValue != 0 {
		putUint64(p, uint64(bigValue))
		p = ks.big.payload(bigValue)
	}
	return r, p, true
}

// entryUnits is the block size for an entry of sizeBytes. From 512 bytes on the
// steps are 1/32 to 1/64 of the size: with steps of 8 bytes, values of many
// sizes would leave a slab half empty for each of 512 sizes in every shard.
func entryUnits(sizeBytes int) int {
	units := (sizeBytes + unitBytes - 1) / unitBytes
	grain := 1
	for limit := maxBlockUnits / 8; units > limit; limit *= 2 {
		grain *= 2
	}
	return (units + grain - 1) &^ (grain - 1)
}

func putUvarint(p unsafe.Pointer, n int) unsafe.Pointer {
	for ; n >= 0x80; n >>= 7 {
		*(*byte)(p) = byte(n) | 0x80
		p = unsafe.Add(p, 1)
	}
	*(*byte)(p) = byte(n)
	return unsafe.Add(p, 1)
}

func putUint64(p unsafe.Pointer, v uint64) unsafe.Pointer {
	binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v)
	return unsafe.Add(p, 8)
}

// entryBytesAt is the memory that the entry at r holds.
func (ks *keyspace) entryBytesAt(r ref) int64 {
	n := int64(ks.arena.units(r)) * unitBytes
	key, value := ks.bigHandles(ks.arena.at(r))
	if key != 0 {
		n += ks.big.size(key)
	}
	if value != 0 {
		n += ks.big.size(value)
	}
	return n
}

// freeEntry frees the entry at r with its big blocks.
func (ks *keyspace) freeEntry(r ref) {
	key, value := ks.bigHandles(ks.arena.at(r))
	ks.releaseBig(key)
	ks.releaseBig(value)
	ks.arena.release(r)
}

func (ks *keyspace) releaseBig(h handle) {
	if h != 0 {
		ks.big.release(h)
	}
}

// disown makes the entry at r forget its big value, which another took over.
func disown(e unsafe.Pointer) { *(*byte)(e) &^= flagBigValue }
