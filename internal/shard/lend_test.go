package shard

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// loan is a value that a test was lent, and what it must stay.
type loan struct {
	bytes  []byte
	want   string
	lender Lender
	token  uint64
}

// lend is a loan of key's value; false when it is not there or too small.
func lend(t testing.TB, tx *Tx, now int64, db int, key string) (l loan, ok bool) {
	with(tx, now, db, key, func(k *Key) {
		v, found := tx.Get(k)
		if !found {
			return
		}
		if lender, token := tx.Lend(k); lender != nil {
			l, ok = loan{v.Bytes, string(v.Bytes), lender, token}, true
		}
	})
	return l, ok
}

// giveBack ends a loan after a last look at it.
func (l *loan) giveBack(t testing.TB) {
	require.True(t, string(l.bytes) == l.want, "a lent value changed")
	l.lender.Return(l.token)
}

// Whatever becomes of its key, a lent value stays as it was until it is given
// back; then its memory is free (I4).
func TestLentValueStaysAsItWas(t *testing.T) {
	const size = 100_000
	value := strings.Repeat("v", size)
	splice := func(tx *Tx, k *Key, offset int) { _, _ = tx.Splice(k, offset, []byte("XYZ")) }
	one := func(f func(tx *Tx, k *Key)) func(*Tx) {
		return func(tx *Tx) { with(tx, start, 0, "k", func(k *Key) { f(tx, k) }) }
	}
	for _, c := range []struct {
		name   string
		change func(tx *Tx)
		solo   bool // also for a value in a mapping of its own
	}{
		{"replaced", one(func(tx *Tx, k *Key) { _ = tx.Put(k, Value{Bytes: bytes.Repeat([]byte("w"), size)}) }), false},
		{"replaced by a small one", one(func(tx *Tx, k *Key) { _ = tx.Put(k, Value{Bytes: []byte("w")}) }), false},
		{"replaced by a record", one(func(tx *Tx, k *Key) { _ = tx.PutIdemResult(k, []byte("head"), []byte(value), start+9) }), false},
		{"deleted", one(func(tx *Tx, k *Key) { tx.Delete(k) }), true},
		{"changed in place", one(func(tx *Tx, k *Key) { splice(tx, k, 10) }), true},
		{"appended to", one(func(tx *Tx, k *Key) { splice(tx, k, size); splice(tx, k, size+3) }), false},
		{"given a deadline", one(func(tx *Tx, k *Key) { tx.SetDeadline(k, start+1000) }), false},
		{"expired on reading", func(tx *Tx) {
			one(func(tx *Tx, k *Key) { tx.SetDeadline(k, start+1) })(tx)
			with(tx, start+1, 0, "k", func(k *Key) { tx.Touch(k) })
		}, false},
		{"expired by the walk", func(tx *Tx) {
			one(func(tx *Tx, k *Key) { tx.SetDeadline(k, start+1) })(tx)
			tx.Begin(start+1, 0)
			for wrapped := false; !wrapped; {
				_, wrapped = tx.ExpireStep(1 << 20)
			}
			tx.End()
		}, false},
		{"database flushed", func(tx *Tx) { withAll(tx, start, 0, tx.FlushDB) }, true},
		{"all flushed and filled anew", func(tx *Tx) {
			withAll(tx, start, 0, tx.FlushAll)
			for i := range 30 {
				with(tx, start, 0, fmt.Sprint("other", i), func(k *Key) { _ = tx.Put(k, Value{Bytes: bytes.Repeat([]byte("o"), size)}) })
			}
		}, false},
		{"swapped", func(tx *Tx) { withAll(tx, start, 0, func() { tx.Swap(0, 1) }) }, false},
		{"swapped and deleted", func(tx *Tx) {
			withAll(tx, start, 0, func() { tx.Swap(0, 1) })
			with(tx, start, 1, "k", func(k *Key) { tx.Delete(k) })
		}, false},
		{"deleted, then flushed", func(tx *Tx) {
			one(func(tx *Tx, k *Key) { tx.Delete(k) })(tx)
			withAll(tx, start, 0, tx.FlushAll)
		}, false},
		{"compacted", func(tx *Tx) {
			tx.store.compaction.shove(tx.store, func() uint32 { return 0 })
			for range 100 {
				tx.store.CompactStep(10_000, CompactOptions{Purge: true})
			}
		}, false},
	} {
		for _, solo := range []bool{false, true} {
			if solo && !c.solo {
				continue // it takes 30 MB and the same way
			}
			t.Run(fmt.Sprint(c.name, " solo=", solo), func(t *testing.T) {
				s, _ := newTestStore(t, 1, 2)
				tx := s.NewTx()
				set(t, tx, start, "beside", strings.Repeat("b", 20_000), 0)
				value := value
				if solo {
					value = strings.Repeat("v", bigSoloBytes+1)
				}
				set(t, tx, start, "k", value, 0)
				first, ok := lend(t, tx, start, 0, "k")
				require.True(t, ok)
				second, ok := lend(t, tx, start, 0, "k")
				require.True(t, ok)
				require.Equal(t, int64(2), s.Lent().Loans)
				c.change(tx)
				require.NoError(t, s.Check())
				first.giveBack(t)
				require.NoError(t, s.Check())
				// What could take its place, if it were free already.
				set(t, tx, start, "taker", strings.Repeat("t", size), 0)
				second.giveBack(t)
				require.Equal(t, Lent{}, s.Lent())
				withAll(tx, start, 0, tx.FlushAll)
				for s.pool.step() {
				}
				require.Zero(t, s.Memory().MappedBytes)
			})
		}
	}
}

// Loans that outlive the store still end, and their bytes can be read.
func TestLoanOutlivesItsStore(t *testing.T) {
	s := NewStore(Options{Shards: 1, Databases: 1, Log: newMemLog()})
	tx := s.NewTx()
	set(t, tx, start, "k", strings.Repeat("v", 100_000), 0)
	l, ok := lend(t, tx, start, 0, "k")
	require.True(t, ok)
	s.Close()
	l.giveBack(t)
	require.Equal(t, Lent{}, s.Lent())
}

func TestOnlyBigValuesAreLent(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	tx := s.NewTx()
	set(t, tx, start, "small", strings.Repeat("v", 1000), 0)
	set(t, tx, start, "big", strings.Repeat("v", 10_000), 0)
	_, ok := lend(t, tx, start, 0, "small")
	require.False(t, ok)
	_, ok = lend(t, tx, start, 0, "none")
	require.False(t, ok)
	with(tx, start, 0, "big", func(k *Key) {
		_, _ = tx.Get(k)
		lender, token := tx.Lend(k)
		for range bigPinMax - 1 {
			lender, token = tx.Lend(k)
		}
		require.NotNil(t, lender)
		more, _ := tx.Lend(k)
		require.Nil(t, more, "more loans than can be counted")
		tx.Delete(k)
		defer func() {
			for range bigPinMax {
				lender.Return(token)
			}
		}()
		tx.End() // before that; with ends it once more, which does nothing
	})
	require.Equal(t, Lent{}, s.Lent())
	require.Zero(t, s.Memory().EntryBytes-entryBytesOf(t, s, "small"))
}

func entryBytesOf(t testing.TB, s *Store, key string) (n int64) {
	with(s.NewTx(), start, 0, key, func(k *Key) {
		ks := s.shardOf(k.Slot).dbs[0].ks.Load()
		var c cell
		require.NotNil(t, ks.find(ks.leaf(ks.rec(k.Slot).word, position(k.Hash)), k, &c))
		n = ks.entryBytesAt(c.r)
	})
	return n
}

// Random operations, flushes, swaps and compaction beside loans that last.
func TestLendModel(t *testing.T) {
	for _, shards := range []int{1, 4} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			m := newModel(t, shards, 3, newRand(uint64(shards)+77).Uint32)
			var loans []loan
			lent := 0
			for i := range 4000 {
				m.step()
				db, key := m.n(3), m.key()
				m.live(db, key)
				if l, ok := lend(t, m.tx, m.now, db, key); ok {
					require.Equal(t, m.dbs[db][key].value, l.want)
					loans = append(loans, l)
					lent++
				}
				if len(loans) > m.n(20) {
					n := m.n(len(loans))
					loans[n].giveBack(t)
					loans[n] = loans[len(loans)-1]
					loans = loans[:len(loans)-1]
				}
				require.Equal(t, int64(len(loans)), m.s.Lent().Loans)
				if i%200 == 0 {
					require.NoError(t, m.s.Check())
				}
			}
			require.Greater(t, lent, 100)
			for i := range loans {
				loans[i].giveBack(t)
			}
			require.Equal(t, Lent{}, m.s.Lent())
			m.finish(4)
		})
	}
}

// Readers hold loans while writers replace, splice, delete and flush. Every
// value is one byte many times, so that a change in any place shows.
func TestLendConcurrently(t *testing.T) {
	s, l := newTestStore(t, 4, 1)
	l.keep = false
	rounds := 300
	if testing.Short() {
		rounds = 100
	}
	var all sync.WaitGroup
	for w := range 2 {
		all.Go(func() {
			tx, rnd := s.NewTx(), newRand(uint64(w))
			for i := range rounds {
				key := fmt.Sprint("k", rnd.IntN(4))
				letter := []byte{byte('a' + rnd.IntN(26))}
				with(tx, start, 0, key, func(k *Key) {
					switch v, found := tx.Get(k); {
					case rnd.IntN(4) == 0:
						tx.Delete(k)
					case found && rnd.IntN(2) == 0:
						_, _ = tx.Splice(k, 0, bytes.Repeat(letter, len(v.Bytes)+rnd.IntN(100)))
					default:
						_ = tx.Put(k, Value{Bytes: bytes.Repeat(letter, 10_000+rnd.IntN(100_000))})
					}
				})
				if i%50 == 49 {
					withAll(tx, start, 0, tx.FlushAll)
				}
				s.CompactStep(500, CompactOptions{})
			}
		})
	}
	for r := range 2 {
		all.Go(func() {
			tx, rnd := s.NewTx(), newRand(uint64(10+r))
			var loans []loan
			for range 2 * rounds {
				if l, ok := lend(t, tx, start, 0, fmt.Sprint("k", rnd.IntN(4))); ok {
					loans = append(loans, l)
				}
				if len(loans) > 5 {
					if b := loans[0].bytes; bytes.Count(b, b[:1]) != len(b) {
						t.Error("a lent value changed")
					}
					loans[0].giveBack(t)
					loans = loans[1:]
				}
			}
			for i := range loans {
				loans[i].giveBack(t)
			}
		})
	}
	all.Wait()
	require.Equal(t, Lent{}, s.Lent())
}

// A gap of zeros costs neither memory nor time, and is zeros: behind a new
// value, an old one and one that had room.
func TestFarGapIsZeros(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	tx := s.NewTx()
	for _, before := range []string{"", "small", strings.Repeat("b", 50_000), strings.Repeat("b", 3<<20)} {
		set(t, tx, start, "k", before, 0)
		const gap = 5 << 20
		want := before + strings.Repeat("\x00", gap) + "end" + strings.Repeat("\x00", 1000) + "more"
		with(tx, start, 0, "k", func(k *Key) {
			_, err := tx.Splice(k, len(before)+gap, []byte("end"))
			require.NoError(t, err)
			big, _ := tx.Peek(k)
			require.True(t, tx.ks.big.isSolo(mustBig(t, s, "k")), "%d bytes", len(big.Bytes))
			_, err = tx.Splice(k, len(before)+gap+3+1000, []byte("more"))
			require.NoError(t, err)
		})
		got, _, _ := get(tx, start, "k")
		require.True(t, got == want, "before %d bytes", len(before))
	}
}
