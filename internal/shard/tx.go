package shard

import (
	"math/bits"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

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

	store    *Store
	log      Log
	now      int64
	db       int
	observed wal.LSN
	atomic   bool // the log is locked until End
	noTouch  bool
	lfu      bool
	clock    uint32 // access clock of now
	random   uint64

	one    *shard    // the one locked shard, or
	locked [4]uint64 // the locked shards, a bit each
	all    bool      // LockAll

	// What locate found.
	ks  *keyspace
	rec *slotRec
	at  cell

	op      op.Op
	limbo   []limbo     // to be freed when the shards are unlocked
	flushed []*keyspace // likewise
}

// limbo is an entry that is out of the index while its bytes may still be
// lent.
type limbo struct {
	ks *keyspace
	r  ref
}

// limboKeep is how many places of limbo a Tx keeps between commands.
const limboKeep = 1024

// NewTx makes a Tx of s.
func (s *Store) NewTx() *Tx {
	seed := s.seeds.Add(1)
	return &Tx{store: s, limbo: make([]limbo, 0, 16), random: scramble(&seed)}
}

// Begin resets tx for one command at time T on database db.
func (tx *Tx) Begin(nowMilli int64, db int) {
	s := tx.store
	tx.log, tx.now, tx.db, tx.observed = s.log, nowMilli, db, 0
	tx.noTouch = false
	tx.lfu = isLFU(EvictionPolicy(s.policy.Load()))
	if s.started.Load() == 0 {
		s.started.CompareAndSwap(0, nowMilli)
	}
	if tx.lfu {
		tx.clock = lfuClock(lfuMinute(nowMilli), lfuFirst)
	} else {
		tx.clock = lruClock(nowMilli)
	}
}

// LockKeys locks the shards of keys, ascending (I6). LockAll locks all.
func (tx *Tx) LockKeys(keys []Key) {
	s := tx.store
	if len(keys) == 1 {
		tx.one = s.shardOf(keys[0].Slot)
		tx.one.mu.Lock()
		return
	}
	for i := range keys {
		n := int(keys[i].Slot) >> s.shift
		tx.locked[n/64] |= 1 << (n % 64)
	}
	tx.eachLocked(func(sh *shard) { sh.mu.Lock() })
}

// LockAll locks every shard, ascending.
func (tx *Tx) LockAll() {
	tx.all = true
	for i := range tx.store.shards {
		tx.locked[i/64] |= 1 << (i % 64)
		tx.store.shards[i].mu.Lock()
	}
}

func (tx *Tx) eachLocked(f func(sh *shard)) {
	for i, m := range tx.locked {
		for ; m != 0; m &= m - 1 {
			f(&tx.store.shards[i*64+bits.TrailingZeros64(m)])
		}
	}
}

// Atomic makes the records from here to End one unit of recovery. Handlers
// that write more than one record call it before the first.
func (tx *Tx) Atomic() {
	if !tx.atomic {
		tx.atomic = true
		tx.log.Lock()
	}
}

// End releases log and shards.
func (tx *Tx) End() {
	if tx.atomic {
		tx.atomic = false
		tx.log.Unlock()
	}
	if len(tx.limbo) > 0 || len(tx.flushed) > 0 {
		tx.settle()
	}
	if tx.one != nil {
		tx.one.mu.Unlock()
		tx.one = nil
		return
	}
	if tx.locked != [4]uint64{} {
		tx.eachLocked(func(sh *shard) { sh.mu.Unlock() })
		tx.locked = [4]uint64{}
		tx.all = false
	}
}

// lockOne and unlockOne are for the calls that lock by themselves.
func (tx *Tx) lockOne(sh *shard) {
	tx.one = sh
	sh.mu.Lock()
}

func (tx *Tx) unlockOne() {
	tx.settle()
	tx.one.mu.Unlock()
	tx.one = nil
}

// settle frees what nobody can be borrowing any more. The shards are still
// locked.
func (tx *Tx) settle() {
	for _, l := range tx.limbo {
		l.ks.freeEntry(l.r)
	}
	clear(tx.limbo)
	tx.limbo = tx.limbo[:0]
	if cap(tx.limbo) > limboKeep {
		tx.limbo = make([]limbo, 0, 16)
	}
	for _, ks := range tx.flushed {
		ks.abandon()
	}
	clear(tx.flushed)
	tx.flushed = tx.flushed[:0]
}

// Observed is the greatest LSN that what this Tx read or wrote depends on: the
// last LSN of each slot touched, of whole-database commands, its own (I5).
// Valid after End, until Begin.
func (tx *Tx) Observed() wal.LSN { return tx.observed }

func (tx *Tx) see(lsn wal.LSN) { tx.observed = max(tx.observed, lsn) }

// NowMilli is the T of Begin.
func (tx *Tx) NowMilli() int64 { return tx.now }

// Select makes db the database of the calls that follow; DB tells it.
func (tx *Tx) Select(db int) { tx.db = db }
func (tx *Tx) DB() int       { return tx.db }

// NoTouch stops this Tx from moving access clocks (CLIENT NO-TOUCH, OBJECT).
func (tx *Tx) NoTouch() { tx.noTouch = true }

// append writes tx.op to the log. The caller applies it afterwards (I1).
func (tx *Tx) append() wal.LSN {
	tx.op.DB = tx.db
	if !tx.atomic {
		tx.log.Lock()
	}
	buf := tx.log.Next(tx.now)
	if buf != nil {
		buf = op.Append(buf, &tx.op)
	}
	lsn := tx.log.Done(buf)
	if !tx.atomic {
		tx.log.Unlock()
	}
	tx.op = op.Op{}
	tx.see(lsn)
	return lsn
}

// discard frees r when the Tx ends.
func (tx *Tx) discard(ks *keyspace, r ref) { tx.limbo = append(tx.limbo, limbo{ks, r}) }
