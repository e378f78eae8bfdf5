package shard

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// memLog is a log in memory. It checks the order of calls, and lets a test
// look at the store in the moment between append and apply.
type memLog struct {
	mu      sync.Mutex
	locked  bool
	keep    bool
	records [][]byte
	units   []int // run of Lock..Unlock that each record belongs to
	unit    int
	buf     []byte
	last    wal.LSN
	lastT   int64
	state   sync.Mutex       // last and lastT are read without the lock
	onDone  func(rec []byte) // called before the record gets its LSN
}

func newMemLog() *memLog { return &memLog{keep: true, buf: []byte{}} }

func (l *memLog) Lock() {
	l.mu.Lock()
	l.locked = true
	l.unit++
}

func (l *memLog) Unlock() {
	l.locked = false
	l.mu.Unlock()
}

func (l *memLog) Next(tMilli int64) []byte {
	if !l.locked {
		panic("Next without Lock")
	}
	l.state.Lock()
	l.lastT = max(l.lastT, tMilli)
	l.state.Unlock()
	return l.buf[:0]
}

func (l *memLog) Done(buf []byte) wal.LSN {
	if l.onDone != nil {
		l.onDone(buf)
	}
	l.buf = buf
	if l.keep {
		l.records = append(l.records, bytes.Clone(buf))
		l.units = append(l.units, l.unit)
	}
	l.state.Lock()
	defer l.state.Unlock()
	l.last++
	return l.last
}

func (l *memLog) Last() wal.LSN {
	l.state.Lock()
	defer l.state.Unlock()
	return l.last
}

func (l *memLog) LastT() int64 {
	l.state.Lock()
	defer l.state.Unlock()
	return l.lastT
}

// codes are the opcodes of the records so far.
func (l *memLog) codes(t testing.TB) (codes []op.Code) {
	for _, r := range l.records {
		var o op.Op
		require.NoError(t, op.Decode(r, &o))
		codes = append(codes, o.Code)
	}
	return codes
}

// newTestStore makes a store that is checked whole when the test ends.
func newTestStore(t testing.TB, shards, databases int) (*Store, *memLog) {
	l := newMemLog()
	s := NewStore(Options{Shards: shards, Databases: databases, Log: l})
	t.Cleanup(func() {
		require.NoError(t, s.Check())
		s.Close()
		require.Zero(t, s.Memory().EntryBytes)
		require.Zero(t, s.Memory().IndexBytes)
		require.Zero(t, s.Memory().MappedBytes)
	})
	return s, l
}

// start is a T for tests: 2024.
const start int64 = 1_704_067_200_000

// with runs f in a Tx that holds k's shard.
func with(tx *Tx, now int64, db int, key string, f func(k *Key)) {
	k := MakeKey([]byte(key))
	tx.Begin(now, db)
	tx.LockKeys([]Key{k})
	f(&k)
	tx.End()
}

// withAll runs f in a Tx that holds every shard.
func withAll(tx *Tx, now int64, db int, f func()) {
	tx.Begin(now, db)
	tx.LockAll()
	f()
	tx.End()
}

func set(t testing.TB, tx *Tx, now int64, key, value string, deadline int64) {
	with(tx, now, 0, key, func(k *Key) {
		require.NoError(t, tx.Put(k, Value{Bytes: []byte(value), DeadlineMilli: deadline}))
	})
}

func get(tx *Tx, now int64, key string) (value string, deadline int64, ok bool) {
	with(tx, now, 0, key, func(k *Key) {
		var v Value
		if v, ok = tx.Get(k); ok {
			value, deadline = string(v.Bytes), v.DeadlineMilli
		}
	})
	return value, deadline, ok
}

// stored is a value as a model keeps it.
type stored struct {
	value    string
	raw      bool
	deadline int64
}

// dump reads a database with Scan.
func dump(tx *Tx, now int64, db int) map[string]stored {
	out := map[string]stored{}
	for cursor := uint64(0); ; {
		tx.Begin(now, db)
		cursor = tx.Scan(cursor, 100, func(key []byte, v Value) {
			out[string(key)] = stored{string(v.Bytes), v.Raw, v.DeadlineMilli}
		})
		tx.End()
		if cursor == 0 {
			return out
		}
	}
}

// replay applies what l recorded to a fresh store.
func replay(t testing.TB, l *memLog, shards, databases int) *Store {
	s, _ := newTestStore(t, shards, databases)
	var o op.Op
	for i, r := range l.records {
		require.NoError(t, op.Decode(r, &o))
		require.NoError(t, s.Apply(wal.LSN(i+1), &o))
	}
	return s
}

// requireSame compares databases and names the first key that differs.
func requireSame(t testing.TB, want, got map[string]stored, what string) {
	t.Helper()
	keys := map[string]bool{}
	for k := range want {
		keys[k] = true
	}
	for k := range got {
		keys[k] = true
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		w, inWant := want[k]
		g, inGot := got[k]
		if w != g || inWant != inGot {
			t.Fatalf("%s: key %.40q: want %v %.60q, got %v %.60q", what, k, inWant, fmt.Sprint(w), inGot, fmt.Sprint(g))
		}
	}
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
