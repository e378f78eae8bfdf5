package shard

// locate finds a live key of the selected database and leaves its place in
// tx.ks, tx.rec and tx.at. Without a key, tx.rec is its slot's record, or nil
// when the database has nothing in this shard. An expired key is reclaimed.
func (tx *Tx) locate(k *Key) bool {
	d := &tx.store.shardOf(k.Slot).dbs[tx.db]
	tx.see(d.lsn)
	ks := d.ks.Load()
	tx.ks = ks
	if ks == nil {
		tx.rec = nil
		return false
	}
	rec := ks.rec(k.Slot)
	tx.rec = rec
	tx.see(rec.lsn)
	if rec.word == 0 || !ks.find(ks.leaf(rec.word, position(k.Hash)), k, &tx.at) {
		return false
	}
	if deadline := ks.deadlineOf(tx.at.e); deadline != 0 && deadline <= tx.now {
		tx.reclaim(ks, rec, k.Slot, deadline)
		ks.tidy(rec, position(k.Hash))
		return false
	}
	return true
}

// Get finds a live key, moves its access clock and counts a hit or miss; Peek
// does neither. An expired key is absent on every path.
func (tx *Tx) Get(k *Key) (Value, bool) {
	if !tx.locate(k) {
		tx.Misses++
		return Value{}, false
	}
	tx.Hits++
	tx.touch(tx.at.e)
	x := tx.ks.parse(tx.at.e)
	return x.asValue(), true
}

// Peek is Get without a trace.
func (tx *Tx) Peek(k *Key) (Value, bool) {
	if !tx.locate(k) {
		return Value{}, false
	}
	x := tx.ks.parse(tx.at.e)
	return x.asValue(), true
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
