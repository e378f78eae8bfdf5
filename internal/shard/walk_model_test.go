package shard

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// taken is what a walk yields, as a snapshot would keep it.
type taken struct {
	secrets [4]uint64
	entries []op.Op
	pieces  []Piece
	open    int // entries before the present piece
}

func (k *taken) emit(db int, key []byte, v Value) {
	k.entries = append(k.entries, op.Op{
		Code: op.Put, DB: db, Type: uint8(v.Type), Raw: v.Raw, DeadlineMilli: v.DeadlineMilli,
		Key: bytes.Clone(key), Value: bytes.Clone(v.Bytes),
	})
}

// next takes one more piece and checks that what it holds lies where it says.
func (k *taken) next(t testing.TB, w *Walk, limitBytes int) bool {
	from := w.at
	p, more := w.Next(limitBytes, k.emit)
	if !more {
		return false
	}
	require.Greater(t, p.End, from)
	for _, o := range k.entries[k.open:] {
		at := PlaceOf(o.Key, &k.secrets)
		require.True(t, from <= at && at < p.End, "an entry at %x in the piece from %x to %x", at, from, p.End)
	}
	k.open = len(k.entries)
	k.pieces = append(k.pieces, p)
	return true
}

func (k *taken) first() wal.LSN { return k.pieces[0].LSN }
func (k *taken) last() wal.LSN  { return k.pieces[len(k.pieces)-1].LSN }

// load makes a store of what was taken and of the records that l holds. Reset
// in between must leave nothing behind.
func (k *taken) load(t testing.TB, l *memLog, shards, databases int) *Store {
	s := NewStore(Options{Shards: shards, Databases: databases})
	for range 2 {
		s.Reset()
		require.Zero(t, s.Memory().UsedBytes)
		require.Zero(t, s.Memory().MappedBytes)
		ld := s.NewLoader(k.secrets)
		half := len(k.entries) / 2
		require.NoError(t, ld.Insert(k.entries[:half]))
		require.NoError(t, ld.Insert(k.entries[half:]))
		require.NoError(t, ld.Pieces(k.pieces))
		var o op.Op
		for lsn := k.first() + 1; lsn <= k.last(); lsn++ {
			require.NoError(t, op.Decode(l.records[lsn-1], &o))
			require.NoError(t, ld.Apply(lsn, &o))
		}
		require.NoError(t, s.Check())
	}
	return s
}

// otherSecrets runs f as in another process. No test that runs beside this one
// may use the hash: the caller is not parallel.
func otherSecrets(seed uint64, f func()) {
	was := secrets
	defer func() { secrets = was }()
	SeedHash(seed)
	f()
}

// seen counts what the seeds of TestWalkModel ran into, so that a change of
// the numbers cannot make the test an empty one.
type seen struct {
	midSlot, midShard     int // pieces that end in the middle of a slot, of a shard
	skipped, applied      int // records about keys, by whether the piece holds them
	flushedPart, swapsMid int // whole-database records in the middle
}

func (n *seen) count(k *taken, l *memLog) {
	for i, p := range k.pieces {
		n.midSlot += b2i(uint32(p.End) != 0)
		n.midShard += b2i(i+1 < len(k.pieces))
	}
	for lsn := k.first() + 1; lsn <= k.last(); lsn++ {
		var o op.Op
		_ = op.Decode(l.records[lsn-1], &o)
		switch o.Code {
		case op.FlushDB, op.FlushAll:
			n.flushedPart++
		case op.SwapDB:
			n.swapsMid++
		case op.Tick:
		default:
			at := PlaceOf(o.Key, &k.secrets)
			for _, p := range k.pieces {
				if at < p.End {
					n.skipped += b2i(p.LSN >= lsn)
					n.applied += b2i(p.LSN < lsn)
					break
				}
			}
		}
	}
}

// A walk in the middle of everything that can happen, loaded into a store of
// another number of shards and another hash, together with the records from
// its first piece to its last, is the store as of the last piece: nothing is
// missing, twice, or from another moment. What comes behind applies strictly.
func TestWalkModel(t *testing.T) {
	seeds := 24
	if testing.Short() || raceEnabled {
		seeds = 12
	}
	var n seen
	for _, shards := range []int{1, 4, 16} {
		for seed := range seeds {
			t.Run(fmt.Sprint(shards, " shards seed ", seed), func(t *testing.T) {
				walkModel(t, shards, uint64(seed), &n)
			})
		}
	}
	require.NotZero(t, n.midSlot)
	require.NotZero(t, n.midShard)
	require.NotZero(t, n.skipped)
	require.NotZero(t, n.applied)
	require.NotZero(t, n.flushedPart)
	require.NotZero(t, n.swapsMid)
}

func walkModel(t *testing.T, shards int, seed uint64, n *seen) {
	const databases = 3
	rnd := newRand(seed)
	m := newModel(t, shards, databases, rnd.Uint32)
	m.hot = seed%2 == 1
	for range rnd.IntN(800) {
		m.step()
	}
	k := &taken{secrets: secrets}
	w := m.s.NewWalk()
	limit := []int{1, 200, 2000, 20_000, 64 << 10}[rnd.IntN(5)]
	steps := []int{1, 3, 40}[rnd.IntN(3)]
	for k.next(t, w, limit) {
		if w.at == PlaceEnd {
			break
		}
		for range rnd.IntN(steps + 1) {
			m.step()
		}
		if rnd.IntN(12) == 0 {
			m.wholeDatabase(rnd.IntN(databases))
		}
	}
	require.False(t, k.next(t, w, limit), "a walk goes on behind its end")
	require.Equal(t, m.l.Last(), k.last())
	n.count(k, m.l)

	at := make([]map[string]stored, databases) // the model as of the last piece
	for db := range m.dbs {
		at[db] = map[string]stored{}
		for key := range m.dbs[db] {
			if v, ok := m.live(db, key); ok {
				at[db][key] = v
			}
		}
	}
	then := m.now
	for range 100 {
		m.step()
	}
	otherSecrets(seed, func() {
		s := k.load(t, m.l, []int{1, 2, 4, 16, 64}[rnd.IntN(5)], databases)
		defer s.Close()
		// Reading would reclaim what expired, so that records about it no longer
		// apply; a store that serves has applied them all before.
		for db := range at {
			requireSame(t, at[db], contents(s, db, then), fmt.Sprint("loaded database ", db))
		}
		var o op.Op
		for lsn := k.last() + 1; lsn <= m.l.Last(); lsn++ {
			require.NoError(t, op.Decode(m.l.records[lsn-1], &o))
			require.NoError(t, s.Apply(lsn, &o))
		}
		for db := range m.dbs {
			for key := range m.dbs[db] {
				m.live(db, key)
			}
			requireSame(t, m.dbs[db], contents(s, db, m.now), fmt.Sprint("database ", db, " after the rest"))
		}
		require.NoError(t, s.Check())
	})
}

// contents reads what of a database lives at T now, and changes nothing.
func contents(s *Store, db int, now int64) map[string]stored {
	out := map[string]stored{}
	for i := range s.shards {
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
				v := x.asValue()
				if v.DeadlineMilli == 0 || v.DeadlineMilli > now {
					out[string(x.key)] = stored{string(v.Bytes), v.Raw, v.DeadlineMilli}
				}
			}
		}
	}
	return out
}
