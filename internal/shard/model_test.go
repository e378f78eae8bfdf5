package shard

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

// model is the store as a Go map: what every sequence of operations must lead
// to. It draws its choices from next, so that a random source and a fuzzer's
// bytes can both drive it.
type model struct {
	t    testing.TB
	next func() uint32
	s    *Store
	l    *memLog
	tx   *Tx
	now  int64
	dbs  []map[string]stored
	hot  bool // nearly all keys in one slot

	// What the record being appended may not have changed yet (I1).
	watchDB  int
	watchKey string
	watching bool
}

func newModel(t testing.TB, shards, databases int, next func() uint32) *model {
	s, l := newTestStore(t, shards, databases)
	m := &model{t: t, next: next, s: s, l: l, tx: s.NewTx(), now: start}
	for range databases {
		m.dbs = append(m.dbs, map[string]stored{})
	}
	l.onDone = m.appended
	return m
}

// appended runs between append and apply: the store must still hold what the
// model holds, and the record must say what is about to happen (I1).
func (m *model) appended(rec []byte) {
	var o op.Op
	require.NoError(m.t, op.Decode(rec, &o))
	if !m.watching || o.Code == op.Tick {
		return
	}
	require.Equal(m.t, m.watchDB, o.DB)
	require.Equal(m.t, m.watchKey, string(o.Key))
	want, exists := m.dbs[m.watchDB][m.watchKey]
	k := MakeKey(o.Key)
	ks := m.s.shardOf(k.Slot).dbs[o.DB].ks.Load()
	var c cell
	found := ks != nil && ks.rec(k.Slot).word != 0 &&
		ks.find(ks.leaf(ks.rec(k.Slot).word, position(k.Hash)), &k, &c) != nil
	if !exists {
		require.False(m.t, found, "key %q was there before its record was appended", o.Key)
		return
	}
	require.True(m.t, found, "key %q was gone before its record was appended", o.Key)
	x := ks.parse(c.e)
	v := x.asValue()
	require.Equal(m.t, want, stored{string(v.Bytes), v.Raw, v.DeadlineMilli},
		"key %q had changed before its record was appended", o.Key)
}

func (m *model) n(bound int) int { return int(m.next() % uint32(bound)) }

func (m *model) key() string {
	if m.hot && m.n(10) != 0 {
		return fmt.Sprintf("{tag}%d", m.n(400))
	}
	switch m.n(20) {
	case 0:
		return ""
	case 1, 2, 3, 4:
		return fmt.Sprintf("{tag}%d", m.n(60)) // one slot
	case 5:
		return strings.Repeat("long", 300+m.n(3))
	}
	return fmt.Sprint("k", m.n(200))
}

func (m *model) bytes() []byte {
	sizes := []int{0, 1, 5, 30, 107, 130, 700, 4000, 4090, 4200, 9000, 70_000}
	n := sizes[m.n(len(sizes))] + m.n(4)
	return bytes.Repeat([]byte{byte(m.next())}, n)
}

func (m *model) deadline() int64 {
	switch m.n(8) {
	case 0:
		return m.now + 1
	case 1:
		return m.now + int64(m.n(300))
	case 2:
		return m.now + 10_000 + int64(m.n(1_000_000))
	case 3:
		return deadlineBase + deadlineSpan + int64(m.n(2)) - 1
	case 4:
		return 253402300799999
	}
	return 0
}

// live is the model's value of key at the present T; what expired is gone.
func (m *model) live(db int, key string) (stored, bool) {
	v, ok := m.dbs[db][key]
	if ok && v.deadline != 0 && v.deadline <= m.now {
		delete(m.dbs[db], key)
		return stored{}, false
	}
	return v, ok
}

// step runs one random operation on both and compares the results.
func (m *model) step() {
	if m.n(10) == 0 {
		m.now += int64(m.n(50))
	}
	db := m.n(len(m.dbs))
	switch m.n(60) {
	case 0:
		m.sweep()
		return
	case 1:
		m.compare(db)
		return
	case 2:
		if m.n(6) == 0 {
			m.wholeDatabase(db)
		}
		return
	case 3:
		m.random(db)
		return
	case 4, 5:
		m.compact()
		return
	}
	key := m.key()
	want, exists := m.live(db, key)
	k := MakeKey([]byte(key))
	tx := m.tx
	tx.Begin(m.now, db)
	tx.LockKeys([]Key{k})
	m.watchDB, m.watchKey, m.watching = db, key, true
	defer func() {
		m.watching = false
		tx.End()
		require.LessOrEqual(m.t, tx.Observed(), m.l.Last())
	}()
	switch m.n(12) {
	case 0, 1, 2, 3:
		v := Value{Bytes: m.bytes(), Raw: m.n(4) == 0, DeadlineMilli: m.deadline()}
		require.NoError(m.t, tx.Put(&k, v))
		require.Equal(m.t, m.l.Last(), tx.Observed())
		m.dbs[db][key] = stored{string(v.Bytes), v.Raw, v.DeadlineMilli}
	case 4:
		b, deadline := m.bytes(), m.now+1+int64(m.n(1000))
		require.NoError(m.t, tx.PutIdem(&k, b, deadline))
		m.dbs[db][key] = stored{string(b), false, deadline}
	case 5:
		require.Equal(m.t, exists, tx.Delete(&k))
		delete(m.dbs[db], key)
	case 6:
		deadline := m.deadline()
		require.Equal(m.t, exists, tx.SetDeadline(&k, deadline))
		if exists {
			want.deadline = deadline
			m.dbs[db][key] = want
		}
	case 7, 8:
		m.splice(&k, db, want, exists)
	case 9:
		require.Equal(m.t, exists, tx.Touch(&k))
	default:
		// The value is lent until End, whatever happens to the key before.
		v, ok := tx.Get(&k)
		require.Equal(m.t, exists, ok)
		if ok {
			require.Equal(m.t, want, stored{string(v.Bytes), v.Raw, v.DeadlineMilli})
			require.NoError(m.t, tx.Put(&k, Value{Bytes: v.Bytes, DeadlineMilli: v.DeadlineMilli}))
			m.dbs[db][key] = stored{want.value, false, want.deadline}
			require.True(m.t, tx.Delete(&k))
			require.Equal(m.t, want.value, string(v.Bytes))
			delete(m.dbs[db], key)
		}
	}
}

func (m *model) splice(k *Key, db int, want stored, exists bool) {
	b := m.bytes()
	offset := m.n(len(want.value) + 2)
	if m.n(2) == 0 {
		offset = len(want.value)
	}
	value := []byte(want.value)
	if grown := offset + len(b); grown > len(value) {
		value = append(value, make([]byte, grown-len(value))...)
	}
	copy(value[offset:], b)
	n, err := m.tx.Splice(k, offset, b)
	require.NoError(m.t, err)
	require.Equal(m.t, len(value), n)
	m.dbs[db][string(k.Bytes)] = stored{string(value), exists, want.deadline}
}

// sweep runs the expiry walk all round: then nothing expired is left.
func (m *model) sweep() {
	steps := 1 + m.n(100)
	wrapped := 0
	for wrapped < 2 {
		m.tx.Begin(m.now, 0)
		_, w := m.tx.ExpireStep(steps)
		m.tx.End()
		if w {
			wrapped++
		}
	}
	for db := range m.dbs {
		keys, expires := 0, 0
		for key := range m.dbs[db] {
			if v, ok := m.live(db, key); ok {
				keys++
				if v.deadline != 0 {
					expires++
				}
			}
		}
		stats := m.s.DBStats(db)
		require.Equal(m.t, int64(keys), stats.Keys)
		require.Equal(m.t, int64(expires), stats.Expires)
		withAll(m.tx, m.now, db, func() { require.Equal(m.t, int64(keys), m.tx.Len()) })
	}
}

func (m *model) compare(db int) {
	for key := range m.dbs[db] {
		m.live(db, key)
	}
	requireSame(m.t, m.dbs[db], dump(m.tx, m.now, db), fmt.Sprint("database ", db))
}

func (m *model) wholeDatabase(db int) {
	other := m.n(len(m.dbs))
	switch m.n(3) {
	case 0:
		withAll(m.tx, m.now, db, m.tx.FlushDB)
		m.dbs[db] = map[string]stored{}
		require.Zero(m.t, m.s.DBStats(db).Keys)
	case 1:
		withAll(m.tx, m.now, db, m.tx.FlushAll)
		for i := range m.dbs {
			m.dbs[i] = map[string]stored{}
		}
		require.Zero(m.t, m.s.Memory().UsedBytes)
	case 2:
		withAll(m.tx, m.now, db, func() { m.tx.Swap(db, other) })
		m.dbs[db], m.dbs[other] = m.dbs[other], m.dbs[db]
	}
	require.Equal(m.t, m.l.Last(), m.tx.Observed())
}

func (m *model) random(db int) {
	withAll(m.tx, m.now, db, func() {
		key, ok := m.tx.Random(uint64(m.next())<<32 | uint64(m.next()))
		if ok {
			_, exists := m.live(db, string(key))
			require.True(m.t, exists, "random key %q", key)
			return
		}
		for key := range m.dbs[db] {
			_, exists := m.live(db, key)
			require.False(m.t, exists, "random found nothing, but there is %q", key)
		}
	})
}

// finish compares every database, and a store made of the records alone, with
// the model.
func (m *model) finish(shards int) {
	require.NoError(m.t, m.s.Check())
	again := replay(m.t, m.l, shards, len(m.dbs))
	tx := again.NewTx()
	again.SetLog(newMemLog())
	for db := range m.dbs {
		m.compare(db)
		requireSame(m.t, m.dbs[db], dump(tx, m.now, db), fmt.Sprint("replayed database ", db))
	}
	withAll(m.tx, m.now, 0, m.tx.FlushAll)
	require.Zero(m.t, m.s.Memory().UsedBytes)
}

func TestModel(t *testing.T) {
	steps := 8000
	if testing.Short() {
		steps = 2000
	}
	for _, shards := range []int{1, 4, 16, 256} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			t.Parallel()
			m := newModel(t, shards, 3, newRand(uint64(shards)).Uint32)
			for i := range steps {
				m.step()
				if i%2000 == 0 {
					require.NoError(t, m.s.Check())
				}
			}
			m.finish(16 / min(shards, 8))
		})
	}
}

func FuzzModel(f *testing.F) {
	f.Add([]byte("a few operations, chosen by these bytes"))
	f.Add(bytes.Repeat([]byte{3, 7, 9, 1, 250, 17}, 60))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := newModel(t, 2, 2, func() uint32 {
			if len(b) == 0 {
				return 0
			}
			v := uint32(b[0])
			if len(b) > 1 {
				v |= uint32(b[1]) << 8
				b = b[1:]
			}
			b = b[1:]
			return v
		})
		for steps := 0; len(b) > 0 && steps < 500; steps++ {
			m.step()
		}
		m.finish(2)
	})
}
