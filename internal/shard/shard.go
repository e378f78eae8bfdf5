// Package shard holds the keyspaces of a range of slots: lookup, transaction,
// apply, expiry, eviction. It knows no RESP.
package shard

import (
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Log is the append side of the write-ahead log; *wal.Log is one.
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
func MakeKey(b []byte) Key { panic("unwritten") }

// Value is a value as read or to be stored. Bytes read from a Tx are borrowed
// until Tx.End; they are never edited in place (I4).
type Value struct {
	Type          Type
	Raw           bool  // OBJECT ENCODING says "raw": was built by APPEND or SETRANGE
	DeadlineMilli int64 // absolute Unix milliseconds, 0 for none
	Bytes         []byte
}

// Options configures NewStore.
type Options struct {
	Shards    int // 1..256, rounded to a power of two
	Databases int
	Log       Log // set later with SetLog when recovery comes first
}

// Store is every shard of the process.
type Store struct{}

// NewStore makes an empty store.
func NewStore(o Options) *Store { panic("unwritten") }

// SetLog sets the log that transactions append to; before the first Tx.
func (s *Store) SetLog(l Log) { panic("unwritten") }

// Apply applies one recovered record. It reads no clock and no randomness (I2).
func (s *Store) Apply(lsn wal.LSN, o *op.Op) error { panic("unwritten") }

// Databases is the number of databases.
func (s *Store) Databases() int { panic("unwritten") }

// Memory is for INFO and admission. UsedBytes is what maxmemory limits.
type Memory struct {
	UsedBytes   int64 // live entries, index and directories
	EntryBytes  int64 // live entries alone
	IndexBytes  int64
	MappedBytes int64 // taken from the system
	PeakBytes   int64
}

// Memory is safe from any goroutine.
func (s *Store) Memory() Memory { panic("unwritten") }

// UsedBytes is Memory().UsedBytes, cheap enough for every write.
func (s *Store) UsedBytes() int64 { panic("unwritten") }

// DBStats is for INFO keyspace.
type DBStats struct {
	Keys, Expires int64
	AvgTTLMilli   int64
}

// DBStats is safe from any goroutine.
func (s *Store) DBStats(db int) DBStats { panic("unwritten") }

// Close unmaps everything.
func (s *Store) Close() { panic("unwritten") }

// Tx is one command's view: Begin, one Lock call, reads and writes, End. A
// write appends to the log and then applies (I1), at once, so later reads of
// the same Tx see it; the handler validates everything before its first
// write. All records between LockKeys/LockAll and End land in one frame when
// Atomic was called, so recovery sees all or none of them. Reused, one per
// loop; not safe for concurrent use. Nothing allocates on the Go heap for GET,
// SET of an existing key and IDEM probes.
type Tx struct {
	// Hits and Misses count Get results since the owner last reset them, as
	// Redis's keyspace_hits and keyspace_misses do; Expired counts keys found
	// expired and reclaimed; Writes counts records appended (rdb_changes..).
	Hits, Misses, Expired, Writes int64
}

// NewTx makes a Tx of s.
func (s *Store) NewTx() *Tx { panic("unwritten") }

// Begin resets tx for one command at time T on database db.
func (tx *Tx) Begin(nowMilli int64, db int) { panic("unwritten") }

// LockKeys locks the shards of keys, ascending (I6). LockAll locks all.
func (tx *Tx) LockKeys(keys []Key) { panic("unwritten") }
func (tx *Tx) LockAll()            { panic("unwritten") }

// Atomic makes the records from here to End one unit of recovery. Handlers
// that write more than one record call it before the first.
func (tx *Tx) Atomic() { panic("unwritten") }

// End releases log and shards.
func (tx *Tx) End() { panic("unwritten") }

// Observed is the greatest LSN that what this Tx read or wrote depends on: the
// last LSN of each slot touched, of whole-database commands, its own (I5).
// Valid after End, until Begin.
func (tx *Tx) Observed() wal.LSN { panic("unwritten") }

// NowMilli is the T of Begin.
func (tx *Tx) NowMilli() int64 { panic("unwritten") }

// Select makes db the database of the calls that follow; DB tells it.
func (tx *Tx) Select(db int) { panic("unwritten") }
func (tx *Tx) DB() int       { panic("unwritten") }

// NoTouch stops this Tx from moving access clocks (CLIENT NO-TOUCH, OBJECT).
func (tx *Tx) NoTouch() { panic("unwritten") }

// Get finds a live key, moves its access clock and counts a hit or miss; Peek
// does neither. An expired key is absent on every path.
func (tx *Tx) Get(k *Key) (Value, bool)  { panic("unwritten") }
func (tx *Tx) Peek(k *Key) (Value, bool) { panic("unwritten") }

// Touch moves the access clock and says whether the key lives.
func (tx *Tx) Touch(k *Key) bool { panic("unwritten") }

// Put stores v under k, whole, with its deadline (op Put). PutIdem does the
// same as op IdempotencyPut. ErrNoMemory when the system has none; then
// nothing was appended. v.Bytes may borrow from the key's present value.
func (tx *Tx) Put(k *Key, v Value) error                                { panic("unwritten") }
func (tx *Tx) PutIdem(k *Key, record []byte, deadlineMilli int64) error { panic("unwritten") }

// Splice writes b at offset of a live string, zero-padding a gap, keeps its
// deadline, sets Raw, and returns the new length. An absent key gets Put.
func (tx *Tx) Splice(k *Key, offset int, b []byte) (int, error) { panic("unwritten") }

// Delete removes a live key and says whether there was one.
func (tx *Tx) Delete(k *Key) bool { panic("unwritten") }

// SetDeadline replaces the deadline of a live key, 0 removes it. False when
// there is no such key.
func (tx *Tx) SetDeadline(k *Key, deadlineMilli int64) bool { panic("unwritten") }

// FlushDB empties the selected database, FlushAll all, Swap exchanges two.
// The caller holds LockAll.
func (tx *Tx) FlushDB()      { panic("unwritten") }
func (tx *Tx) FlushAll()     { panic("unwritten") }
func (tx *Tx) Swap(a, b int) { panic("unwritten") }

// Len is the number of keys of the selected database, expired but unreclaimed
// ones included (as Redis's DBSIZE). Caller holds LockAll.
func (tx *Tx) Len() int64 { panic("unwritten") }

// Scan visits about count entries from cursor (0 starts, returned 0 ends) and
// calls emit for each live one. Every key present throughout a whole scan is
// emitted at least once. It locks by itself, a shard at a time: no Lock call
// before. Keys and values are borrowed for the call of emit only.
func (tx *Tx) Scan(cursor uint64, count int, emit func(key []byte, v Value)) uint64 {
	panic("unwritten")
}

// Random returns a live key picked with rnd, borrowed until End. LockAll first.
func (tx *Tx) Random(rnd uint64) ([]byte, bool) { panic("unwritten") }

// Access is what OBJECT and MEMORY USAGE tell.
type Access struct {
	IdleSec   int64
	Freq      uint8
	SizeBytes int64 // entry, value and share of the index
	LFU       bool  // the access clock counts frequency, so IdleSec means nothing
}

// Access describes a live key without touching it.
func (tx *Tx) Access(k *Key) (Access, bool) { panic("unwritten") }

// EvictionPolicy is maxmemory-policy.
type EvictionPolicy uint8

const (
	NoEviction EvictionPolicy = iota
	AllKeysLRU
	VolatileLRU
	AllKeysLFU
	VolatileLFU
	AllKeysRandom
	VolatileRandom
	VolatileTTL
)

// SetEvictionPolicy also chooses whether access clocks count LRU or LFU.
func (s *Store) SetEvictionPolicy(p EvictionPolicy) { panic("unwritten") }

// Evict removes one sampled key by the policy (op Delete) and returns the
// bytes freed, false when there is none to evict. Call between Begin and End
// without locks held. rnd drives sampling.
func (tx *Tx) Evict(rnd uint64) (int64, bool) { panic("unwritten") }

// ExpireStep reclaims expired entries in at most buckets buckets from where
// the last step ended, locking a shard at a time, and returns how many it
// reclaimed and whether it came round. Call between Begin and End.
func (tx *Tx) ExpireStep(buckets int) (reclaimed int, wrapped bool) { panic("unwritten") }
