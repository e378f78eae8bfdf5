package shard

import (
	"unsafe"

	"github.com/hapaxkv/hapax/internal/op"
)

// Put stores v under k, whole, with its deadline (op Put). PutIdem does the
// same as op IdempotencyPut. ErrNoMemory when the system has none; then
// nothing was appended. v.Bytes may borrow from the key's present value.
func (tx *Tx) Put(k *Key, v Value) error { return tx.put(k, &v, nil, op.Put) }

// PutIdem stores an IDEM record with its deadline.
func (tx *Tx) PutIdem(k *Key, record []byte, deadlineMilli int64) error {
	return tx.PutIdemResult(k, record, nil, deadlineMilli)
}

// PutIdemResult is PutIdem of a record in two parts, so that a large result,
// which is its end, need not be copied to make one of them.
func (tx *Tx) PutIdemResult(k *Key, head, result []byte, deadlineMilli int64) error {
	return tx.put(k, &Value{DeadlineMilli: deadlineMilli, Bytes: head}, result, op.IdempotencyPut)
}

// put in steps: find the key; make the entry and the room for it, which may
// fail and shows nowhere; append; let the index refer to the entry (I1).
func (tx *Tx) put(k *Key, v *Value, tail []byte, code op.Code) error {
	exists := tx.locate(k)
	tx.provide(k)
	d := draft{
		key: k, typ: v.Type, raw: v.Raw, deadlineMilli: v.DeadlineMilli,
		clock: tx.clock, valueBytes: len(v.Bytes) + len(tail),
	}
	if exists {
		d.clock = tx.newClock(tx.at.e)
	}
	r, p, ok := tx.ks.newEntry(&d)
	if !ok {
		return ErrNoMemory
	}
	value := unsafe.Slice((*byte)(p), d.valueBytes)
	copy(value[copy(value, v.Bytes):], tail)
	var leaf word
	if !exists {
		if leaf, ok = tx.ks.room(tx.rec, k.Hash); !ok {
			tx.ks.freeEntry(r)
			return ErrNoMemory
		}
	}
	// Filled in place, it is empty between two records: a literal is made
	// elsewhere and copied, which was 2% of a SET in pipelines of 16.
	o := &tx.op
	o.Code, o.Type, o.Raw = code, uint8(v.Type), v.Raw
	o.Key, o.Value, o.DeadlineMilli = k.Bytes, value, v.DeadlineMilli
	lsn := tx.append()
	tx.Writes++
	if exists {
		tx.discard(tx.ks, tx.ks.swap(k.Slot, &tx.at, r))
	} else {
		tx.ks.insert(k, leaf, r)
	}
	tx.ks.stamp(tx.rec, lsn)
	return nil
}

// provide makes the keyspace that locate found missing.
func (tx *Tx) provide(k *Key) {
	if tx.ks == nil {
		tx.ks = tx.store.keyspace(tx.store.shardOf(k.Slot), tx.db)
		tx.rec = tx.ks.rec(k.Slot)
	}
}

// Splice writes b at offset of a live string, zero-padding a gap, keeps its
// deadline, sets Raw, and returns the new length. An absent key gets Put of
// the padded bytes, not Raw. It ends the borrow of the key's present value.
func (tx *Tx) Splice(k *Key, offset int, b []byte) (int, error) {
	if !tx.locate(k) {
		v := Value{Bytes: b}
		if offset > 0 {
			v.Bytes = append(make([]byte, offset, offset+len(b)), b...)
		}
		return len(v.Bytes), tx.Put(k, v)
	}
	s, ok := tx.ks.prepareSplice(k, &tx.at, offset, len(b), tx.newClock(tx.at.e))
	if !ok {
		return 0, ErrNoMemory
	}
	tx.op = op.Op{Code: op.Splice, Key: k.Bytes, Value: b, Offset: int64(offset)}
	lsn := tx.append()
	tx.Writes++
	if old := tx.ks.splice(k.Slot, &tx.at, &s, b); old != 0 {
		tx.discard(tx.ks, old)
	}
	tx.ks.stamp(tx.rec, lsn)
	return s.length, nil
}

// Delete removes a live key and says whether there was one.
func (tx *Tx) Delete(k *Key) bool {
	if !tx.locate(k) {
		return false
	}
	tx.op = op.Op{Code: op.Delete, Key: k.Bytes}
	lsn := tx.append()
	tx.Writes++
	tx.discard(tx.ks, tx.ks.remove(k.Slot, &tx.at))
	tx.ks.stamp(tx.rec, lsn)
	tx.ks.tidy(tx.rec, position(k.Hash))
	return true
}

// SetDeadline replaces the deadline of a live key, 0 removes it. False when
// there is no such key, or no memory for the few bytes that a first deadline
// takes; then nothing was appended.
func (tx *Tx) SetDeadline(k *Key, deadlineMilli int64) bool {
	if !tx.locate(k) {
		return false
	}
	r, ok := tx.ks.prepareDeadline(k, &tx.at, deadlineMilli)
	if !ok {
		return false
	}
	tx.op = op.Op{Code: op.SetDeadline, Key: k.Bytes, DeadlineMilli: deadlineMilli}
	lsn := tx.append()
	tx.Writes++
	if old := tx.ks.setDeadline(k.Slot, &tx.at, deadlineMilli, r); old != 0 {
		tx.discard(tx.ks, old)
	}
	tx.ks.stamp(tx.rec, lsn)
	return true
}

// FlushDB empties the selected database, FlushAll all, Swap exchanges two.
// The caller holds LockAll.
func (tx *Tx) FlushDB() {
	tx.op = op.Op{Code: op.FlushDB}
	lsn := tx.append()
	tx.Writes++
	for i := range tx.store.shards {
		tx.flush(&tx.store.shards[i].dbs[tx.db])
		tx.store.shards[i].dbs[tx.db].lsn = lsn
	}
}

// FlushAll empties every database.
func (tx *Tx) FlushAll() {
	tx.op = op.Op{Code: op.FlushAll}
	lsn := tx.append()
	tx.Writes++
	for i := range tx.store.shards {
		for db := range tx.store.shards[i].dbs {
			tx.flush(&tx.store.shards[i].dbs[db])
			tx.store.shards[i].dbs[db].lsn = lsn
		}
	}
}

func (tx *Tx) flush(d *database) {
	if ks := d.ks.Swap(nil); ks != nil {
		tx.flushed = append(tx.flushed, ks)
	}
}

// Swap exchanges databases a and b.
func (tx *Tx) Swap(a, b int) {
	db := tx.db
	tx.db = a
	tx.op = op.Op{Code: op.SwapDB, DB2: b}
	lsn := tx.append()
	tx.db = db
	tx.Writes++
	for i := range tx.store.shards {
		tx.store.shards[i].swap(a, b)
		tx.store.shards[i].dbs[a].lsn = lsn
		tx.store.shards[i].dbs[b].lsn = lsn
	}
}

func (sh *shard) swap(a, b int) {
	x, y := &sh.dbs[a], &sh.dbs[b]
	ks := x.ks.Load()
	x.ks.Store(y.ks.Load())
	y.ks.Store(ks)
	x.id, y.id = y.id, x.id
}
