package shard

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// compactAll runs whole rounds until one finds nothing to move.
func compactAll(t testing.TB, s *Store, o CompactOptions) {
	for rounds := 0; ; {
		wrapped, found := s.CompactStep(5000, o)
		if !wrapped {
			continue
		}
		if !found {
			for s.Cool(o.Purge) {
			}
			return
		}
		rounds++
		require.Less(t, rounds, 20, "compaction finds something to do for ever")
	}
}

// shove makes slabs and chunks of a database leave that chance chooses, worth
// it or not, when no pass is under way: more than census ever would.
func (c *compaction) shove(s *Store, next func() uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ks != nil {
		return
	}
	sh := &s.shards[int(next())%len(s.shards)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	c.shard, c.db = sh.first>>s.shift, int(next())%len(sh.dbs)
	ks := sh.dbs[c.db].ks.Load()
	if ks == nil {
		return
	}
	c.begin(ks)
	for id := uint32(0); id < ks.arena.fresh; id++ {
		if sl := ks.arena.slab(id); sl.units != 0 && sl.prev != leaving && next()%2 == 0 {
			c.census.slabs[sl.units][sl.fill()] = 1
			c.mark(id, sl)
		}
	}
	for i := range ks.big.chunks {
		if ch := &ks.big.chunks[i]; ch.base != nil && !ch.solo && !ch.leaving && ch.blocks > 0 && next()%2 == 0 {
			ks.big.leave(ch)
		}
	}
	c.stage = unlisting
}

// compact is a model's operation: some steps of compaction, planned or shoved.
func (m *model) compact() {
	if m.n(2) == 0 {
		m.s.compaction.shove(m.s, m.next)
	}
	o := CompactOptions{MinWastePercent: m.n(10), Purge: m.n(4) == 0}
	for range 1 + m.n(4) {
		m.s.CompactStep(1+m.n(3000), o)
	}
}

// wasteRatio is what is mapped for what is live.
func wasteRatio(s *Store) float64 {
	waste, live := s.Waste()
	return float64(waste+live) / float64(live)
}

// fillDrifting writes keys in order, whose values have sizes around mean.
func fillDrifting(t testing.TB, tx *Tx, keys, overwrites, mean, spread int) {
	rnd := newRand(3)
	value := make([]byte, mean+spread)
	for i := range keys {
		putBench(t, tx, i, value[:driftSize(i, keys, mean, spread)+rnd.IntN(spread)-spread/2])
	}
	churn(t, tx, keys, overwrites, mean, spread)
}

// churn overwrites keys that chance chooses, as clients do.
func churn(t testing.TB, tx *Tx, keys, overwrites, mean, spread int) {
	rnd := newRand(4)
	value := make([]byte, mean+spread)
	for i := range overwrites {
		putBench(t, tx, rnd.IntN(keys), value[:driftSize(i, overwrites, mean, spread)+rnd.IntN(spread)-spread/2])
	}
}

// driftSize wanders from mean less half the spread to mean and half of it more.
func driftSize(i, n, mean, spread int) int { return mean + spread*(2*i-n)/(2*n) }

func putBench(t testing.TB, tx *Tx, n int, value []byte) {
	k := [1]Key{MakeKey(benchKey(nil, n))}
	tx.Begin(start, 0)
	tx.LockKeys(k[:])
	err := tx.Put(&k[0], Value{Bytes: value})
	tx.End()
	if err != nil {
		t.Fatal(err)
	}
}

func deleteMost(tx *Tx, keys, keepOneIn int) {
	var key []byte
	for i := range keys {
		if i%keepOneIn == 0 {
			continue
		}
		key = benchKey(key, i)
		k := [1]Key{MakeKey(key)}
		tx.Begin(start, 0)
		tx.LockKeys(k[:])
		tx.Delete(&k[0])
		tx.End()
	}
}

// What is mapped comes within a tenth of what is live, or an eighth where that
// is big values, and a slab for each block
// size in use, after sizes drifted, after most keys were deleted, and after
// most expired: for values inside entries and for big ones.
func TestCompactionFreesMemory(t *testing.T) {
	cases := []struct {
		name               string
		keys, mean, spread int
		ratio              float64
		slack              float64 // bytes
	}{
		{"in entries", 60_000, 107, 40, 1.1, 0},
		{"large entries", 12_000, 1000, 100, 1.1, 0},
		{"big", 3_000, 9000, 3000, 1.15, 0},
		{"larger than what moves", 120, 400_000, 300_000, 1.05, bigSlackBytes}, // so much keeps its pages
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, l := newTestStore(t, 1, 1)
			l.keep = false
			tx := s.NewTx()
			falls := func(what string, shrink func()) {
				shrink()
				was, sum := wasteRatio(s), dumpSum(s)
				compactAll(t, s, CompactOptions{MinWastePercent: 3})
				require.NoError(t, s.Check())
				require.Equal(t, sum, dumpSum(s), "%s: compaction changed what is stored", what)
				waste, live := s.Waste()
				sizes := sizesInUse(s)
				t.Logf("%s: %.2f before, %.2f after, %d block sizes", what, was, wasteRatio(s), sizes)
				allowed := float64(live)*c.ratio + c.slack + float64(sizes+1)*slabBytes // and a warm one
				require.LessOrEqual(t, float64(waste+live), allowed, what)
			}
			falls("drift", func() { fillDrifting(t, tx, c.keys, 2*c.keys, c.mean, c.spread) })
			falls("shrink", func() { deleteMost(tx, c.keys, 5) })
			falls("expiry", func() {
				fillDrifting(t, tx, c.keys, 0, c.mean, c.spread)
				expireMost(t, tx, c.keys, 5)
			})
		})
	}
}

func sizesInUse(s *Store) (n int) {
	for _, head := range s.shards[0].dbs[0].ks.Load().arena.partial {
		n += b2i(head != 0)
	}
	return n
}

func expireMost(t testing.TB, tx *Tx, keys, keepOneIn int) {
	for i := range keys {
		if i%keepOneIn != 0 {
			with(tx, start, 0, string(benchKey(nil, i)), func(k *Key) {
				require.True(t, tx.SetDeadline(k, start+1))
			})
		}
	}
	for wrapped := false; !wrapped; {
		tx.Begin(start+2, 0)
		_, wrapped = tx.ExpireStep(10_000)
		tx.End()
	}
}

// dumpSum is a sum over all that is stored.
func dumpSum(s *Store) (sum uint64) {
	for i := range s.shards {
		for db := range s.shards[i].dbs {
			ks := s.shards[i].dbs[db].ks.Load()
			if ks == nil {
				continue
			}
			for j := range ks.recs {
				if ks.recs[j].word == 0 {
					continue
				}
				for _, r := range ks.entriesOf(ks.recs[j].word) {
					x := ks.parse(ks.arena.at(r))
					sum += hashKey(x.key) * (hashKey(x.value) | 1) * uint64(x.deadline()+1)
				}
			}
		}
	}
	return sum
}

// A segment and the nodes of a slot with many keys move like entries.
func TestCompactionMovesIndex(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	const keys = 30_000
	for i := range keys {
		set(t, tx, start, fmt.Sprintf("{tag}%d", i), "v", 0)
	}
	rnd := newRand(5)
	for range 6 {
		s.compaction.shove(s, rnd.Uint32)
		require.NotZero(t, s.shards[0].dbs[0].ks.Load().arena.nLeave)
		for s.Compacting() {
			s.CompactStep(700, CompactOptions{})
			for range 20 { // segments grow, split, shrink and merge meanwhile
				n := rnd.IntN(2 * keys)
				if rnd.IntN(2) == 0 {
					set(t, tx, start, fmt.Sprintf("{tag}%d", n), strings.Repeat("v", rnd.IntN(30)), 0)
				} else {
					with(tx, start, 0, fmt.Sprintf("{tag}%d", n), func(k *Key) { tx.Delete(k) })
				}
			}
		}
		require.NoError(t, s.Check())
	}
}

// A pass that a flush or a swap overtakes ends, and one of a database that
// moved to another number goes on.
func TestCompactionBesideFlush(t *testing.T) {
	s, l := newTestStore(t, 1, 2)
	l.keep = false
	tx := s.NewTx()
	fillDrifting(t, tx, 20_000, 0, 100, 40)
	sum := dumpSum(s)
	s.compaction.shove(s, func() uint32 { return 0 })
	require.True(t, s.Compacting())
	s.CompactStep(500, CompactOptions{})
	withAll(tx, start, 0, func() { tx.Swap(0, 1) })
	for s.Compacting() {
		s.CompactStep(500, CompactOptions{})
	}
	require.NoError(t, s.Check())
	require.Equal(t, sum, dumpSum(s))
	require.Zero(t, s.shards[0].dbs[1].ks.Load().arena.nLeave)

	withAll(tx, start, 0, func() { tx.Swap(0, 1) })
	s.compaction.shove(s, func() uint32 { return 0 })
	s.CompactStep(500, CompactOptions{})
	require.True(t, s.Compacting())
	withAll(tx, start, 0, tx.FlushAll)
	fillDrifting(t, tx, 1000, 0, 100, 40)
	s.CompactStep(1, CompactOptions{})
	require.False(t, s.Compacting(), "a pass over a flushed database goes on")
}

// Without memory for the copy all stays as it is.
func TestCompactionNoMemory(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	fillDrifting(t, tx, 20_000, 0, 100, 40)
	for i := range 50 {
		set(t, tx, start, fmt.Sprint("big", i), strings.Repeat("b", 20_000), 0)
	}
	ks := s.shards[0].dbs[0].ks.Load()
	s.pool.mapper = func(int64) unsafe.Pointer { return nil }
	sum := dumpSum(s)
	s.compaction.shove(s, func() uint32 { return 0 })
	for ks.arena.cold != 0 || ks.arena.warm != 0 || ks.arena.fresh < ks.arena.end { // what is mapped already
		r, ok := ks.arena.alloc(1)
		if !ok {
			break
		}
		defer ks.arena.release(r)
	}
	for s.Compacting() {
		s.CompactStep(500, CompactOptions{})
	}
	require.Equal(t, sum, dumpSum(s))
	require.NotZero(t, s.Compaction().Stayed)
}

// A step does not allocate on the Go heap, however much it moves.
func TestCompactionAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	fillDrifting(t, tx, 30_000, 30_000, 120, 100)
	for i := range 200 {
		set(t, tx, start, fmt.Sprint("big", i), strings.Repeat("b", 5000), 0)
	}
	s.compaction.shove(s, newRand(1).Uint32)
	require.True(t, s.Compacting())
	before := s.Compaction().Moved
	require.Zero(t, testing.AllocsPerRun(20, func() { s.CompactStep(2000, CompactOptions{}) }))
	require.Greater(t, s.Compaction().Moved, before+500)
	for s.Compacting() {
		s.CompactStep(2000, CompactOptions{})
	}
}

// A big value that APPEND gave room keeps some of it when it moves, and the
// next append lands behind what is there.
func TestCompactionKeepsSlack(t *testing.T) {
	s, _ := newTestStore(t, 1, 1)
	tx := s.NewTx()
	set(t, tx, start, "k", strings.Repeat("x", 10_000), 0)
	with(tx, start, 0, "k", func(k *Key) { _, _ = tx.Splice(k, 10_000, bytes.Repeat([]byte("y"), 100)) })
	s.compaction.shove(s, func() uint32 { return 0 })
	for s.Compacting() {
		s.CompactStep(2000, CompactOptions{})
	}
	require.NotZero(t, s.Compaction().Moved)
	ks := s.shards[0].dbs[0].ks.Load()
	var at unsafe.Pointer
	for range 2 {
		with(tx, start, 0, "k", func(k *Key) {
			v, _ := tx.Peek(k)
			require.True(t, at == nil || at == unsafe.Pointer(unsafe.SliceData(v.Bytes)), "the value had no room")
			at = unsafe.Pointer(unsafe.SliceData(v.Bytes))
			_, err := tx.Splice(k, len(v.Bytes), bytes.Repeat([]byte("z"), 500))
			require.NoError(t, err)
		})
	}
	require.Greater(t, ks.big.capacity(mustBig(t, s, "k")), 11_100)
	v, _, _ := get(tx, start, "k")
	require.Equal(t, strings.Repeat("x", 10_000)+strings.Repeat("y", 100)+strings.Repeat("z", 1000), v)
}

// mustBig is the block of key's value.
func mustBig(t testing.TB, s *Store, key string) handle {
	k := MakeKey([]byte(key))
	ks := s.shardOf(k.Slot).dbs[0].ks.Load()
	var c cell
	require.NotNil(t, ks.find(ks.leaf(ks.rec(k.Slot).word, position(k.Hash)), &k, &c))
	_, h := ks.bigHandles(c.e)
	require.NotZero(t, h)
	return h
}

// A value that is lent stays where it is, and its chunk waits for it.
func TestCompactionLeavesTheLent(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	want := strings.Repeat("x", 50_000)
	set(t, tx, start, "lent", want, 0)
	for i := range 100 {
		set(t, tx, start, fmt.Sprint("other", i), strings.Repeat("y", 50_000), 0)
	}
	var bytes []byte
	var lender Lender
	var token uint64
	with(tx, start, 0, "lent", func(k *Key) {
		v, ok := tx.Peek(k)
		require.True(t, ok)
		bytes = v.Bytes
		lender, token = tx.Lend(k)
	})
	require.NotNil(t, lender)
	all := func() {
		s.compaction.shove(s, func() uint32 { return 0 })
		for s.Compacting() {
			s.CompactStep(2000, CompactOptions{})
		}
		require.NoError(t, s.Check())
	}
	all()
	require.Greater(t, s.Compaction().Moved, int64(100))
	require.NotZero(t, s.Compaction().Stayed)
	v, _, _ := get(tx, start, "lent")
	require.Equal(t, want, v)
	with(tx, start, 0, "lent", func(k *Key) {
		v, _ := tx.Peek(k)
		require.Same(t, unsafe.SliceData(bytes), unsafe.SliceData(v.Bytes), "it moved")
		tx.Delete(k)
	})
	for i := range 100 { // what moved may lie anywhere, the lent bytes included
		set(t, tx, start, fmt.Sprint("other", i), strings.Repeat("z", 50_000), 0)
	}
	all()
	require.True(t, want == string(bytes), "lent bytes changed")
	lender.Return(token)
	require.NoError(t, s.Check())
}

// A flush that comes while pages of the database are given back leaves its
// chunks to that: in the pool they could be another database's by then.
func TestFlushWhilePagesGoBack(t *testing.T) {
	s, l := newTestStore(t, 1, 2)
	l.keep = false
	tx := s.NewTx()
	fillDrifting(t, tx, 20_000, 0, 100, 40)
	deleteMost(tx, 20_000, 20_001)
	require.True(t, s.Coolable())
	released := 0
	s.pool.release = func(ranges []memoryRange) {
		released += len(ranges)
		withAll(tx, start, 0, tx.FlushAll)
		for kind := range s.pool.chunks {
			require.Empty(t, s.pool.chunks[kind].dirty, "the pool has them already")
		}
	}
	require.True(t, s.Cool(true))
	require.NotZero(t, released)
	require.NotEmpty(t, s.pool.chunks[0].dirty)
	s.pool.release = releaseRanges
	for s.Cool(true) {
	}
	require.Zero(t, s.Memory().MappedBytes)
}

// A purge leaves no memory with a database whose large values are gone.
func TestPurgeOfLargeValues(t *testing.T) {
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	set(t, tx, start, "small", "v", 0)
	for i := range 20 {
		set(t, tx, start, fmt.Sprint(i), strings.Repeat("v", 1<<20), 0)
	}
	for i := range 20 {
		with(tx, start, 0, fmt.Sprint(i), func(k *Key) { require.True(t, tx.Delete(k)) })
	}
	big := &s.shards[0].dbs[0].ks.Load().big
	require.NotZero(t, big.dirty, "an empty chunk keeps its pages")
	compactAll(t, s, CompactOptions{Purge: true})
	require.Zero(t, big.dirty)
	require.Zero(t, big.empty)
	require.NoError(t, s.Check())
	set(t, tx, start, "again", strings.Repeat("v", 1<<20), 0)
	require.NoError(t, s.Check())
}
