package shard

import (
	"fmt"
	"unsafe"
)

// Check walks the whole store and returns the first inconsistency: a count
// that is not the sum of its parts, an entry that a lookup would not find, a
// block that nobody owns. For tests and simulations; it holds every lock.
func (s *Store) Check() error {
	for i := range s.shards {
		s.shards[i].mu.Lock()
		defer s.shards[i].mu.Unlock()
	}
	for i := range s.shards {
		sh := &s.shards[i]
		var entryBytes, indexBytes, mapped int64
		for db := range sh.dbs {
			ks := sh.dbs[db].ks.Load()
			if ks == nil {
				continue
			}
			if err := ks.check(); err != nil {
				return fmt.Errorf("shard %d database %d: %w", i, db, err)
			}
			entryBytes += ks.entryTotal
			indexBytes += ks.indexTotal
			mapped += ks.arena.held + ks.big.held
		}
		c := &sh.counters
		mapped += c.goneBytes.Load()
		if entryBytes != c.entryBytes.Load() || indexBytes != c.indexBytes.Load() || mapped != c.mappedBytes.Load() {
			return fmt.Errorf("shard %d counts %d bytes of entries, %d of index, %d mapped; its databases have %d, %d, %d",
				i, c.entryBytes.Load(), c.indexBytes.Load(), c.mappedBytes.Load(), entryBytes, indexBytes, mapped)
		}
	}
	return nil
}

// audit is what a walk over one keyspace adds up.
type audit struct {
	ks            *keyspace
	keys, expires int
	entryBytes    int64
	indexBytes    int64
	blocks        map[uint32]int // blocks in use by slab
	big           map[handle]bool
	orphans       int // big blocks without an entry, lent
	orphanBytes   int64
}

func (ks *keyspace) check() error {
	a := audit{ks: ks, blocks: map[uint32]int{}, big: map[handle]bool{}}
	a.indexBytes = int64(len(ks.recs) * slotRecBytes)
	for g := range ks.groups {
		groupKeys, groupExpires := 0, 0
		for i := g * groupSlots; i < min((g+1)*groupSlots, len(ks.recs)); i++ {
			if err := a.slot(i); err != nil {
				return fmt.Errorf("slot %d: %w", ks.first+i, err)
			}
			groupKeys += int(ks.recs[i].keys)
			groupExpires += int(ks.recs[i].expires)
		}
		if ks.groups[g] != (group{uint32(groupKeys), uint32(groupExpires)}) {
			return fmt.Errorf("group %d counts %v, its slots %d and %d", g, ks.groups[g], groupKeys, groupExpires)
		}
	}
	if int64(a.keys) != ks.keys.Load() || int64(a.expires) != ks.expires.Load() {
		return fmt.Errorf("%d keys and %d with deadline counted, %d and %d there",
			ks.keys.Load(), ks.expires.Load(), a.keys, a.expires)
	}
	if a.entryBytes != ks.entryTotal || a.indexBytes != ks.indexTotal {
		return fmt.Errorf("%d bytes of entries and %d of index counted, %d and %d there",
			ks.entryTotal, ks.indexTotal, a.entryBytes, a.indexBytes)
	}
	if err := a.arena(); err != nil {
		return err
	}
	return a.bigBlocks()
}

func (a *audit) slot(i int) error {
	rec := &a.ks.recs[i]
	if (rec.word == 0) != (rec.keys == 0) {
		return fmt.Errorf("%d keys below word %x", rec.keys, uint64(rec.word))
	}
	if rec.lsn > a.ks.last {
		return fmt.Errorf("LSN %d is above the database's %d", rec.lsn, a.ks.last)
	}
	if rec.word == 0 {
		return nil
	}
	keys, expires := a.keys, a.expires
	if err := a.walk(rec.word, uint16(a.ks.first+i), 0); err != nil {
		return err
	}
	if a.keys-keys != int(rec.keys) || a.expires-expires != int(rec.expires) {
		return fmt.Errorf("%d keys and %d with deadline counted, %d and %d there",
			rec.keys, rec.expires, a.keys-keys, a.expires-expires)
	}
	return nil
}

// walk checks what word w, which is to hold the positions from start on, leads
// to.
func (a *audit) walk(w word, slot uint16, start uint32) error {
	a.block(w.ref())
	if !w.isNode() {
		return a.segment(w, slot, start)
	}
	a.indexBytes += 8 << w.nodeBits()
	for i := 0; i < 1<<w.nodeBits(); {
		v := *a.ks.nodeAt(w, i)
		width := 1
		if !v.isNode() {
			from, n := w.span(start|uint32(i)<<(32-w.depth()-w.nodeBits()), v.depth())
			if from != i {
				return fmt.Errorf("leaf of depth %d at word %d of a node of %d bits", v.depth(), i, w.nodeBits())
			}
			width = n
		}
		for j := i; j < i+width; j++ {
			if *a.ks.nodeAt(w, j) != v {
				return fmt.Errorf("word %d of a node differs from word %d, whose leaf covers it", j, i)
			}
		}
		if err := a.walk(v, slot, start|uint32(i)<<(32-w.depth()-w.nodeBits())); err != nil {
			return err
		}
		i += width
	}
	return nil
}

func (a *audit) segment(w word, slot uint16, start uint32) error {
	ks, n := a.ks, w.buckets()
	a.indexBytes += int64(n * bucketBytes)
	segment := ks.arena.at(w.ref())
	passes := make([]int, n)
	entries := 0
	for i := range n {
		for c := range bucketCells {
			b := bucketAt(segment, i)
			r := *refIn(b, c)
			if (*tagAt(b, c) == 0) != (r == 0) {
				return fmt.Errorf("cell with tag %d and reference %d", *tagAt(b, c), r)
			}
			if r == 0 {
				continue
			}
			entries++
			e := ks.arena.at(r)
			if err := a.entry(r, e, slot); err != nil {
				return err
			}
			hash := ks.hashOf(e)
			if w.depth() > 0 && (position(hash)^start)>>(32-w.depth()) != 0 {
				return fmt.Errorf("position %x below a leaf of depth %d from %x", position(hash), w.depth(), start)
			}
			if *tagAt(b, c) != tagOf(hash) {
				return fmt.Errorf("tag %d of hash %x", *tagAt(b, c), hash)
			}
			for p := w.home(hash); p != i; p = (p + 1) % n {
				passes[p]++
			}
		}
	}
	for i := range n {
		if p := int(*passed(bucketAt(segment, i))); p != passes[i] && p != passedFull {
			return fmt.Errorf("bucket %d of %d says that %d passed, %d did", i, n, p, passes[i])
		}
	}
	if entries != ks.entries(w) {
		return fmt.Errorf("segment counts %d entries, has %d", ks.entries(w), entries)
	}
	return nil
}

func (a *audit) entry(r ref, e unsafe.Pointer, slot uint16) error {
	ks := a.ks
	a.block(r)
	a.keys++
	a.entryBytes += ks.entryBytesAt(r)
	x := ks.parse(e)
	if x.deadline() != 0 {
		a.expires++
	}
	if k := MakeKey(x.key); k.Slot != slot || k.Hash != ks.hashOf(e) {
		return fmt.Errorf("key %q of slot %d with hash %x", x.key, k.Slot, ks.hashOf(e))
	}
	for _, h := range bigOf(ks, e) {
		if a.big[h] {
			return fmt.Errorf("big block %x belongs to two entries", uint64(h))
		}
		a.big[h] = true
	}
	return nil
}

func bigOf(ks *keyspace, e unsafe.Pointer) (handles []handle) {
	key, value := ks.bigHandles(e)
	for _, h := range []handle{key, value} {
		if h != 0 {
			handles = append(handles, h)
		}
	}
	return handles
}

func (a *audit) block(r ref) { a.blocks[uint32(r)>>slabShift]++ }

// arena checks that every slab has as many blocks in use as were met, and that
// those with room are in lists, or leaving.
func (a *audit) arena() error {
	ar := &a.ks.arena
	leave, room := 0, 0
	for chunk := range ar.slabs {
		for i := range ar.slabs[chunk] {
			id := uint32(chunk*chunkSlabs + i)
			s := &ar.slabs[chunk][i]
			if s.prev == leaving {
				leave++
			} else if s.units != 0 && !s.full() {
				room++
			}
			if int(s.live) != a.blocks[id] {
				return fmt.Errorf("slab %d of %d-byte blocks counts %d in use, %d are", id, int(s.units)*unitBytes, s.live, a.blocks[id])
			}
			free := 0
			for f := s.free; f != 0; free++ {
				f = *(*uint16)(ar.at(ref(id<<slabShift | uint32(f-1))))
			}
			if s.units == 0 {
				continue
			}
			used := int(s.bump) / int(s.units)
			if id == 0 {
				used-- // ref 0
			}
			if used != int(s.live)+free {
				return fmt.Errorf("slab %d: %d blocks handed out, %d in use and %d free", id, used, s.live, free)
			}
		}
	}
	listed := 0
	for units := range ar.partial {
		for id := ar.partial[units]; id != 0; id = ar.slab(id - 1).next {
			if s := ar.slab(id - 1); int(s.units) != units || s.full() {
				return fmt.Errorf("slab %d of %d-byte blocks is listed among those of %d with room", id-1, int(s.units)*unitBytes, units*unitBytes)
			}
			listed++
		}
	}
	if listed != room || leave != ar.nLeave {
		return fmt.Errorf("%d slabs with room are listed, %d there are; %d are leaving, %d counted", listed, room, leave, ar.nLeave)
	}
	return nil
}

// bigBlocks walks the chunks from block to block.
func (a *audit) bigBlocks() error {
	ar := &a.ks.big
	var sum, solos int64
	inUse, listed, leave := 0, 0, 0
	for number := range ar.chunks {
		c := &ar.chunks[number]
		if c.base == nil {
			continue
		}
		if c.solo {
			inUse++
			solos += c.sizeBytes
			h := handle(number)<<handleShift | bigFirst
			if err := a.owner(h); err != nil {
				return err
			}
			if c.pins != ar.pins(h) {
				return fmt.Errorf("the mapping of %d bytes counts %d loans, its block %d", c.sizeBytes, c.pins, ar.pins(h))
			}
			continue
		}
		n, err := a.bigChunk(number)
		if err != nil {
			return fmt.Errorf("chunk %d: %w", number, err)
		}
		sum += c.live + c.dirty
		inUse += c.blocks
		listed += n
		leave += b2i(c.leaving)
	}
	if a.orphans != ar.orphans || a.orphanBytes != ar.orphanBytes {
		return fmt.Errorf("%d orphans of %d bytes counted, %d of %d there", ar.orphans, ar.orphanBytes, a.orphans, a.orphanBytes)
	}
	if inUse != len(a.big)+a.orphans || sum != ar.live+ar.dirty || sum+solos != ar.held || leave != ar.nLeave {
		return fmt.Errorf("big blocks: %d in use for %d owners, %d bytes with pages for %d live and %d dirty, %d held with %d in solos, %d chunks leaving, %d counted",
			inUse, len(a.big), sum, ar.live, ar.dirty, ar.held, solos, leave, ar.nLeave)
	}
	if n := a.bigListed(); n != listed {
		return fmt.Errorf("big blocks: %d free ones are in lists, %d should be", n, listed)
	}
	return nil
}

// bigChunk walks one chunk and says how many of its blocks should be in lists.
func (a *audit) bigChunk(number int) (listed int, err error) {
	ar := &a.ks.big
	c := &ar.chunks[number]
	var live, dirty int64
	blocks, pins := 0, 0
	h := handle(number)<<handleShift | bigFirst
	end := h + handle(c.sizeBytes-bigGrain)
	prevFree := false
	for h < end {
		header := *ar.word(h, 0)
		if (header&bigPrevFree != 0) != prevFree {
			return 0, fmt.Errorf("block %x is wrong about the one before", uint64(h))
		}
		free := header&bigFree != 0
		switch {
		case free && prevFree:
			return 0, fmt.Errorf("free block %x did not merge", uint64(h))
		case free:
			pages := ar.pages(h)
			if pages.from < 0 || pages.from > pages.to || pages.to > ar.size(h) {
				return 0, fmt.Errorf("free block %x of %d bytes holds pages in %v", uint64(h), ar.size(h), pages)
			}
			dirty += pages.size()
			if header&bigUnlisted == 0 {
				listed++
			} else if !c.leaving {
				return 0, fmt.Errorf("free block %x is in no list", uint64(h))
			}
		default:
			if err := a.owner(h); err != nil {
				return 0, err
			}
			blocks++
			pins += ar.pins(h)
			live += ar.size(h)
		}
		prevFree = free
		h += handle(ar.size(h))
	}
	if h != end {
		return 0, fmt.Errorf("its blocks do not end where it does")
	}
	if pins != c.pins {
		return 0, fmt.Errorf("%d loans counted, its blocks have %d", c.pins, pins)
	}
	if blocks != c.blocks || live != c.live || dirty != c.dirty {
		return 0, fmt.Errorf("%d blocks of %d bytes in use, %d dirty bytes counted; %d, %d, %d are there",
			c.blocks, c.live, c.dirty, blocks, live, dirty)
	}
	return listed, nil
}

// owner checks that block h belongs to an entry, or is an orphan that is lent.
func (a *audit) owner(h handle) error {
	ar := &a.ks.big
	orphan := *ar.word(h, 0)&bigOrphan != 0
	switch {
	case orphan && a.big[h]:
		return fmt.Errorf("block %x has an entry and is an orphan", uint64(h))
	case orphan && !ar.pinned(h):
		return fmt.Errorf("block %x is an orphan that nobody was lent", uint64(h))
	case orphan:
		a.orphans++
		a.orphanBytes += ar.size(h)
	case !a.big[h]:
		return fmt.Errorf("nobody owns block %x of %d bytes", uint64(h), ar.size(h))
	}
	return nil
}

// bigListed counts the blocks in all lists.
func (a *audit) bigListed() (n int) {
	ar := &a.ks.big
	for level := range ar.heads {
		for _, h := range ar.heads[level] {
			for ; h != 0; h = handle(*ar.word(h, 1)) {
				n++
			}
		}
	}
	return n
}
