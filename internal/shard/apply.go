package shard

import (
	"fmt"
	"unsafe"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// ApplyError is a record that does not fit what came before it. LSN is 0 for an
// entry of a snapshot.
type ApplyError struct {
	LSN  wal.LSN
	Code op.Code
	Why  string
}

func (e *ApplyError) Error() string {
	if e.LSN == 0 {
		return "an entry of the snapshot cannot be loaded: " + e.Why
	}
	return fmt.Sprintf("record %d (opcode %d) cannot be applied: %s", e.LSN, e.Code, e.Why)
}

// Apply applies one recovered record. It reads no clock and no randomness
// (I2): an entry is what the records made it, expired or not.
func (s *Store) Apply(lsn wal.LSN, o *op.Op) error {
	if o.DB >= s.databases || o.DB2 >= s.databases {
		return &ApplyError{lsn, o.Code, s.tooFew(max(o.DB, o.DB2))}
	}
	switch o.Code {
	case op.Put, op.IdempotencyPut, op.Delete, op.SetDeadline, op.Splice:
		k := MakeKey(o.Key)
		sh := s.shardOf(k.Slot)
		sh.mu.Lock()
		defer sh.mu.Unlock()
		ks := s.keyspace(sh, o.DB)
		rec := ks.rec(k.Slot)
		why, err := ks.apply(&k, rec, o)
		if err != nil {
			return fmt.Errorf("record %d: %w", lsn, err)
		}
		if why != "" {
			return &ApplyError{lsn, o.Code, why}
		}
		ks.stamp(rec, lsn)
	case op.FlushDB, op.FlushAll, op.SwapDB:
		for i := range s.shards {
			s.shards[i].apply(lsn, o)
		}
	case op.Tick:
	default:
		return &ApplyError{lsn, o.Code, "the opcode is unknown"}
	}
	return nil
}

// tooFew is why something about database db is refused.
func (s *Store) tooFew(db int) string {
	return fmt.Sprintf("it is about database %d, but there are %d: start with databases %d or more", db, s.databases, db+1)
}

// apply applies a record about a whole database.
func (sh *shard) apply(lsn wal.LSN, o *op.Op) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	switch o.Code {
	case op.FlushDB:
		sh.flush(o.DB)
		sh.dbs[o.DB].lsn = lsn
	case op.FlushAll:
		for db := range sh.dbs {
			sh.flush(db)
			sh.dbs[db].lsn = lsn
		}
	case op.SwapDB:
		sh.swap(o.DB, o.DB2)
		sh.dbs[o.DB].lsn = lsn
		sh.dbs[o.DB2].lsn = lsn
	}
}

// apply applies a record about key k. why says what does not fit.
func (ks *keyspace) apply(k *Key, rec *slotRec, o *op.Op) (why string, err error) {
	var c cell
	found := rec.word != 0 && ks.find(ks.leaf(rec.word, position(k.Hash)), k, &c) != nil
	if o.Code == op.Put || o.Code == op.IdempotencyPut {
		return ks.applyPut(k, rec, o, &c, found)
	}
	if !found {
		return "its key does not exist", nil
	}
	old := ref(0)
	switch o.Code {
	case op.Delete:
		old = ks.remove(k.Slot, &c)
		defer ks.tidy(rec, position(k.Hash))
	case op.SetDeadline:
		r, ok := ks.prepareDeadline(k, &c, o.DeadlineMilli)
		if !ok {
			return "", ErrNoMemory
		}
		old = ks.setDeadline(k.Slot, &c, o.DeadlineMilli, r)
	case op.Splice:
		if o.Offset > maxValueBytes || int64(len(o.Value)) > maxValueBytes-o.Offset {
			return "it makes a value larger than any can be", nil
		}
		splicing, ok := ks.prepareSplice(k, &c, int(o.Offset), len(o.Value), 0)
		if !ok {
			return "", ErrNoMemory
		}
		old = ks.splice(k.Slot, &c, &splicing, o.Value)
	}
	if old != 0 {
		ks.freeEntry(old)
	}
	return "", nil
}

// maxValueBytes is what an entry's length field and a 64-bit address space
// take; Redis stops at 512 MB, unless it is told not to.
const maxValueBytes = 1<<35 - 1

func (ks *keyspace) applyPut(k *Key, rec *slotRec, o *op.Op, c *cell, found bool) (why string, err error) {
	if Type(o.Type) != String {
		return fmt.Sprintf("its type %d is unknown", o.Type), nil
	}
	d := draft{key: k, typ: Type(o.Type), raw: o.Raw, deadlineMilli: o.DeadlineMilli, valueBytes: len(o.Value)}
	r, p, ok := ks.newEntry(&d)
	if !ok {
		return "", ErrNoMemory
	}
	copy(unsafe.Slice((*byte)(p), len(o.Value)), o.Value)
	if found {
		ks.freeEntry(ks.swap(k.Slot, c, r))
		return "", nil
	}
	leaf, ok := ks.room(rec, k.Hash)
	if !ok {
		ks.freeEntry(r)
		return "", ErrNoMemory
	}
	ks.insert(k, leaf, r)
	return "", nil
}
