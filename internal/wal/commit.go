package wal

// A commit, step by step:
//
//  1. Whoever needs a record durable and finds nobody leading becomes the
//     leader; whoever finds one waits. A follower whose record is in flight
//     needs nothing more; one whose record is not waits for the next leader,
//     who is one of them.
//  2. The leader takes the open frame whole, so every run between Lock and
//     Unlock is in one frame or not in it at all. Appenders go on in the
//     other buffer.
//  3. If the frame does not fit, the segment is ended: end frame, sync, and
//     only then the next segment (rotate.go).
//  4. The header is filled in: chain, sequence, what is known to be synced.
//  5. One write.
//  6. Under Always, one sync.
//  7. Durable advances, the followers wake, the buffer is used again.
//
// A failure in 3, 5 or 6 poisons the log (I8): step 7 never comes.

// writer is the state of the end of the log. The leader owns it.
type writer struct {
	live      *segment
	offset    int64 // where the next frame goes
	nextFrame uint64
	prevCRC   uint32
	lastT     int64 // of the last record written
	direct    directWriter
	spare     []byte // the buffer not in use
	sealed    bool   // nothing was written since the last seal, or ever
	ctl       [controlFrameBytes]byte
}

// Commit makes everything up to lsn durable in the calling goroutine. The
// first to arrive writes and syncs for all (leader), the others wait for it
// and return without a sync of their own when theirs was covered.
func (l *Log) Commit(lsn LSN) error {
	if lsn <= l.Durable() {
		return nil
	}
	l.commitMu.Lock()
	defer l.commitMu.Unlock()
	lsn = min(lsn, l.Last()) // nobody can wait for what nobody appended
	for lsn > l.Durable() {
		if err := l.Err(); err != nil {
			l.waiting.Broadcast() // nobody leads any more, so nobody wakes them
			return err
		}
		switch {
		case l.closed:
			return ErrClosed
		case !l.leading:
			l.lead()
		case lsn <= l.inFlight:
			l.covered.Wait()
		default:
			l.waiting.Wait()
		}
	}
	return nil
}

// lead is called and returns with commitMu held, but lets go of it meanwhile.
func (l *Log) lead() {
	l.leading = true
	b := l.take()
	l.inFlight = b.last
	// Whoever waited for the next batch waits for this one now.
	l.covered, l.waiting = l.waiting, l.covered
	l.commitMu.Unlock()
	_ = l.writeBatch(&b) // an error is in Err, for everybody
	l.commitMu.Lock()
	l.leading = false
	l.covered.Broadcast()
	l.waiting.Signal() // one of them leads, the others are covered then
}

// writeBatch does steps 3 to 7 for b.
func (l *Log) writeBatch(b *batch) error {
	if err := l.Err(); err != nil {
		l.stats.inFlightBytes.Store(0)
		return err
	}
	start := l.now()
	if b.records > 0 {
		l.busy.write.Store(max(start, 1))
		err := l.writeRecords(b)
		l.busy.write.Store(0)
		l.stats.inFlightBytes.Store(0)
		if err != nil {
			return err
		}
		if cap(b.buf) <= keepBufferBytes {
			l.w.spare = b.buf
		}
	}
	if l.syncsEveryCommit() {
		if err := l.syncWritten(); err != nil {
			return err
		}
	}
	l.durable.Store(l.written.lsn.Load())
	l.observeLatency(l.now() - start)
	return nil
}

func (l *Log) syncsEveryCommit() bool {
	p := l.Policy()
	return p == Always || p == EverySec && l.o.Tick == nil
}

// writeRecords appends b as one frame.
func (l *Log) writeRecords(b *batch) error {
	if l.mustRotate(len(b.buf)) {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	if err := l.writeFrame(b.buf, b.last+1-LSN(b.records), b.records, b.firstT, b.last); err != nil {
		return err
	}
	l.w.lastT = b.lastT
	return nil
}

// writeFrame fills in the header of frame, whose payload is in place, and
// writes it. last is the last record that is in the log then.
func (l *Log) writeFrame(frame []byte, first LSN, records uint32, firstT int64, last LSN) error {
	w := &l.w
	payload := frame[frameHeaderBytes:]
	h := frameHeader{
		salt:         w.live.header.salt,
		payloadBytes: uint64(len(payload)),
		seq:          w.nextFrame,
		firstLSN:     first,
		records:      records,
		prevCRC:      w.prevCRC,
		firstT:       firstT,
		syncedFrame:  l.synced.frame.Load(),
		payloadCRC:   checksum(payload),
	}
	h.put(frame)
	w.prevCRC = h.crc
	if d := l.directFile(len(frame)); d != nil {
		if unsupported, err := l.writeDirectly(d, frame, h.seq, last); !unsupported {
			return err
		}
	}
	if _, err := w.live.file.WriteAt(frame, w.offset); err != nil {
		return l.poison("write to "+w.live.name, err)
	}
	l.wrote(len(frame), h.seq, last)
	return nil
}

// wrote notes that frame seq, up to record last, is in the file.
func (l *Log) wrote(frameBytes int, seq uint64, last LSN) {
	w := &l.w
	w.offset += int64(frameBytes)
	w.nextFrame++
	w.sealed = false
	l.roomLeft(w.live, w.offset)
	l.written.lsn.Store(uint64(last))
	l.written.frame.Store(seq)
	l.stats.sizeBytes.Add(int64(frameBytes))
	l.stats.frames.Add(1)
}

// writeControl appends a frame without records. The leader calls it when
// everything taken so far is written.
func (l *Log) writeControl(kind byte) error {
	l.w.ctl[frameHeaderBytes] = kind
	last := LSN(l.written.lsn.Load())
	return l.writeFrame(l.w.ctl[:], last+1, 0, l.w.lastT, last)
}

// syncWritten syncs what is written and not yet synced. One at a time: of two
// syncs at once, the kernel may tell only one that both failed (I8).
func (l *Log) syncWritten() error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	return l.syncWrittenLocked()
}

func (l *Log) syncWrittenLocked() error {
	if err := l.Err(); err != nil {
		return err
	}
	lsn, frame := l.written.lsn.Load(), l.written.frame.Load()
	if frame == l.synced.frame.Load() {
		return nil
	}
	start := l.now()
	l.busy.sync.Store(max(start, 1))
	err := l.w.live.file.Sync()
	l.busy.sync.Store(0)
	if err != nil {
		return l.poison("sync of "+l.w.live.name, err)
	}
	l.syncedUpTo(LSN(lsn), frame, start)
	return nil
}

// syncedUpTo notes that everything up to record lsn, in frame, is on disk,
// since a sync that began at startNano. Called with syncMu held.
func (l *Log) syncedUpTo(lsn LSN, frame uint64, startNano int64) {
	l.stats.lastSyncMicro.Store((l.now() - startNano) / 1000)
	l.stats.syncs.Add(1)
	l.stats.syncedRecords.Add(int64(lsn) - int64(l.synced.lsn.Load()))
	l.synced.lsn.Store(uint64(lsn))
	l.synced.frame.Store(frame)
}

// observeLatency moves the average an eighth of the way. Only leaders call it.
func (l *Log) observeLatency(tookNano int64) {
	avg := l.stats.latencyNano.Load()
	if avg == 0 {
		avg = tookNano
	}
	l.stats.latencyNano.Store(avg + (tookNano-avg)/8)
}
