package shard

import "unsafe"

// locate finds a live key of the selected database and leaves its place in
// tx.ks, tx.rec and tx.at. Without a key, tx.rec is its slot's record, or nil
// when the database has nothing in this shard. An expired key is reclaimed.
func (tx *Tx) locate(k *Key) bool {
	behind, _ := tx.locateBehind(k)
	return behind != nil
}

// locateBehind is locate for who goes on to read: behind is the place behind
// the entry's key, nil without a live key, deadlineMilli 0 for none.
func (tx *Tx) locateBehind(k *Key) (behind unsafe.Pointer, deadlineMilli int64) {
	d := &tx.store.shardOf(k.Slot).dbs[tx.db]
	tx.see(d.lsn)
	ks := d.ks.Load()
	tx.ks = ks
	if ks == nil {
		tx.rec = nil
		return nil, 0
	}
	rec := ks.rec(k.Slot)
	tx.rec = rec
	tx.see(rec.lsn)
	if rec.word == 0 {
		return nil, 0
	}
	behind = ks.find(ks.leaf(rec.word, position(k.Hash)), k, &tx.at)
	if behind == nil {
		return nil, 0
	}
	flags := flagsOf(tx.at.e)
	if flags&(flagShort|flagLong) == 0 {
		return behind, 0
	}
	deadlineMilli = readDeadline(behind, flags)
	if deadlineMilli <= tx.now {
		tx.reclaim(ks, rec, k.Slot, deadlineMilli)
		ks.tidy(rec, position(k.Hash))
		return nil, 0
	}
	return behind, deadlineMilli
}

// Get finds a live key, moves its access clock and counts a hit or miss; Peek
// does neither. An expired key is absent on every path.
func (tx *Tx) Get(k *Key) (v Value, found bool) {
	found = tx.Read(k, &v)
	return v, found
}

// Peek is Get without a trace.
func (tx *Tx) Peek(k *Key) (v Value, found bool) {
	found = tx.peek(k, &v)
	return v, found
}

// Read is Get for hot paths: it fills v in, where Get's result is copied from
// frame to frame (4% of a GET in pipelines of 64). v is left as it was when
// there is no such key.
func (tx *Tx) Read(k *Key, v *Value) bool {
	if !tx.peek(k, v) {
		tx.Misses++
		return false
	}
	tx.Hits++
	tx.touch(tx.at.e)
	return true
}

func (tx *Tx) peek(k *Key, v *Value) bool {
	behind, deadlineMilli := tx.locateBehind(k)
	if behind == nil {
		return false
	}
	flags := flagsOf(tx.at.e)
	v.Type, v.Raw = Type(flags&flagType), flags&flagRaw != 0
	v.DeadlineMilli = deadlineMilli
	v.Bytes = tx.ks.valueAt(behind, flags)
	return true
}

// Touch moves the access clock and says whether the key lives.
func (tx *Tx) Touch(k *Key) bool {
	if !tx.locate(k) {
		return false
	}
	tx.touch(tx.at.e)
	return true
}

// Access is what OBJECT and MEMORY USAGE tell.
type Access struct {
	IdleSec   int64
	Freq      uint8
	SizeBytes int64 // entry, value and share of the index
	LFU       bool  // the access clock counts frequency, so IdleSec means nothing
}

// Access describes a live key without touching it.
func (tx *Tx) Access(k *Key) (Access, bool) {
	if !tx.locate(k) {
		return Access{}, false
	}
	clock := clockOf(tx.at.e)
	return Access{
		IdleSec:   tx.idleSec(clock),
		Freq:      tx.frequency(clock),
		LFU:       tx.lfu,
		SizeBytes: tx.ks.entryBytesAt(tx.at.r) + int64(tx.at.buckets*bucketBytes)/int64(*countIn(tx.at.segment)),
	}, true
}

// Len is the number of keys of the selected database, expired but unreclaimed
// ones included (as Redis's DBSIZE). Caller holds LockAll.
func (tx *Tx) Len() int64 {
	n := int64(0)
	for i := range tx.store.shards {
		d := &tx.store.shards[i].dbs[tx.db]
		tx.see(d.lsn)
		if ks := d.ks.Load(); ks != nil {
			tx.see(ks.last)
			n += ks.keys.Load()
		}
	}
	return n
}
