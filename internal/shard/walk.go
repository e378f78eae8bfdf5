package shard

import (
	"slices"
	"unsafe"

	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Place is a key's place in the order that SCAN and Walk follow: its slot in
// the high half, its position in the slot's hash order in the low one.
type Place uint64

// PlaceEnd is behind every key.
const PlaceEnd = Place(slot.Count) << 32

func placeAt(slot int, position uint64) Place { return Place(slot)<<32 + Place(position) }

// Piece is a stretch of places that one holding of a shard's lock covered: it
// ends before End, and what was found in it contains every record up to LSN
// about keys in it, and none after.
type Piece struct {
	End Place
	LSN wal.LSN
}

// Bounds of a piece, besides the bytes that Next is asked for.
const (
	pieceEntries = 512
	wholeEntries = 2 * pieceEntries // a slot with more is taken in stretches of positions
	entryExtra   = 16               // what an entry counts besides key and value
)

// Walk visits every entry of every database once, piece by piece, for a
// snapshot. Expired entries that are still there are visited too, so that the
// records behind a piece fit what it holds.
//
// Databases go by the number that they had at the first piece, whatever Swap
// calls them later: a swap then is only a name that changes, at once for all
// places, and Loader replays it as that.
type Walk struct {
	// OnLock, when set, is called each time a shard's lock was taken: how long
	// it is held is from then to the return of Next.
	OnLock func()

	store *Store
	at    Place
	names []int // number at the first piece, by database.id
	parts []part
	found []found
	order []placed
	bytes int // of found

	slot       int    // that width is for
	width      uint64 // positions to take at a time of a slot with much in it
	entryBytes int    // about the size of an entry in the last piece
}

// part is one database of the shard that is being walked.
type part struct {
	db int // number at the first piece
	ks *keyspace
}

// found is an entry that the present piece will emit.
type found struct {
	e    unsafe.Pointer
	part int32
	size int32 // in bytes, cut off at 1<<30
}

// placed is where found entries lie, for the choice of a boundary.
type placed struct {
	position uint32
	size     int32
}

// NewWalk begins a walk. One goroutine uses it; transactions go on beside it.
func (s *Store) NewWalk() *Walk { return &Walk{store: s, slot: -1} }

// Next visits the next piece: emit is called under the shard's lock, slot by
// slot, with bytes borrowed for the call. A piece ends when about limitBytes
// were visited. The pieces tile all places. more is false, and nothing was
// visited, when the walk had come to its end before.
func (w *Walk) Next(limitBytes int, emit func(db int, key []byte, v Value)) (p Piece, more bool) {
	if w.at == PlaceEnd {
		return Piece{}, false
	}
	sh := w.store.shardOf(uint16(w.at >> 32))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if w.OnLock != nil {
		w.OnLock()
	}
	p.LSN = w.lastLSN()
	w.open(sh)
	p.End = w.gather(sh, max(limitBytes, 1))
	for i := range w.found {
		f := &w.found[i]
		pt := &w.parts[f.part]
		x := pt.ks.parse(f.e)
		emit(pt.db, x.key, x.asValue())
	}
	w.at = p.End
	return p, true
}

// lastLSN is the last record. With the log's lock it never is one in the
// middle of an atomic run, so that the last piece's LSN ends no snapshot there.
func (w *Walk) lastLSN() wal.LSN {
	l := w.store.log
	l.Lock()
	defer l.Unlock()
	return l.Last()
}

// open makes w.parts the databases of sh that hold anything.
func (w *Walk) open(sh *shard) {
	if w.names == nil {
		w.names = make([]int, len(sh.dbs))
		for db := range sh.dbs {
			w.names[sh.dbs[db].id] = db
		}
	}
	clear(w.parts)
	w.parts = w.parts[:0]
	for db := range sh.dbs {
		if ks := sh.dbs[db].ks.Load(); ks != nil && ks.keys.Load() > 0 {
			w.parts = append(w.parts, part{w.names[sh.dbs[db].id], ks})
		}
	}
}

// gather collects entries from w.at on until there are enough, or the shard
// ends, and returns where it stopped.
func (w *Walk) gather(sh *shard, limitBytes int) Place {
	w.found, w.bytes = w.found[:0], 0
	end := sh.first + sh.slots
	slot, position := int(w.at>>32), uint64(uint32(w.at))
	for slot < end {
		i := slot - sh.first
		if position == 0 && i%groupSlots == 0 && w.emptyGroup(i/groupSlots) {
			slot = min(slot+groupSlots, end)
			continue
		}
		keys := w.keysIn(i)
		whole := keys <= wholeEntries && keys*w.entryBytes <= 2*limitBytes
		if keys > 0 && len(w.found) > 0 && (!whole || len(w.found)+keys > wholeEntries) {
			break
		}
		next, full := uint64(slotEnd), false
		if keys > 0 {
			next, full = w.gatherSlot(slot, i, position, keys, whole && position == 0, limitBytes)
		}
		if position = next; position == slotEnd {
			slot, position = slot+1, 0
		}
		if full {
			break
		}
	}
	if len(w.found) > 0 {
		w.entryBytes = w.bytes / len(w.found)
	}
	return placeAt(slot, position)
}

// gatherSlot collects some of slot from position on, or all of it, and returns
// where it stopped and whether the piece is full.
func (w *Walk) gatherSlot(slot, i int, position uint64, keys int, whole bool, limitBytes int) (next uint64, full bool) {
	if w.slot != slot {
		n := pieceEntries / 2
		if w.entryBytes > 0 {
			n = min(n, limitBytes/w.entryBytes+1)
		}
		w.slot, w.width = slot, max(slotEnd/uint64(keys), 1)*uint64(n)
	}
	to := uint64(slotEnd)
	if !whole {
		to = min(position+w.width, slotEnd)
	}
	n, before := len(w.found), w.bytes
	for pt := range w.parts {
		w.gatherRange(pt, i, position, to)
	}
	took := w.bytes - before
	switch {
	case w.bytes > 2*limitBytes:
		w.width = max(min(w.width, (to-position)/uint64(took/limitBytes+1)), 1)
		return w.cut(n, before, to, limitBytes), true
	case took <= limitBytes/4 && len(w.found)-n < pieceEntries/4:
		w.width = min(2*w.width, slotEnd)
	}
	return to, w.bytes >= limitBytes || len(w.found) >= pieceEntries
}

func (w *Walk) emptyGroup(group int) bool {
	for i := range w.parts {
		if w.parts[i].ks.groups[group].keys != 0 {
			return false
		}
	}
	return true
}

// keysIn is how many entries the databases hold in slot i of the shard.
func (w *Walk) keysIn(i int) int {
	n := 0
	for pt := range w.parts {
		n += int(w.parts[pt].ks.recs[i].keys)
	}
	return n
}

// gatherRange collects the entries of one database from position from up to to
// in slot i of the shard, leaf by leaf.
func (w *Walk) gatherRange(pt, i int, from, to uint64) {
	ks := w.parts[pt].ks
	rec := &ks.recs[i]
	if rec.word == 0 {
		return
	}
	for from < to {
		leaf := ks.leaf(rec.word, uint32(from))
		start, end := leaf.bounds(uint32(from))
		if start == from && end <= to {
			for b := range leaf.buckets() {
				w.gatherBucket(pt, bucketAt(ks.arena.at(leaf.ref()), b), nil)
			}
		} else {
			w.gatherPart(pt, leaf, from, min(end, to))
		}
		from = end
	}
}

// gatherPart collects the entries of a leaf from position from up to to: they
// lie in the buckets that these lead to, and in those that follow.
func (w *Walk) gatherPart(pt int, leaf word, from, to uint64) {
	ks := w.parts[pt].ks
	segment, n := ks.arena.at(leaf.ref()), leaf.buckets()
	first, last := leaf.home(from<<32), leaf.home((to-1)<<32)
	in := func(hash uint64) bool { p := hash >> 32; return p >= from && p < to }
	for steps := range n {
		b := bucketAt(segment, (first+steps)%n)
		w.gatherBucket(pt, b, in)
		if first+steps >= last && *passed(b) == 0 {
			return
		}
	}
}

// gatherBucket collects the entries of bucket b that in, when given, wants.
func (w *Walk) gatherBucket(pt int, b unsafe.Pointer, in func(hash uint64) bool) {
	ks := w.parts[pt].ks
	ks.warm(b)
	for c := range bucketCells {
		r := *refIn(b, c)
		if r == 0 {
			continue
		}
		e := ks.arena.at(r)
		if in != nil && !in(ks.hashOf(e)) {
			continue
		}
		x := ks.parse(e)
		size := min(len(x.key)+len(x.value)+entryExtra, 1<<30)
		w.found = append(w.found, found{e, int32(pt), int32(size)})
		w.bytes += size
	}
}

// cut shortens the piece, whose entries from number n on are too much, and
// returns the position where it ends now: to, when there is no place to cut
// since all lie at one position. before is the size of the entries before.
func (w *Walk) cut(n, before int, to uint64, limitBytes int) uint64 {
	w.order = w.order[:0]
	for i := range w.found[n:] {
		f := &w.found[n+i]
		w.order = append(w.order, placed{position(w.parts[f.part].ks.hashOf(f.e)), f.size})
	}
	slices.SortFunc(w.order, func(a, b placed) int { return int(int64(a.position) - int64(b.position)) })
	sum := before
	for i, o := range w.order {
		enough := sum > 0 && (sum >= limitBytes || sum+int(o.size) > 2*limitBytes)
		if enough && (i == 0 || o.position != w.order[i-1].position) {
			w.keep(n, o.position)
			return uint64(o.position)
		}
		sum += int(o.size)
	}
	return to
}

// keep drops the entries from number n on that lie at or behind end.
func (w *Walk) keep(n int, end uint32) {
	kept := w.found[:n]
	for _, f := range w.found[n:] {
		if position(w.parts[f.part].ks.hashOf(f.e)) < end {
			kept = append(kept, f)
		} else {
			w.bytes -= int(f.size)
		}
	}
	w.found = kept
}
