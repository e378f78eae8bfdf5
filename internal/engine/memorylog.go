package engine

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/wal"
)

// memoryLog is the log of a store that keeps none: it numbers records and
// drops them. Next returns nil, which tells a transaction not to encode.
//
// While a snapshot runs it gathers the records, as the snapshot ends with
// those that were made meanwhile. Gathering begins and ends under the locks of
// all shards, so that no transaction sees it change.
type memoryLog struct {
	last atomic.Uint64
	t    atomic.Int64

	gathering bool // changes under all shards' locks, read under any
	mu        sync.Mutex
	limit     int64 // bytes to gather at most
	size      int64
	full      bool     // limit was reached: what was gathered is gone
	chunks    [][]byte // of records: LSN, T, length, payload
	at        int      // where the record that Next opened begins in the last chunk
}

// gatherBytes is how much is gathered at most (I12). A snapshot of a store
// that is written to faster than this fails.
const gatherBytes = 256 << 20

const (
	gatherChunkBytes  = 1 << 20
	gatherHeaderBytes = 20
)

var errGatheredTooMuch = errors.New("more was written while it ran than is kept in memory for it (256 MB), " +
	"and there is no log (appendonly is no)")

func (m *memoryLog) Lock() {
	if m.gathering {
		m.mu.Lock()
	}
}

func (m *memoryLog) Unlock() {
	if m.gathering {
		m.mu.Unlock()
	}
}

func (m *memoryLog) Next(tMilli int64) []byte {
	if !m.gathering {
		m.t.Store(tMilli)
		return nil
	}
	tMilli = max(tMilli, m.t.Load())
	m.t.Store(tMilli)
	if m.full {
		return nil
	}
	n := len(m.chunks)
	if n == 0 || len(m.chunks[n-1]) >= gatherChunkBytes {
		m.chunks = append(m.chunks, make([]byte, 0, gatherChunkBytes+gatherChunkBytes/8))
		n++
	}
	chunk := m.chunks[n-1]
	m.at = len(chunk)
	chunk = binary.LittleEndian.AppendUint64(chunk, m.last.Load()+1)
	chunk = binary.LittleEndian.AppendUint64(chunk, uint64(tMilli))
	return binary.LittleEndian.AppendUint32(chunk, 0)
}

func (m *memoryLog) Done(buf []byte) wal.LSN {
	if buf != nil {
		m.keep(buf)
	}
	return wal.LSN(m.last.Add(1))
}

// keep takes the buffer of Next back, grown by a payload.
func (m *memoryLog) keep(buf []byte) {
	binary.LittleEndian.PutUint32(buf[m.at+gatherHeaderBytes-4:], uint32(len(buf)-m.at-gatherHeaderBytes))
	m.chunks[len(m.chunks)-1] = buf
	if m.size += int64(len(buf) - m.at); m.size > m.limit {
		m.chunks, m.full = nil, true
	}
}

func (m *memoryLog) Last() wal.LSN { return wal.LSN(m.last.Load()) }
func (m *memoryLog) LastT() int64  { return m.t.Load() }

// begin makes the log go on behind a store that was loaded.
func (m *memoryLog) begin(last wal.LSN, tMilli int64) {
	m.last.Store(uint64(last))
	m.t.Store(tMilli)
}

// gather begins to keep up to limit bytes; drop ends it and forgets. All
// shards are locked.
func (m *memoryLog) gather(limit int64) { m.gathering, m.limit = true, limit }

func (m *memoryLog) drop() {
	m.gathering, m.full = false, false
	m.chunks, m.size = nil, 0
}

// take ends the gathering, which was not dropped, and returns what there is.
// All shards are locked.
func (m *memoryLog) take() (gathered, error) {
	g, full := gathered{chunks: m.chunks}, m.full
	m.drop()
	if full {
		return gathered{}, errGatheredTooMuch
	}
	return g, nil
}

// gathered is a queue of records.
type gathered struct {
	chunks [][]byte
	at     int
}

// next is the record at the front; ok is false when there is none.
func (g *gathered) next() (lsn wal.LSN, tMilli int64, payload []byte, ok bool) {
	for len(g.chunks) > 0 && g.at == len(g.chunks[0]) {
		g.chunks[0], g.chunks, g.at = nil, g.chunks[1:], 0
	}
	if len(g.chunks) == 0 {
		return 0, 0, nil, false
	}
	b := g.chunks[0][g.at:]
	n := gatherHeaderBytes + int(binary.LittleEndian.Uint32(b[16:]))
	g.at += n
	return wal.LSN(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint64(b[8:])), b[gatherHeaderBytes:n], true
}
