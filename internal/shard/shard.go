// Package shard holds the keyspaces of a range of slots: lookup, transaction,
// apply, expiry, eviction. It knows no RESP.
//
// It promises:
//   - append before apply, both under the shard's lock, and the memory for a
//     write before its append (I1);
//   - Apply of the same records gives the same keyspace, with no clock and no
//     randomness (I2);
//   - a key is absent from its deadline on, on every path, and the log knows
//     of every expiry that anybody saw;
//   - Observed covers what a transaction read, slot by slot (I5);
//   - no call takes long because the keyspace is large: segments grow and
//     split in small steps and a flush only unhooks;
//   - what a client sends can at most be stored (I12): keys cannot be chosen
//     to collide, cursors can be anything;
//   - what Walk saw piece by piece while others wrote, with the records behind
//     its pieces, is by Loader exactly one state of the store.
//
// It assumes that a caller names the keys it will touch to LockKeys, and that
// the log does not block for long in Next. It never reads a clock, never
// frees what a Tx may have lent before its End, and keeps nothing about a key
// on the Go heap.
//
// From the bottom up: memory and pool (pages), arena and big (blocks), entry
// (one key), bucket and index (one slot), keyspace (one database in one
// shard), store, the transaction in tx, read, write, scan, expire, evict, the
// snapshot's two ends in walk and load, and what gives memory back: compact and
// cool.
package shard

import (
	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Log is the append side of the write-ahead log; *wal.Log is one. A log that
// keeps nothing returns nil from Next: then nothing is encoded and Done gets
// nil.
type Log interface {
	Lock()
	Unlock()
	Next(tMilli int64) []byte
	Done(buf []byte) wal.LSN
	Last() wal.LSN
	LastT() int64
}

// Type is a value's type tag; numbers are part of the log format.
type Type uint8

const (
	String Type = 0
	// 1..5 are reserved: list, set, sorted set, hash, stream.
)

// Key is a key with what routing needs, computed once.
type Key struct {
	Bytes []byte
	Slot  uint16
	Hash  uint64
}

// MakeKey hashes b, which the Key borrows.
func MakeKey(b []byte) (k Key) {
	k.Set(b)
	return k
}

// Set makes k the key b, in place: a list of keys is filled without copies.
func (k *Key) Set(b []byte) { k.Bytes, k.Slot, k.Hash = b, slot.Of(b), hashKey(b) }

// Value is a value as read or to be stored. Bytes read from a Tx are borrowed
// until Tx.End, whatever the Tx does to the key meanwhile, Splice excepted;
// they are never edited under a reader (I4).
type Value struct {
	Type          Type
	Raw           bool  // OBJECT ENCODING says "raw": was built by APPEND or SETRANGE
	DeadlineMilli int64 // absolute Unix milliseconds, 0 for none
	Bytes         []byte
}
