package shard

import "unsafe"

// The access clock of an entry is 24 bits, as in Redis: for LRU the seconds of
// the last access; for LFU the minutes of the last decrement (16 bits) and a
// logarithmic counter (8 bits). 0 means that recovery brought the entry, which
// reads no clock (I2): it counts as accessed when the store began to serve.
const (
	clockMask = 1<<24 - 1

	lfuFirst       = 5  // counter of a new key
	lfuLogFactor   = 10 // accesses to saturate the counter: about a million
	lfuDecayMinute = 1  // the counter loses one per minute without access
)

func lruClock(nowMilli int64) uint32 { return max(uint32(nowMilli/1000)&clockMask, 1) }

func lfuMinute(nowMilli int64) uint32 { return uint32(nowMilli/60000) & 0xffff }

func lfuClock(minute, counter uint32) uint32 { return minute<<8 | counter }

func clockOf(e unsafe.Pointer) uint32 { return *(*uint32)(e) >> 8 }

func setClock(e unsafe.Pointer, clock uint32) {
	w := (*uint32)(e)
	*w = *w&0xff | clock<<8
}

// touch moves e's access clock; it stores nothing when nothing changes, so
// that reads do not dirty cache lines.
func (tx *Tx) touch(e unsafe.Pointer) {
	if tx.noTouch {
		return
	}
	was := clockOf(e)
	is := tx.clock
	if tx.lfu {
		is = lfuClock(lfuMinute(tx.now), tx.lfuHit(tx.lfuDecayed(was)))
	}
	if is != was {
		setClock(e, is)
	}
}

// lfuHit counts one access: the higher the counter, the less likely it moves.
func (tx *Tx) lfuHit(counter uint32) uint32 {
	if counter == 255 {
		return counter
	}
	above := uint64(0)
	if counter > lfuFirst {
		above = uint64(counter - lfuFirst)
	}
	if scramble(&tx.random)%(above*lfuLogFactor+1) == 0 {
		counter++
	}
	return counter
}

// lfuDecayed is the counter of clock at the Tx's time.
func (tx *Tx) lfuDecayed(clock uint32) uint32 {
	minute, counter := clock>>8, clock&0xff
	if clock == 0 {
		minute, counter = lfuMinute(tx.store.started.Load()), lfuFirst
	}
	elapsed := (lfuMinute(tx.now) - minute) & 0xffff / lfuDecayMinute
	return counter - min(counter, elapsed)
}

// frequency is OBJECT FREQ.
func (tx *Tx) frequency(clock uint32) uint8 { return uint8(tx.lfuDecayed(clock)) }

// idleSec is OBJECT IDLETIME. The clock goes round in 194 days.
func (tx *Tx) idleSec(clock uint32) int64 {
	if clock == 0 {
		return max(tx.now-tx.store.started.Load(), 0) / 1000
	}
	return int64((lruClock(tx.now) - clock) & clockMask)
}

// newClock is the access clock of an entry that replaces old, or of a new one
// when old is nil. As in Redis, LFU keeps counting and LRU starts again.
func (tx *Tx) newClock(old unsafe.Pointer) uint32 {
	if tx.lfu && old != nil {
		return clockOf(old)
	}
	return tx.clock
}
