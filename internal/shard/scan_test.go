package shard

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys that are there from the first call of a scan to the last are emitted,
// exactly once, while all around them others come, go, expire, change size,
// and segments grow, split, shrink and merge.
func TestScanGuarantee(t *testing.T) {
	for _, c := range []struct {
		name, steady, other string
		shards              int
	}{
		{"many slots", "steady%d", "other%d", 4},
		{"one slot", "{tag}steady%d", "{tag}other%d", 1},
	} {
		for _, growing := range []bool{true, false} {
			t.Run(fmt.Sprint(c.name, " growing ", growing), func(t *testing.T) {
				s, l := newTestStore(t, c.shards, 1)
				l.keep = false
				tx := s.NewTx()
				rnd := newRand(3)
				now := start
				const steady, others = 2000, 20_000
				for i := range steady {
					set(t, tx, now, fmt.Sprintf(c.steady, i), "v", 0)
				}
				if !growing {
					for i := range others {
						set(t, tx, now, fmt.Sprintf(c.other, i), "v", 0)
					}
				}
				seen := map[string]int{}
				next := 0
				for cursor := uint64(0); ; {
					tx.Begin(now, 0)
					cursor = tx.Scan(cursor, 1+rnd.IntN(30), func(key []byte, v Value) { seen[string(key)]++ })
					tx.End()
					if cursor == 0 {
						break
					}
					now++
					for range 100 {
						key := fmt.Sprintf(c.other, next%others)
						next++
						switch {
						case growing && next%10 == 0:
							set(t, tx, now, key, "expires", now+int64(rnd.IntN(20)))
						case growing:
							set(t, tx, now, key, "v", 0)
						default:
							with(tx, now, 0, key, func(k *Key) { tx.Delete(k) })
						}
					}
					key := fmt.Sprintf(c.steady, rnd.IntN(steady))
					set(t, tx, now, key, fmt.Sprint(make([]byte, rnd.IntN(100))), 0) // its entry moves
				}
				for i := range steady {
					require.Equal(t, 1, seen[fmt.Sprintf(c.steady, i)], "steady key %d", i)
				}
				require.NoError(t, s.Check())
			})
		}
	}
}

// A call does about as much as was asked for, not a whole slot's worth.
func TestScanCountBoundsWork(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	const n = 20_000
	for i := range n {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
	}
	calls := 0
	for cursor := uint64(0); ; calls++ {
		emitted := 0
		tx.Begin(start, 0)
		cursor = tx.Scan(cursor, 10, func([]byte, Value) { emitted++ })
		tx.End()
		require.LessOrEqual(t, emitted, 10+3*bucketCells)
		if cursor == 0 {
			break
		}
	}
	require.Greater(t, calls, n/(10+3*bucketCells))
}

// Any number a client sends as a cursor is harmless, and what it returns too.
func TestScanAnyCursor(t *testing.T) {
	s, l := newTestStore(t, 4, 1)
	l.keep = false
	tx := s.NewTx()
	for i := range 5000 {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
		set(t, tx, start, fmt.Sprint(i), "v", 0)
	}
	rnd := newRand(1)
	cursors := []uint64{1, math.MaxUint32, math.MaxUint64, 1 << 63, 16383<<32 | math.MaxUint32, 16384 << 32}
	for range 3000 {
		cursors = append(cursors, rnd.Uint64()>>rnd.IntN(64))
	}
	for _, cursor := range cursors {
		tx.Begin(start, 0)
		next := tx.Scan(cursor, 10, func([]byte, Value) {})
		tx.End()
		require.True(t, next == 0 || next > cursor, "%x led to %x", cursor, next)
	}
}

// Under LockAll a scan of many calls sees one instant.
func TestScanUnderLockAll(t *testing.T) {
	s, _ := newTestStore(t, 4, 1)
	tx := s.NewTx()
	for i := range 1000 {
		set(t, tx, start, fmt.Sprint(i), "v", 0)
	}
	seen := map[string]int{}
	withAll(tx, start, 0, func() {
		for cursor := tx.Scan(0, 10, func(k []byte, _ Value) { seen[string(k)]++ }); cursor != 0; {
			cursor = tx.Scan(cursor, 10, func(k []byte, _ Value) { seen[string(k)]++ })
		}
	})
	require.Len(t, seen, 1000)
	for k, n := range seen {
		require.Equal(t, 1, n, k)
	}
	_, _, ok := get(tx, start, "1") // the locks are free again
	require.True(t, ok)
}

// A scan observed the last write of every slot it passed, of empty ones too.
func TestScanObserves(t *testing.T) {
	s, l := newTestStore(t, 4, 2)
	tx := s.NewTx()
	set(t, tx, start, "a", "v", 0)
	set(t, tx, start, "b", "v", 0)
	with(tx, start, 0, "b", func(k *Key) { tx.Delete(k) })
	with(tx, start, 1, "elsewhere", func(k *Key) { require.NoError(t, tx.Put(k, Value{})) })
	reader := s.NewTx()
	dump(reader, start, 0)
	require.Equal(t, l.Last()-1, reader.Observed())
}
