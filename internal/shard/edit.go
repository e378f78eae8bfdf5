package shard

import "unsafe"

// splicing is a prepared Splice: nothing of it shows before it is applied.
type splicing struct {
	offset int
	length int            // of the value afterwards
	r      ref            // the entry that replaces the present one; 0: the present one stays
	value  unsafe.Pointer // where the value's bytes are or will be
	copied bool           // value is new memory: what is kept of the old must be copied
	zeroed bool           // behind the old value there is nothing but zeros
}

// spliceSlack is the part by which a big value that no longer fits its block
// gets more than it needs, so that appending n bytes a piece at a time costs
// a multiple of n and not of its square.
const spliceSlack = 4

// farGapBytes: a gap of zeros from which on a value that grows gets a mapping
// of its own. That is zero already: the gap costs nothing, neither the time to
// write zeros under the lock nor memory before somebody writes there.
const farGapBytes = 1 << 20

// prepareSplice reserves what a splice of n bytes at offset needs; false when
// there is no memory.
//
// A value inside its entry is replaced. A big one is written where it lies
// when its block has room and is not lent: the shard's lock keeps readers out,
// and Splice says that this Tx's own borrow ends. Otherwise every SETRANGE would copy
// megabytes to change a byte.
func (ks *keyspace) prepareSplice(k *Key, c *cell, offset, n int, clock uint32) (s splicing, ok bool) {
	x := ks.parse(c.e)
	s.offset, s.length = offset, max(len(x.value), offset+n)
	d := draft{
		key: k, typ: Type(x.flags & flagType), raw: true, deadlineMilli: x.deadline(),
		clock: clock, valueBytes: s.length,
	}
	_, big := ks.bigHandles(c.e)
	if big == 0 || ks.big.capacity(big) < s.length || ks.big.pinned(big) {
		s.copied = true
		if _, flags := d.layout(); flags&flagBigValue != 0 {
			if d.value, ok = ks.spliceBlock(s.length, offset-len(x.value)); !ok {
				return s, false
			}
			s.zeroed = ks.big.isSolo(d.value)
		}
	} else if s.value, s.zeroed = ks.big.payload(big), ks.big.isSolo(big); x.flags&flagRaw != 0 && s.length == len(x.value) {
		return s, true
	} else {
		d.value = big
	}
	r, p, ok := ks.newEntry(&d)
	if !ok {
		if s.copied {
			ks.releaseBig(d.value)
		}
		return s, false
	}
	s.r, s.value = r, p
	return s, true
}

// spliceBlock is a block for a value of n bytes that grew, which begins a gap
// of gapBytes zeros behind its end.
func (ks *keyspace) spliceBlock(n, gapBytes int) (handle, bool) {
	if gapBytes >= farGapBytes {
		if h, ok := ks.big.allocSolo(ks.big.blockBytes(n + n/spliceSlack)); ok {
			return h, true
		}
	}
	if h, ok := ks.big.alloc(n + n/spliceSlack); ok {
		return h, true
	}
	return ks.big.alloc(n)
}

// splice applies s and returns the entry that it replaced, 0 when none.
func (ks *keyspace) splice(slot uint16, c *cell, s *splicing, b []byte) (old ref) {
	x := ks.parse(c.e)
	value := unsafe.Slice((*byte)(s.value), s.length)
	if s.copied {
		copy(value, x.value)
	}
	if s.offset > len(x.value) && !s.zeroed {
		clear(value[len(x.value):s.offset])
	}
	copy(value[s.offset:], b)
	if s.r == 0 {
		return 0
	}
	old = ks.swap(slot, c, s.r)
	if !s.copied {
		disown(ks.arena.at(old))
	}
	return old
}

// prepareDeadline reserves the entry that a deadline of another form needs, 0
// when it can be written over the present one.
func (ks *keyspace) prepareDeadline(k *Key, c *cell, milli int64) (ref, bool) {
	x := ks.parse(c.e)
	if x.flags&(flagShort|flagLong) == deadlineFlag(milli) {
		return 0, true
	}
	_, big := ks.bigHandles(c.e)
	d := draft{
		key: k, typ: Type(x.flags & flagType), raw: x.flags&flagRaw != 0, deadlineMilli: milli,
		clock: clockOf(c.e), valueBytes: len(x.value), value: big,
	}
	r, p, ok := ks.newEntry(&d)
	if ok && big == 0 {
		copy(unsafe.Slice((*byte)(p), len(x.value)), x.value)
	}
	return r, ok
}

// setDeadline applies what prepareDeadline prepared and returns the entry that
// was replaced, 0 when none.
func (ks *keyspace) setDeadline(slot uint16, c *cell, milli int64, r ref) (old ref) {
	if r == 0 {
		x := ks.parse(c.e)
		writeDeadline(x.deadlineAt, milli)
		return 0
	}
	_, big := ks.bigHandles(c.e)
	old = ks.swap(slot, c, r)
	if big != 0 {
		disown(ks.arena.at(old))
	}
	return old
}
