package wal

import "encoding/binary"

// keepBufferBytes is how much of a frame's buffer is kept for the next one. A
// pipelined round stays below, and so does a result of 4 MiB; a batch of large
// values gives its memory back.
const keepBufferBytes = 8 << 20

// batch is the open frame: room for its header, then records as they will be
// on disk. One is filled while another is written.
type batch struct {
	buf     []byte
	records uint32
	firstT  int64
	lastT   int64
	nextT   int64 // of the record that Next opened and Done will close
	last    LSN   // set when the batch is taken
}

// Lock begins a run of records that one frame will hold whole. Short: a commit
// waits for its end, every other appender too.
func (l *Log) Lock() { l.mu.Lock() }

// Unlock ends the run.
func (l *Log) Unlock() { l.mu.Unlock() }

// Next opens a record in the current frame and returns the buffer to append
// its payload to. The caller holds Lock and hands the grown buffer to Done. A
// record that Done never sees was not appended.
func (l *Log) Next(tMilli int64) []byte {
	b := &l.open
	if l.failed.Load() != nil {
		// Nobody will write this any more; keep it from piling up.
		b.reset(b.buf)
	}
	// Loops read the clock by themselves, so T may arrive slightly out of
	// order; in the log it never decreases (I10).
	b.nextT = max(tMilli, l.lastT.Load())
	if b.records == 0 {
		b.firstT, b.lastT = b.nextT, b.nextT
	}
	buf := append(b.buf, 0, 0, 0, 0)
	return binary.AppendUvarint(buf, uint64(b.nextT-b.lastT))
}

// Done closes the record and returns its LSN.
func (l *Log) Done(buf []byte) LSN {
	b := &l.open
	size := len(buf) - len(b.buf) - recordHeaderBytes
	if size < 1 {
		panic("wal: Done without the buffer of Next")
	}
	if size > MaxRecordBytes {
		// Unreachable behind the protocol's limits; a length that wraps would
		// be worse than an end.
		l.failed.CompareAndSwap(nil, &failure{errRecordTooLarge})
		l.wakeNotifier()
	}
	binary.LittleEndian.PutUint32(buf[len(b.buf):], uint32(size))
	b.buf = buf
	b.records++
	b.lastT = b.nextT
	l.lastT.Store(b.nextT)
	return LSN(l.last.Add(1))
}

// take empties the open frame into the leader's hands.
func (l *Log) take() batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.open
	b.last = l.Last()
	if b.records > 0 {
		l.stats.inFlightBytes.Store(int64(len(b.buf)))
		l.open.reset(l.w.spare)
		l.w.spare = nil
	}
	return b
}

// reset makes b an empty frame on buf.
func (b *batch) reset(buf []byte) {
	if cap(buf) < frameHeaderBytes || cap(buf) > keepBufferBytes {
		buf = make([]byte, frameHeaderBytes, 4096)
	}
	*b = batch{buf: buf[:frameHeaderBytes]}
}
