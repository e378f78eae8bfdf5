package shard

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Options configures NewStore.
type Options struct {
	Shards    int // 1..256, rounded to a power of two
	Databases int
	Log       Log // set later with SetLog when recovery comes first
}

const maxShards = 256

// Store is every shard of the process.
type Store struct {
	shards     []shard
	shift      int // slot to shard
	databases  int
	log        Log
	pool       pool
	policy     atomic.Uint32 // EvictionPolicy
	started    atomic.Int64  // T of the first Begin, for keys that recovery brought
	peak       atomic.Int64
	seeds      atomic.Uint64 // of Txs
	expiry     expiryWalk
	compaction compaction
	cooler     cooler
}

// shard is a contiguous range of slots under one lock.
type shard struct {
	mu       sync.Mutex
	first    int // its first slot
	slots    int
	dbs      []database
	counters counters
}

// database is one database's part in one shard.
type database struct {
	ks  atomic.Pointer[keyspace] // nil until the first write, and after a flush
	lsn wal.LSN                  // last record about the whole database
	id  int                      // its number before any swap, for Walk
}

// NewStore makes an empty store.
func NewStore(o Options) *Store {
	n := 1
	for n < min(max(o.Shards, 1), maxShards) {
		n *= 2
	}
	s := &Store{
		shards:    make([]shard, n),
		shift:     bits.TrailingZeros(uint(slot.Count / n)),
		databases: max(o.Databases, 1),
		log:       o.Log,
		pool:      pool{mapper: mapMemory, release: releaseRanges},
	}
	s.pool.eager.Store(o.Log == nil)
	for i := range s.shards {
		sh := &s.shards[i]
		sh.first, sh.slots = i<<s.shift, 1<<s.shift
		sh.dbs = make([]database, s.databases)
		for db := range sh.dbs {
			sh.dbs[db].id = db
		}
	}
	return s
}

// SetLog sets the log that transactions append to; before the first Tx, when
// recovery is over.
func (s *Store) SetLog(l Log) {
	s.log = l
	s.pool.eager.Store(false)
}

// Databases is the number of databases, Shards of shards.
func (s *Store) Databases() int { return s.databases }
func (s *Store) Shards() int    { return len(s.shards) }

func (s *Store) shardOf(slot uint16) *shard { return &s.shards[int(slot)>>s.shift] }

// Memory is for INFO and admission. UsedBytes is what maxmemory limits.
type Memory struct {
	UsedBytes   int64 // live entries, index and directories
	EntryBytes  int64 // live entries alone
	IndexBytes  int64
	MappedBytes int64 // taken from the system
	PeakBytes   int64 // greatest UsedBytes that was ever asked for
}

// Memory is safe from any goroutine.
func (s *Store) Memory() Memory {
	m := Memory{MappedBytes: s.pool.mapped.Load()}
	for i := range s.shards {
		c := &s.shards[i].counters
		m.EntryBytes += c.entryBytes.Load()
		m.IndexBytes += c.indexBytes.Load()
		m.MappedBytes += c.mappedBytes.Load()
	}
	m.UsedBytes = m.EntryBytes + m.IndexBytes
	m.PeakBytes = s.notePeak(m.UsedBytes)
	return m
}

// UsedBytes is Memory().UsedBytes, cheap enough for every write.
func (s *Store) UsedBytes() int64 {
	n := int64(0)
	for i := range s.shards {
		c := &s.shards[i].counters
		n += c.entryBytes.Load() + c.indexBytes.Load()
	}
	s.notePeak(n)
	return n
}

func (s *Store) notePeak(used int64) int64 {
	for {
		peak := s.peak.Load()
		if used <= peak || s.peak.CompareAndSwap(peak, used) {
			return max(peak, used)
		}
	}
}

// DBStats is for INFO keyspace.
type DBStats struct {
	Keys, Expires int64
	AvgTTLMilli   int64 // estimated by the expiry walk
}

// DBStats is safe from any goroutine.
func (s *Store) DBStats(db int) DBStats {
	var d DBStats
	ttls := int64(0)
	for i := range s.shards {
		ks := s.shards[i].dbs[db].ks.Load()
		if ks == nil {
			continue
		}
		d.Keys += ks.keys.Load()
		d.Expires += ks.expires.Load()
		if ttl := ks.avgTTLMilli.Load(); ttl > 0 {
			d.AvgTTLMilli += ttl
			ttls++
		}
	}
	if d.Expires == 0 {
		d.AvgTTLMilli = 0
	} else if ttls > 0 {
		d.AvgTTLMilli /= ttls
	}
	return d
}

// Close unmaps everything. Nothing may use the store afterwards.
func (s *Store) Close() {
	s.cooler.close()
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for db := range sh.dbs {
			sh.flush(db)
		}
		sh.mu.Unlock()
	}
	s.pool.close()
}

// keyspace is the shard's part of db, made when it is missing.
func (s *Store) keyspace(sh *shard, db int) *keyspace {
	d := &sh.dbs[db]
	ks := d.ks.Load()
	if ks == nil {
		ks = newKeyspace(sh, &s.pool)
		d.ks.Store(ks)
	}
	return ks
}

// flush empties db in constant time.
func (sh *shard) flush(db int) {
	if ks := sh.dbs[db].ks.Swap(nil); ks != nil {
		ks.abandon()
	}
}
