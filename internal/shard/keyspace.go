package shard

import (
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/wal"
)

// slotRec is what a database knows of one slot: half a cache line, so that a
// lookup finds the index and the LSN to wait for together.
type slotRec struct {
	word    word
	lsn     wal.LSN // last record that changed the slot, or that an expiry in it waits for (I5)
	keys    uint32
	expires uint32 // keys with a deadline
	_       uint64
}

const slotRecBytes = 32

// groupSlots slots are counted together, so that Random, Scan and the expiry
// walk find keys in a database of few without looking at every slot.
const groupSlots = 64

type group struct{ keys, expires uint32 }

// keyspace is one database's part in one shard. The shard's lock guards all
// but the atomics.
type keyspace struct {
	arena  arena
	big    bigArena
	first  int // slot of recs[0]
	recs   []slotRec
	groups []group
	last   wal.LSN // greatest LSN of any slot

	keys, expires atomic.Int64
	avgTTLMilli   atomic.Int64
	entryTotal    int64 // its part of c.entryBytes
	indexTotal    int64 // its part of c.indexBytes
	c             *counters
	mu            *sync.Mutex // the shard's
	warmed        uint32      // keeps what warm loads
}

// counters are a shard's, changed under its lock and read without it.
type counters struct {
	entryBytes  atomic.Int64
	indexBytes  atomic.Int64
	mappedBytes atomic.Int64
	loans       atomic.Int64
	orphanBytes atomic.Int64 // of blocks that only loans keep
	goneBytes   atomic.Int64 // of mappedBytes, what abandoned keyspaces have
	_           [2]int64     // shards do not share a cache line
}

func newKeyspace(sh *shard, p *pool) *keyspace {
	ks := &keyspace{
		first:  sh.first,
		recs:   make([]slotRec, sh.slots),
		groups: make([]group, (sh.slots+groupSlots-1)/groupSlots),
		c:      &sh.counters,
		mu:     &sh.mu,
	}
	ks.arena.pool, ks.arena.c = p, &sh.counters
	ks.big.pool, ks.big.c = p, &sh.counters
	ks.addIndex(int64(sh.slots * slotRecBytes))
	return ks
}

// abandon hands the memory of a keyspace that nobody can reach any more to the
// pool, whatever its size, in constant time.
func (ks *keyspace) abandon() {
	ks.c.entryBytes.Add(-ks.entryTotal)
	ks.c.indexBytes.Add(-ks.indexTotal)
	ks.arena.abandon()
	ks.big.abandon()
}

func (ks *keyspace) addEntry(bytes int64) {
	if bytes != 0 {
		ks.entryTotal += bytes
		ks.c.entryBytes.Add(bytes)
	}
}

func (ks *keyspace) addIndex(bytes int64) {
	ks.indexTotal += bytes
	ks.c.indexBytes.Add(bytes)
}

func (ks *keyspace) rec(slot uint16) *slotRec { return &ks.recs[int(slot)-ks.first] }

func (ks *keyspace) countKeys(slot uint16, n int) {
	i := int(slot) - ks.first
	ks.recs[i].keys += uint32(n)
	ks.groups[i/groupSlots].keys += uint32(n)
	ks.keys.Add(int64(n))
}

func (ks *keyspace) countExpires(slot uint16, n int) {
	i := int(slot) - ks.first
	ks.recs[i].expires += uint32(n)
	ks.groups[i/groupSlots].expires += uint32(n)
	ks.expires.Add(int64(n))
}

// stamp notes that what slot holds depends on lsn.
func (ks *keyspace) stamp(rec *slotRec, lsn wal.LSN) {
	rec.lsn = max(rec.lsn, lsn)
	ks.last = max(ks.last, lsn)
}

// insert adds entry r to leaf w, which has room for it.
func (ks *keyspace) insert(k *Key, w word, r ref) {
	put(ks.arena.at(w.ref()), w.buckets(), w.home(k.Hash), k.Hash, r)
	ks.countKeys(k.Slot, 1)
	if flagsOf(ks.arena.at(r))&(flagShort|flagLong) != 0 {
		ks.countExpires(k.Slot, 1)
	}
	ks.addEntry(ks.entryBytesAt(r))
}

// swap puts entry r in the place of c's and returns c's, no longer counted
// but not yet freed.
func (ks *keyspace) swap(slot uint16, c *cell, r ref) ref {
	old := c.r
	was := flagsOf(c.e)&(flagShort|flagLong) != 0
	is := flagsOf(ks.arena.at(r))&(flagShort|flagLong) != 0
	if was != is {
		ks.countExpires(slot, b2i(is)-b2i(was))
	}
	ks.addEntry(ks.entryBytesAt(r) - ks.entryBytesAt(old))
	*c.ref() = r
	c.r, c.e = r, ks.arena.at(r)
	return old
}

// remove takes c's entry out of the index and returns it, not yet freed. The
// caller goes on with tidy when it no longer needs the segment.
func (ks *keyspace) remove(slot uint16, c *cell) ref {
	ks.addEntry(-ks.entryBytesAt(c.r))
	if flagsOf(c.e)&(flagShort|flagLong) != 0 {
		ks.countExpires(slot, -1)
	}
	ks.countKeys(slot, -1)
	drop(c)
	return c.r
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
