package command

import (
	"encoding/binary"
	"math/bits"
)

// This file is LIMIT's arithmetic: GCRA, the leaky bucket that needs one
// number. That number is the arrival time: the moment at which the whole
// limit is available again. A call that spends cost moves it on by
// cost * window / limit from itself or from now, whichever is later, and is
// admitted if it then lies no more than a window ahead.
//
// Time is counted in whole milliseconds and 1/limit parts of one, so nothing
// is ever rounded while the limit stays the same. When the limit changes the
// fraction is rounded up to the new unit: never in favour of the caller.

// Bounds of LIMIT. With them cost*window takes 65 bits and is computed in 128.
const (
	maxLimit = 1_000_000_000
	maxCost  = 1_000_000_000
)

// arrival is milli + part/limit, with part < limit.
type arrival struct {
	milli int64
	part  uint64
}

// rescale rounds a with parts of 1/from up to parts of 1/to.
func (a arrival) rescale(from, to uint64) arrival {
	if from == to {
		return a
	}
	a.part = (a.part*to + from - 1) / from // below 10^18
	return a.carry(to)
}

// carry makes a whole millisecond of limit parts, of which there are fewer
// than two.
func (a arrival) carry(limit uint64) arrival {
	if a.part >= limit {
		a.milli++
		a.part -= limit
	}
	return a
}

// ceil is the first whole millisecond at or after a.
func (a arrival) ceil() int64 {
	if a.part > 0 {
		return a.milli + 1
	}
	return a.milli
}

// bucket is a limit: at most limit within windowMilli.
type bucket struct {
	limit       uint64 // 1..maxLimit
	windowMilli uint64 // 1..maxNativeTTLMilli
}

// spend is a moved on by cost, which is at most limit.
func (b bucket) spend(a arrival, cost uint64) arrival {
	hi, lo := bits.Mul64(cost, b.windowMilli)
	milli, part := bits.Div64(hi, lo, b.limit) // at most windowMilli
	a.milli += int64(milli)
	a.part += part
	return a.carry(b.limit)
}

// within says whether a lies no more than a window after now.
func (b bucket) within(a arrival, nowMilli int64) bool {
	ahead := a.milli - nowMilli
	return ahead < int64(b.windowMilli) || ahead == int64(b.windowMilli) && a.part == 0
}

// remaining is what could be spent at once: the room left in the window,
// in whole units of the limit.
func (b bucket) remaining(a arrival, nowMilli int64) int64 {
	if !b.within(a, nowMilli) {
		return 0
	}
	hi, lo := bits.Mul64(b.windowMilli-uint64(a.milli-nowMilli), b.limit)
	lo, borrow := bits.Sub64(lo, a.part, 0)
	whole, _ := bits.Div64(hi-borrow, lo, b.windowMilli)
	return int64(whole)
}

// decision is LIMIT's reply.
type decision struct {
	allowed    bool
	remaining  int64
	retryMilli int64 // until the same call would be allowed: 0 now, -1 never
	resetMilli int64 // until the whole limit is available again
}

// decide spends cost at nowMilli. a is the present arrival time, never before
// nowMilli. The arrival time returned is to be stored if it is another one.
func (b bucket) decide(a arrival, nowMilli int64, cost uint64) (arrival, decision) {
	never := cost > b.limit
	next := a
	if !never {
		next = b.spend(a, cost)
	}
	d := decision{allowed: !never && b.within(next, nowMilli)}
	switch {
	case d.allowed:
		a = next
	case never:
		d.retryMilli = -1
	default:
		d.retryMilli = next.ceil() - int64(b.windowMilli) - nowMilli
	}
	d.remaining = b.remaining(a, nowMilli)
	d.resetMilli = a.ceil() - nowMilli
	return a, d
}

// The record is described in docs/format/idem-record.md.
const (
	limitRecordBytes = 20
	limitVersion     = 1
	maxArrivalMilli  = 1<<62 - 1 // leaves room for a window on top
)

var limitMagic = [4]byte{0xF1, 'L', 'M', limitVersion}

func appendLimitRecord(dst []byte, limit uint64, a arrival) []byte {
	dst = append(dst, limitMagic[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(limit))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(a.part))
	return binary.LittleEndian.AppendUint64(dst, uint64(a.milli))
}

func decodeLimitRecord(b []byte) (limit uint64, a arrival, ok bool) {
	if len(b) != limitRecordBytes || [4]byte(b[:4]) != limitMagic {
		return 0, arrival{}, false
	}
	limit = uint64(binary.LittleEndian.Uint32(b[4:]))
	a.part = uint64(binary.LittleEndian.Uint32(b[8:]))
	milli := binary.LittleEndian.Uint64(b[12:])
	a.milli = int64(milli)
	return limit, a, limit >= 1 && limit <= maxLimit && a.part < limit && milli <= maxArrivalMilli
}
