package shard

import (
	"fmt"
	"sort"
	"sync"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Loader fills an empty store from a snapshot: Insert everything, then Pieces,
// then Apply the snapshot's records, all of them in order. Each record is
// applied exactly where the snapshot does not hold its effect yet. Nobody else
// uses the store meanwhile.
//
// The rule: a piece with LSN L holds the effect of every record up to L and of
// no later one. So a record about a key is applied when the L of the key's
// piece is smaller, and one that empties databases to all places whose L is:
// since L never decreases, these are the places before one boundary. A swap is
// applied everywhere, since Walk goes by the names at its beginning.
type Loader struct {
	store   *Store
	secrets [4]uint64
	pieces  []Piece
	keys    sync.Pool // of *[]Key, for Insert
}

// LoadError says that a snapshot's content cannot be: it is damaged, although
// its checksums are right.
type LoadError struct{ Why string }

func (e *LoadError) Error() string { return "the snapshot cannot be loaded: " + e.Why }

// NewLoader begins to load a snapshot made under secrets.
func (s *Store) NewLoader(secrets [4]uint64) *Loader {
	return &Loader{store: s, secrets: secrets, keys: sync.Pool{New: func() any { return new([]Key) }}}
}

// Insert adds entries, op.Puts. Safe for concurrent use. A key that is there
// already is a LoadError, a database that is not there an ApplyError.
func (l *Loader) Insert(entries []op.Op) error {
	held := l.keys.Get().(*[]Key)
	defer l.keys.Put(held)
	keys := (*held)[:0]
	for i := range entries {
		keys = append(keys, MakeKey(entries[i].Key))
	}
	*held = keys
	err := l.insert(entries, keys)
	clear(keys)
	return err
}

// insert takes a shard's lock once for neighbours that belong to it, and makes
// room once for neighbours of one slot and database.
func (l *Loader) insert(entries []op.Op, keys []Key) error {
	for at := 0; at < len(entries); {
		sh := l.store.shardOf(keys[at].Slot)
		sh.mu.Lock()
		for at < len(entries) && l.store.shardOf(keys[at].Slot) == sh {
			n := 1
			for at+n < len(entries) && keys[at+n].Slot == keys[at].Slot && entries[at+n].DB == entries[at].DB {
				n++
			}
			if err := l.insertRun(sh, entries[at:at+n], keys[at:at+n]); err != nil {
				sh.mu.Unlock()
				return err
			}
			at += n
		}
		sh.mu.Unlock()
	}
	return nil
}

// insertRun adds entries of one slot and database.
func (l *Loader) insertRun(sh *shard, entries []op.Op, keys []Key) error {
	if db := entries[0].DB; db >= l.store.databases {
		return &ApplyError{0, entries[0].Code, l.store.tooFew(db)}
	}
	ks := l.store.keyspace(sh, entries[0].DB)
	rec := ks.rec(keys[0].Slot)
	ks.presize(rec, len(keys))
	for i := range keys {
		if err := ks.load(&keys[i], rec, &entries[i]); err != nil {
			if rec.keys == 0 {
				ks.tidy(rec, 0) // an empty slot keeps no segment
			}
			return err
		}
	}
	return nil
}

// load adds one entry of a snapshot.
func (ks *keyspace) load(k *Key, rec *slotRec, o *op.Op) error {
	if o.Code != op.Put {
		return &LoadError{fmt.Sprintf("an entry has opcode %d", o.Code)}
	}
	var c cell
	if rec.word != 0 && ks.find(ks.leaf(rec.word, position(k.Hash)), k, &c) != nil {
		return &LoadError{fmt.Sprintf("key %.64q is there twice", k.Bytes)}
	}
	why, err := ks.applyPut(k, rec, o, &c, false)
	if why != "" {
		return &LoadError{why}
	}
	return err
}

// presize makes the slot's segment as large as n more entries need, as far as
// one segment can be. Without memory it does nothing.
func (ks *keyspace) presize(rec *slotRec, n int) {
	if rec.word.isNode() {
		return
	}
	if rec.word == 0 {
		if w, ok := ks.newSegment(bucketsFor(n), 0); ok {
			rec.word.store(w)
		}
		return
	}
	buckets := bucketsFor(ks.entries(rec.word) + n)
	if buckets > rec.word.buckets() {
		t := ks.descend(rec, 0)
		ks.resize(&t, 0, buckets)
	}
}

// Pieces tells the LSN of every place, when all entries are in.
func (l *Loader) Pieces(p []Piece) error {
	at, lsn := Place(0), wal.LSN(0)
	for i := range p {
		if p[i].End <= at || p[i].End > PlaceEnd || p[i].LSN < lsn {
			return &LoadError{fmt.Sprintf("piece %d ends at %x with LSN %d, behind one at %x with %d", i, uint64(p[i].End), p[i].LSN, uint64(at), lsn)}
		}
		at, lsn = p[i].End, p[i].LSN
	}
	if at != PlaceEnd {
		return &LoadError{fmt.Sprintf("its pieces end at %x", uint64(at))}
	}
	l.pieces = append([]Piece(nil), p...)
	return nil
}

// Apply applies one record of the snapshot (I2).
func (l *Loader) Apply(lsn wal.LSN, o *op.Op) error {
	switch o.Code {
	case op.Put, op.IdempotencyPut, op.Delete, op.SetDeadline, op.Splice:
		at := PlaceOf(o.Key, &l.secrets)
		piece := sort.Search(len(l.pieces), func(i int) bool { return l.pieces[i].End > at })
		if piece == len(l.pieces) {
			return &LoadError{"a record came before the pieces"}
		}
		if l.pieces[piece].LSN >= lsn {
			return nil
		}
	case op.FlushDB, op.FlushAll:
		if o.DB >= l.store.databases {
			break // Apply has the words
		}
		l.flush(lsn, o)
		return nil
	}
	return l.store.Apply(lsn, o)
}

// flush empties o's databases before the first place that holds the effect.
func (l *Loader) flush(lsn wal.LSN, o *op.Op) {
	boundary := Place(0)
	for i := range l.pieces {
		if l.pieces[i].LSN >= lsn {
			break
		}
		boundary = l.pieces[i].End
	}
	for i := range l.store.shards {
		sh := &l.store.shards[i]
		if placeAt(sh.first+sh.slots, 0) <= boundary {
			sh.apply(lsn, o)
			continue
		}
		sh.mu.Lock()
		for db := range sh.dbs {
			if ks := sh.dbs[db].ks.Load(); ks != nil && (o.Code == op.FlushAll || db == o.DB) {
				l.flushBefore(sh, ks, boundary, lsn)
			}
		}
		sh.mu.Unlock()
	}
}

// flushBefore removes the entries of ks before boundary, which lies in sh or
// before it.
func (l *Loader) flushBefore(sh *shard, ks *keyspace, boundary Place, lsn wal.LSN) {
	last := int(boundary >> 32)
	for slot := sh.first; slot < min(last, sh.first+sh.slots); {
		i := slot - sh.first
		if i%groupSlots == 0 && ks.groups[i/groupSlots].keys == 0 {
			slot += groupSlots
			continue
		}
		ks.removeIf(uint16(slot), lsn, func([]byte) bool { return true })
		slot++
	}
	if last >= sh.first && last < sh.first+sh.slots {
		ks.removeIf(uint16(last), lsn, func(key []byte) bool { return PlaceOf(key, &l.secrets) < boundary })
	}
}

// removeIf removes the entries of a slot that gone chooses.
func (ks *keyspace) removeIf(slot uint16, lsn wal.LSN, gone func(key []byte) bool) {
	rec := ks.rec(slot)
	if rec.word == 0 {
		return
	}
	for _, r := range ks.entriesOf(rec.word) {
		e := ks.arena.at(r)
		key, _ := ks.keyOf(e)
		if !gone(key) {
			continue
		}
		k := Key{key, slot, ks.hashOf(e)}
		var c cell
		ks.find(ks.leaf(rec.word, position(k.Hash)), &k, &c)
		ks.remove(slot, &c)
		ks.tidy(rec, position(k.Hash))
		ks.freeEntry(r)
	}
	ks.stamp(rec, lsn)
}

// entriesOf are the entries below w, in hash order of their buckets.
func (ks *keyspace) entriesOf(w word) (refs []ref) {
	for at := uint64(0); at < slotEnd; {
		leaf := ks.leaf(w, uint32(at))
		segment := ks.arena.at(leaf.ref())
		for i := range leaf.buckets() {
			for c := range bucketCells {
				if r := *refIn(bucketAt(segment, i), c); r != 0 {
					refs = append(refs, r)
				}
			}
		}
		_, at = leaf.bounds(uint32(at))
	}
	return refs
}

// Reset empties the store, for another try with another snapshot.
func (s *Store) Reset() {
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for db := range sh.dbs {
			sh.flush(db)
			sh.dbs[db].lsn, sh.dbs[db].id = 0, db
		}
		sh.mu.Unlock()
	}
	for s.pool.step() {
	}
	s.peak.Store(0)
}

// PlaceOf is key's place under secrets.
func PlaceOf(key []byte, secrets *[4]uint64) Place {
	return placeAt(int(slot.Of(key)), uint64(position(hashWith(secrets, key))))
}
