package wal

import (
	"github.com/hapaxkv/hapax/internal/vfs"
)

// Where every commit is synced, frames may bypass the kernel's memory
// (Options.DirectIO): one call writes and syncs, and what other files have
// dirty in memory is not in its way. Such a write is of whole blocks. The block
// in which the log ends is written again with the bytes that it has; behind the
// frame it is filled with the zeros that are there already. So a file looks the
// same however it was written, and a crash leaves of a frame what it leaves of
// one written the other way.
//
// Only space made ahead is written so: a frame for which the file has to grow
// goes the other way, and so does everything while the policy is not to sync
// every commit. Both ways may alternate in one file. What is in the kernel's
// memory is synced before a direct write, which says of itself alone that it is
// on disk. One that fails ends the log like a sync that fails (I8).

// directBufferBytes bounds the buffer; a larger frame goes in pieces.
const directBufferBytes = 1 << 20

// directWriter holds the blocks of the next direct write. The leader owns it.
type directWriter struct {
	buf []byte // aligned, of whole blocks
	// at is the offset up to which buf has, at its beginning, the part of the
	// log's last block that is written; 0 when it has to be read. The live
	// segment is meant.
	at int64
}

// directFile returns how to write a frame of this size past the kernel's
// memory, nil when it goes through it.
func (l *Log) directFile(frameBytes int) vfs.DirectFile {
	s := l.w.live
	if !l.o.DirectIO || s.notDirect || !l.syncsEveryCommit() {
		return nil
	}
	if s.direct == nil {
		direct, err := l.o.FS.OpenDirect(l.o.path(s.name))
		if err != nil {
			l.noDirect(s, err)
			return nil
		}
		s.direct = direct
	}
	block := int64(s.direct.BlockBytes())
	if l.w.offset+int64(frameBytes) > int64(s.header.sizeBytes)&^(block-1) {
		return nil
	}
	return s.direct
}

// noDirect notes that s is not written directly. The first time it says why.
func (l *Log) noDirect(s *segment, err error) {
	s.notDirect = true
	if l.stats.direct.Swap(directOff) != directOff {
		l.o.Notef("The log is written through the system's memory: %s cannot be written directly: %v", s.name, err)
	}
}

// writeDirectly is the write and the sync of a frame. unsupported says that
// nothing happened, and that the other way is to be taken.
func (l *Log) writeDirectly(d vfs.DirectFile, frame []byte, seq uint64, last LSN) (unsupported bool, err error) {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if err := l.syncWrittenLocked(); err != nil {
		return false, err
	}
	start := l.now()
	l.busy.sync.Store(max(start, 1))
	err = l.writeBlocks(d, frame)
	l.busy.sync.Store(0)
	if err != nil {
		l.w.direct.at = 0
		if vfs.IsUnsupported(err) {
			l.noDirect(l.w.live, err)
			return true, nil
		}
		return false, l.poison("direct write to "+l.w.live.name, err)
	}
	l.stats.direct.Store(directOn)
	l.wrote(len(frame), seq, last)
	l.syncedUpTo(last, seq, start)
	return false, nil
}

// writeBlocks returns nil when frame is on disk.
func (l *Log) writeBlocks(d vfs.DirectFile, frame []byte) error {
	block := int64(d.BlockBytes())
	from := l.w.offset &^ (block - 1)
	held, err := l.lastBlock(d, int(l.w.offset-from), len(frame))
	if err != nil {
		return err
	}
	pieces := 0
	for len(frame) > 0 {
		buf := l.w.direct.buf
		n := copy(buf[held:], frame)
		frame = frame[n:]
		end := held + n
		whole := (end + int(block) - 1) &^ (int(block) - 1)
		clear(buf[end:whole])
		pieces++
		if err := d.WriteBlocks(buf[:whole], from, len(frame) == 0 && pieces == 1); err != nil {
			return err
		}
		tail := end &^ (int(block) - 1)
		held = copy(buf, buf[tail:end])
		from += int64(tail)
	}
	l.w.direct.at = from + int64(held)
	if pieces == 1 {
		return nil
	}
	return l.w.live.file.Sync() // of the pieces, and what the disk still holds of them
}

// lastBlock sees to it that the buffer has room and begins with the first held
// bytes of the log's last block.
func (l *Log) lastBlock(d vfs.DirectFile, held, frameBytes int) (int, error) {
	w, block := &l.w.direct, d.BlockBytes()
	want := min(held+frameBytes+block, max(directBufferBytes, 2*block))
	if len(w.buf) < want {
		size := block
		for size < want {
			size *= 2
		}
		buf := vfs.AlignedBuffer(size, block)
		copy(buf, w.buf)
		w.buf = buf
	}
	if held == 0 || w.at == l.w.offset {
		return held, nil
	}
	_, err := l.w.live.file.ReadAt(w.buf[:held], l.w.offset-int64(held))
	return held, err
}

// How frames are written.
const (
	directUnused int32 = iota
	directOn
	directOff // it was tried in vain
)

// Direct tells whether frames are written directly at present.
func (l *Log) Direct() bool {
	return l.o.DirectIO && l.syncsEveryCommit() && l.stats.direct.Load() == directOn
}
