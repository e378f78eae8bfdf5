package shard

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Nothing on the hot path allocates on the Go heap.
func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s, l := newTestStore(t, 16, 2)
	l.keep = false
	tx := s.NewTx()
	keys := make([]Key, 16)
	names := make([][]byte, len(keys))
	value := make([]byte, 107)
	big := make([]byte, 100_000)
	for i := range keys {
		names[i] = fmt.Appendf(nil, "key:%d", i)
		keys[i] = MakeKey(names[i])
		set(t, tx, start, string(names[i]), string(value), start+1e6)
	}
	missing := []Key{MakeKey([]byte("missing"))}
	one := keys[:1]
	txOn := func(keys []Key, f func()) func() {
		return func() {
			tx.Begin(start, 0)
			tx.LockKeys(keys)
			f()
			tx.End()
		}
	}
	put := func(v []byte, deadline int64) func() {
		return func() {
			if err := tx.Put(&one[0], Value{Bytes: v, DeadlineMilli: deadline}); err != nil {
				t.Error(err)
			}
		}
	}
	putSame, putShort, putPlain, putBig := put(value, start+1e6), put(value[:50], 0), put(value, 0), put(big, 0)
	for name, f := range map[string]func(){
		"MakeKey":           func() { one[0] = MakeKey(names[0]) },
		"Get":               txOn(one, func() { tx.Get(&one[0]) }),
		"Peek":              txOn(one, func() { tx.Peek(&one[0]) }),
		"Get missing":       txOn(missing, func() { tx.Get(&missing[0]) }),
		"Touch":             txOn(one, func() { tx.Touch(&one[0]) }),
		"Access":            txOn(one, func() { tx.Access(&one[0]) }),
		"Put":               txOn(one, putSame),
		"Put other size":    txOn(one, func() { putShort(); putPlain() }),
		"Put big":           txOn(one, func() { putBig(); putPlain() }),
		"PutIdem":           txOn(one, func() { _ = tx.PutIdem(&one[0], value, start+1e6) }),
		"Splice":            txOn(one, func() { _, _ = tx.Splice(&one[0], 1, value[:9]) }),
		"SetDeadline":       txOn(one, func() { tx.SetDeadline(&one[0], start+2e6) }),
		"Delete and Put":    txOn(one, func() { tx.Delete(&one[0]); putSame() }),
		"16 keys in shards": txOn(keys, func() { tx.Atomic(); tx.Get(&keys[7]); putPlain() }),
		"Prefetch":          func() { tx.Prefetch(0, keys) },
		"UsedBytes":         func() { s.UsedBytes() },
	} {
		require.Zero(t, testing.AllocsPerRun(200, f), name)
	}
}
