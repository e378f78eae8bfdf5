package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/wal"
)

// A Tx observes the last LSN of each slot it touched, and no other's: a read
// beside a busy writer waits for nothing (I5).
func TestObservedIsPerSlot(t *testing.T) {
	s, l := newTestStore(t, 1, 2) // one shard: its other slots must not matter
	tx := s.NewTx()
	observed := func(db int, f func(k *Key), key string) wal.LSN {
		with(tx, start, db, key, f)
		return tx.Observed()
	}
	read := func(k *Key) { tx.Get(k) }
	write := func(k *Key) { require.NoError(t, tx.Put(k, Value{Bytes: []byte("v")})) }

	require.Zero(t, observed(0, read, "{a}1"), "an empty store depends on nothing")
	require.Equal(t, wal.LSN(1), observed(0, write, "{a}1"))
	require.Equal(t, wal.LSN(2), observed(0, write, "{b}1"))
	require.Equal(t, wal.LSN(1), observed(0, read, "{a}1"))
	require.Equal(t, wal.LSN(1), observed(0, read, "{a}absent"), "of the same slot")
	require.Equal(t, wal.LSN(2), observed(0, read, "{b}1"))
	require.Zero(t, observed(0, read, "{c}1"))
	require.Zero(t, observed(1, read, "{a}1"), "of another database")

	require.Equal(t, wal.LSN(3), observed(0, func(k *Key) { tx.Delete(k) }, "{a}1"))
	require.Equal(t, wal.LSN(3), observed(0, read, "{a}1"), "that it is gone is in record 3")
	require.Equal(t, wal.LSN(3), observed(0, func(k *Key) { tx.Delete(k) }, "{a}1"), "a delete of nothing, too")
	require.Equal(t, wal.LSN(2), observed(0, func(k *Key) { tx.Touch(k) }, "{b}1"))
	require.Equal(t, wal.LSN(4), observed(0, func(k *Key) { tx.SetDeadline(k, start+100) }, "{b}1"))
	require.Equal(t, wal.LSN(4), observed(0, func(k *Key) { tx.Access(k) }, "{b}1"))

	withAll(tx, start, 0, func() { require.Equal(t, int64(1), tx.Len()) })
	require.Equal(t, wal.LSN(4), tx.Observed(), "DBSIZE depends on the whole database")
	withAll(tx, start, 1, func() { tx.Len() })
	require.Zero(t, tx.Observed())
	withAll(tx, start, 0, func() { _, ok := tx.Random(1); require.True(t, ok) })
	require.Equal(t, wal.LSN(4), tx.Observed())

	// Both databases of a swap, and all of a flushed one, depend on it.
	withAll(tx, start, 0, func() { tx.Swap(0, 1) })
	require.Equal(t, wal.LSN(5), observed(0, read, "{c}1"))
	require.Equal(t, wal.LSN(5), observed(1, read, "{b}1"))
	require.Equal(t, int64(1), s.DBStats(1).Keys)
	withAll(tx, start, 1, tx.FlushDB)
	require.Equal(t, wal.LSN(6), observed(1, read, "{b}1"))
	require.Equal(t, wal.LSN(5), observed(0, read, "{b}1"))
	withAll(tx, start, 0, tx.FlushAll)
	require.Equal(t, wal.LSN(7), observed(0, read, "{c}1"))
	require.Equal(t, wal.LSN(7), observed(1, read, "{c}1"))
	require.Equal(t, wal.LSN(7), l.Last())
	dump(tx, start, 0)
	require.Equal(t, wal.LSN(7), tx.Observed())

	// Several keys and databases in one Tx: the greatest of all.
	require.Equal(t, wal.LSN(8), observed(0, write, "{x}"))
	keys := []Key{MakeKey([]byte("{z}")), MakeKey([]byte("{y}")), MakeKey([]byte("{x}")), MakeKey([]byte("{x}"))}
	tx.Begin(start, 1)
	tx.LockKeys(keys)
	tx.Get(&keys[0])
	require.Equal(t, 1, tx.DB())
	tx.Select(0)
	tx.Get(&keys[2])
	tx.End()
	require.Equal(t, wal.LSN(8), tx.Observed())
	require.Equal(t, start, tx.NowMilli())
}

// The records of an Atomic Tx are one unit of the log; others are units by
// themselves.
func TestAtomicIsOneUnit(t *testing.T) {
	s, l := newTestStore(t, 16, 1)
	tx := s.NewTx()
	keys := []Key{MakeKey([]byte("a")), MakeKey([]byte("b")), MakeKey([]byte("c"))}
	run := func(atomic bool) []int {
		from := len(l.units)
		tx.Begin(start, 0)
		tx.LockKeys(keys)
		if atomic {
			tx.Atomic()
			tx.Atomic()
		}
		for i := range keys {
			require.NoError(t, tx.Put(&keys[i], Value{}))
		}
		tx.End()
		return l.units[from:]
	}
	units := run(true)
	require.Len(t, units, 3)
	require.Equal(t, units[0], units[1])
	require.Equal(t, units[0], units[2])
	units = run(false)
	require.NotEqual(t, units[0], units[1])
	require.NotEqual(t, units[1], units[2])
	units = run(true)
	require.Equal(t, units[0], units[2])
}

// A log that keeps nothing gets nothing to encode.
func TestLogThatKeepsNothing(t *testing.T) {
	l := newMemLog()
	l.buf, l.keep = nil, false
	l.onDone = func(rec []byte) { require.Nil(t, rec) }
	s := NewStore(Options{Shards: 3, Databases: 1})
	defer s.Close()
	s.SetLog(l)
	require.Equal(t, 4, s.Shards())
	require.Equal(t, 1, s.Databases())
	tx := s.NewTx()
	set(t, tx, start, "k", "v", 0)
	require.Equal(t, wal.LSN(1), tx.Observed())
	v, _, _ := get(tx, start, "k")
	require.Equal(t, "v", v)
}
