package shard

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPutGetDelete(t *testing.T) {
	s, _ := newTestStore(t, 4, 2)
	tx := s.NewTx()
	_, _, ok := get(tx, start, "k")
	require.False(t, ok)
	set(t, tx, start, "k", "v", 0)
	v, deadline, ok := get(tx, start, "k")
	require.True(t, ok)
	require.Equal(t, "v", v)
	require.Zero(t, deadline)
	with(tx, start, 0, "k", func(k *Key) {
		require.True(t, tx.Delete(k))
		require.False(t, tx.Delete(k))
	})
	_, _, ok = get(tx, start, "k")
	require.False(t, ok)
	require.Equal(t, int64(1), tx.Hits)
	require.Equal(t, int64(2), tx.Misses)
	require.Equal(t, int64(2), tx.Writes)
}

// Values of every size around the borders between forms, and keys of every
// form, come back whole, are replaced by every other, and are freed.
func TestSizes(t *testing.T) {
	sizes := []int{0, 1, 7, 8, 100, 127, 128, 1000, 4000, 4050, 4060, 4070, 4080, 4084, 4085, 4086, 4087, 4088, 4089, 4090,
		4095, 4096, 4097, 4098, 4099, 4100, 5000, 16383, 16384, 64 << 10, 1 << 20, 10 << 20, 33 << 20}
	keys := []string{"", "k", strings.Repeat("k", 127), strings.Repeat("k", 128), strings.Repeat("k", 1023),
		strings.Repeat("k", 1024), strings.Repeat("k", 1025), strings.Repeat("k", 5000), strings.Repeat("k", 100_000)}
	s, l := newTestStore(t, 1, 1)
	l.keep = false
	tx := s.NewTx()
	pattern := make([]byte, 997)
	for i := range pattern {
		pattern[i] = byte(i*7 + i>>8)
	}
	fill := func(n, salt int) string {
		return string(bytes.Repeat(pattern, (n+salt)/len(pattern)+1)[salt : salt+n])
	}
	for i, key := range keys {
		for j, size := range sizes {
			if size > 1<<20 && i > 1 {
				continue
			}
			want := fill(size, i+j)
			deadline := int64(0)
			if j%2 == 1 {
				deadline = start + int64(j)
			}
			set(t, tx, start, key, want, deadline)
			got, gotDeadline, ok := get(tx, start, key)
			require.True(t, ok)
			require.True(t, want == got, "key of %d bytes, value of %d", len(key), size)
			require.Equal(t, deadline, gotDeadline)
		}
		require.NoError(t, s.Check())
	}
	require.Len(t, dump(tx, start, 0), len(keys))
	for _, key := range keys {
		with(tx, start, 0, key, func(k *Key) { require.True(t, tx.Delete(k)) })
	}
	require.Zero(t, s.Memory().EntryBytes)
}
