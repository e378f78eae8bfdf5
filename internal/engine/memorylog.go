package engine

import (
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/wal"
)

// memoryLog is the log of a store that keeps nothing: it numbers records and
// drops them. Next returns nil, which tells a transaction not to encode.
type memoryLog struct {
	last atomic.Uint64
	t    atomic.Int64
}

func (m *memoryLog) Lock()   {}
func (m *memoryLog) Unlock() {}

func (m *memoryLog) Next(tMilli int64) []byte {
	m.t.Store(tMilli)
	return nil
}

func (m *memoryLog) Done([]byte) wal.LSN { return wal.LSN(m.last.Add(1)) }
func (m *memoryLog) Last() wal.LSN       { return wal.LSN(m.last.Load()) }
func (m *memoryLog) LastT() int64        { return m.t.Load() }
