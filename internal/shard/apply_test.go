package shard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// A record that does not fit what came before it stops recovery, names itself
// and changes nothing.
func TestApplyRefuses(t *testing.T) {
	s, _ := newTestStore(t, 4, 2)
	require.NoError(t, s.Apply(1, &op.Op{Code: op.Put, Key: []byte("k"), Value: []byte("v")}))
	for _, c := range []struct {
		why string
		op  op.Op
	}{
		{"its key does not exist", op.Op{Code: op.Delete, Key: []byte("none")}},
		{"its key does not exist", op.Op{Code: op.Delete, DB: 1, Key: []byte("k")}},
		{"its key does not exist", op.Op{Code: op.SetDeadline, Key: []byte("none"), DeadlineMilli: 5}},
		{"its key does not exist", op.Op{Code: op.Splice, Key: []byte("none"), Value: []byte("x")}},
		{"it makes a value larger than any can be", op.Op{Code: op.Splice, Key: []byte("k"), Value: []byte("x"), Offset: 1 << 61}},
		{"it makes a value larger than any can be", op.Op{Code: op.Splice, Key: []byte("k"), Value: []byte("x"), Offset: maxValueBytes}},
		{"its type 3 is unknown", op.Op{Code: op.Put, Type: 3, Key: []byte("k"), Value: []byte("v")}},
		{"it is about database 2, but there are 2: start with databases 3 or more", op.Op{Code: op.Put, DB: 2, Key: []byte("k"), Value: []byte("v")}},
		{"it is about database 15, but there are 2: start with databases 16 or more", op.Op{Code: op.FlushDB, DB: 15}},
		{"it is about database 2, but there are 2: start with databases 3 or more", op.Op{Code: op.SwapDB, DB: 1, DB2: 2}},
		{"the opcode is unknown", op.Op{Code: 52}},
	} {
		err := s.Apply(7, &c.op)
		var a *ApplyError
		require.True(t, errors.As(err, &a), "%v", c.op)
		require.Equal(t, ApplyError{7, c.op.Code, c.why}, *a)
	}
	require.EqualError(t, s.Apply(9, &op.Op{Code: op.Delete, Key: []byte("x")}),
		"record 9 (opcode 2) cannot be applied: its key does not exist")
	require.EqualError(t, s.NewLoader(secrets).Insert([]op.Op{{Code: op.Put, DB: 2, Key: []byte("x")}}),
		"an entry of the snapshot cannot be loaded: it is about database 2, but there are 2: start with databases 3 or more")
	s.SetLog(newMemLog())
	tx := s.NewTx()
	requireSame(t, map[string]stored{"k": {"v", false, 0}}, dump(tx, start, 0), "store")
	require.Equal(t, wal.LSN(1), tx.Observed())
}

// Apply takes no notice of time: a change of an entry that expired long ago
// is applied as it was logged (I2), and what was recovered is waited for (I5).
func TestApplyIgnoresTime(t *testing.T) {
	s, _ := newTestStore(t, 4, 2)
	for i, o := range []op.Op{
		{Code: op.Put, Key: []byte("k"), Value: []byte("value"), DeadlineMilli: 1},
		{Code: op.Splice, Key: []byte("k"), Value: []byte("XY"), Offset: 4},
		{Code: op.Tick},
		{Code: op.SetDeadline, Key: []byte("k"), DeadlineMilli: start + 5},
		{Code: op.IdempotencyPut, DB: 1, Key: []byte("i"), Value: []byte("record"), DeadlineMilli: start + 6},
		{Code: op.Put, DB: 1, Key: []byte("gone"), Value: []byte("v")},
		{Code: op.Delete, DB: 1, Key: []byte("gone")},
		{Code: op.SwapDB, DB: 0, DB2: 1},
	} {
		require.NoError(t, s.Apply(wal.LSN(i+1), &o))
	}
	s.SetLog(newMemLog())
	tx := s.NewTx()
	requireSame(t, map[string]stored{"i": {"record", false, start + 6}}, dump(tx, start, 0), "0")
	requireSame(t, map[string]stored{"k": {"valuXY", true, start + 5}}, dump(tx, start, 1), "1")
	require.Equal(t, wal.LSN(8), tx.Observed())
	require.NoError(t, s.Apply(9, &op.Op{Code: op.FlushDB, DB: 1}))
	require.Empty(t, dump(tx, start, 1))
	require.Equal(t, wal.LSN(9), tx.Observed())
	require.NoError(t, s.Apply(10, &op.Op{Code: op.FlushAll}))
	require.Empty(t, dump(tx, start, 0))
	require.Zero(t, s.Memory().UsedBytes)
}
