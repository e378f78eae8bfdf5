package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// A key is there until T reaches its deadline, and from then on nowhere.
func TestAbsentFromDeadline(t *testing.T) {
	deadline := start + 100
	for _, c := range []struct {
		name    string
		present func(tx *Tx, now int64) bool
	}{
		{"Get", func(tx *Tx, now int64) (ok bool) { _, _, ok = get(tx, now, "k"); return ok }},
		{"Peek", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) { _, ok = tx.Peek(k) })
			return ok
		}},
		{"Touch", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) { ok = tx.Touch(k) })
			return ok
		}},
		{"Access", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) { _, ok = tx.Access(k) })
			return ok
		}},
		{"Delete", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) { ok = tx.Delete(k) })
			return ok
		}},
		{"SetDeadline", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) { ok = tx.SetDeadline(k, 0) })
			return ok
		}},
		{"Splice", func(tx *Tx, now int64) (ok bool) {
			with(tx, now, 0, "k", func(k *Key) {
				n, err := tx.Splice(k, 0, []byte("x"))
				ok = err == nil && n > 1
			})
			return ok
		}},
		{"Scan", func(tx *Tx, now int64) bool { return len(dump(tx, now, 0)) > 0 }},
		{"Random", func(tx *Tx, now int64) (ok bool) {
			withAll(tx, now, 0, func() { _, ok = tx.Random(7) })
			return ok
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, at := range []int64{deadline - 1, deadline, deadline + 1} {
				s, _ := newTestStore(t, 4, 1)
				tx := s.NewTx()
				set(t, tx, start, "k", "value", deadline)
				require.Equal(t, at < deadline, c.present(tx, at), "at deadline%+d", at-deadline)
			}
		})
	}
}

// Whoever sees that a key expired must never see it again, even after a crash
// and a start with a clock behind: the log carries a T at or past the deadline
// before the reply leaves, and the reply waits for it (I5, I10).
func TestTick(t *testing.T) {
	deadline := start + 100
	now := start + 500
	for _, c := range []struct {
		name    string
		observe func(tx *Tx)
	}{
		{"Get", func(tx *Tx) { get(tx, now, "k") }},
		{"Delete", func(tx *Tx) { with(tx, now, 0, "k", func(k *Key) { tx.Delete(k) }) }},
		{"Scan", func(tx *Tx) { dump(tx, now, 0) }},
		{"Random", func(tx *Tx) { withAll(tx, now, 0, func() { tx.Random(3) }) }},
		{"Evict", func(tx *Tx) {
			tx.store.SetEvictionPolicy(AllKeysLRU)
			tx.Begin(now, 0)
			tx.Evict(1)
			tx.End()
		}},
		{"ExpireStep", func(tx *Tx) {
			tx.Begin(now, 0)
			for wrapped := false; !wrapped; {
				_, wrapped = tx.ExpireStep(100)
			}
			tx.End()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, l := newTestStore(t, 4, 1)
			tx := s.NewTx()
			set(t, tx, start, "k", "v", deadline)
			c.observe(tx)
			require.Equal(t, []op.Code{op.Put, op.Tick}, l.codes(t))
			require.Equal(t, now, l.LastT())
			if c.name != "ExpireStep" && c.name != "Evict" {
				require.Equal(t, wal.LSN(2), tx.Observed())
			}
			require.Equal(t, int64(1), tx.Expired)
			require.Zero(t, s.Memory().EntryBytes)

			// Later readers of the slot learn the same and wait for the same.
			reader := s.NewTx()
			_, _, ok := get(reader, now, "k")
			require.False(t, ok)
			require.Equal(t, wal.LSN(2), reader.Observed())
			require.Len(t, l.records, 2)

			// A restart with a clock behind takes T from the log.
			again := replay(t, l, 1, 1)
			again.SetLog(newMemLog())
			_, _, ok = get(again.NewTx(), l.LastT(), "k")
			require.False(t, ok)
		})
	}
}

// One Tick serves all that expired by then; what already carries a later T
// needs none, but is waited for.
func TestTickOnlyWhenNeeded(t *testing.T) {
	s, l := newTestStore(t, 4, 1)
	tx := s.NewTx()
	for i := range 10 {
		set(t, tx, start, fmt.Sprint("k", i), "v", start+10+int64(i))
	}
	set(t, tx, start, "late", "v", start+1000)
	for i := range 10 {
		_, _, ok := get(tx, start+50, fmt.Sprint("k", i))
		require.False(t, ok)
		require.Equal(t, wal.LSN(12), tx.Observed())
	}
	require.Len(t, l.records, 12)

	set(t, tx, start+2000, "other", "v", 0) // carries T
	_, _, ok := get(tx, start+2000, "late")
	require.False(t, ok)
	require.Len(t, l.records, 13)
	require.Equal(t, wal.LSN(13), tx.Observed())
}

// A write to an expired key logs a whole Put, never a change of what is not
// there: a replay without a clock comes to the same.
func TestWriteToExpired(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	tx := s.NewTx()
	set(t, tx, start, "k", "old value", start+10)
	with(tx, start+10, 0, "k", func(k *Key) {
		n, err := tx.Splice(k, 2, []byte("ab"))
		require.NoError(t, err)
		require.Equal(t, 4, n)
	})
	require.Equal(t, []op.Code{op.Put, op.Tick, op.Put}, l.codes(t))
	want := map[string]stored{"k": {"\x00\x00ab", false, 0}}
	requireSame(t, want, dump(tx, start+10, 0), "store")
	again := replay(t, l, 1, 1)
	again.SetLog(newMemLog())
	requireSame(t, want, dump(again.NewTx(), start+10, 0), "replayed")
}

// A step does as little as it was told and goes on where it ended; a whole
// round finds everything.
func TestExpireStepGoesRound(t *testing.T) {
	s, l := newTestStore(t, 4, 3)
	l.keep = false
	tx := s.NewTx()
	const n = 20_000
	for i := range n {
		deadline := int64(0)
		if i%2 == 0 {
			deadline = start + 1000
		}
		with(tx, start, i%3, fmt.Sprint("k", i), func(k *Key) {
			require.NoError(t, tx.Put(k, Value{Bytes: []byte("v"), DeadlineMilli: deadline}))
		})
	}
	total, steps := 0, 0
	tx.Begin(start+400, 0)
	for wrapped := false; !wrapped; steps++ {
		var r int
		r, wrapped = tx.ExpireStep(50)
		require.LessOrEqual(t, r, 51*bucketCells)
		total += r
	}
	tx.End()
	require.Zero(t, total)
	require.InDelta(t, 600, s.DBStats(0).AvgTTLMilli, 20)
	for wrapped := false; !wrapped; steps++ {
		tx.Begin(start+1000, 0)
		var r int
		r, wrapped = tx.ExpireStep(50)
		tx.End()
		total += r
	}
	require.Equal(t, n/2, total)
	require.Greater(t, steps, 20)
	for db := range 3 {
		require.Zero(t, s.DBStats(db).Expires)
		require.Zero(t, s.DBStats(db).AvgTTLMilli)
	}
}
