package snapshot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	// blockBytes is where a block ends, once the piece or record in it does.
	blockBytes = 1 << 20
	// syncBytes is how much is written between syncs: little enough that the
	// last one is short, and that the log's own syncs do not wait behind it.
	syncBytes = 8 << 20
	// spareBytes is kept free for the next piece, so that memory is asked for
	// outside of the shard's lock.
	spareBytes = 128 << 10
	// keepBytes bounds the buffer that is kept; a huge value may need more.
	keepBytes = 4 << 20
)

// Writer writes one snapshot to a file in one pass. One goroutine uses it. It
// holds one block in memory. After an error every call returns that error.
type Writer struct {
	file   vfs.File
	header Header
	salt   uint64

	blockBytes int // as the constants say; tests have smaller files
	syncBytes  int64

	buf   []byte // of the present block: room for its header, then payload
	block blockHeader
	index []byte // headers of the blocks that are written
	open  bool   // entries were added since the last EndPiece

	at       int64 // where the next block goes; 0 before the first
	unsynced int64
	last     Piece   // the last that ended
	lsn      wal.LSN // of the last record
	t        int64   // of the last record
	end      footer
	err      error
}

// NewWriter begins a snapshot in f, an empty file. It writes nothing yet.
func NewWriter(f vfs.File, h Header) *Writer {
	w := &Writer{file: f, header: h, salt: saltOf(h.encode()), blockBytes: blockBytes, syncBytes: syncBytes}
	w.buf = make([]byte, blockHeaderBytes, spareBytes)
	return w
}

// Entry adds one entry, an op.Put, to the present piece. It only copies to
// memory, as it is called under a shard's lock.
func (w *Writer) Entry(o *op.Op) {
	switch {
	case w.err != nil:
		return
	case o.Code != op.Put:
		w.err = fmt.Errorf("snapshot: an entry has opcode %d", o.Code)
		return
	case w.block.items == math.MaxUint32:
		w.err = errors.New("snapshot: a piece has more entries than a block can count")
		return
	}
	w.buf = appendEntry(w.buf, o)
	w.block.items++
	w.end.keys++
	w.open = true
}

// EndPiece ends the present piece, and writes when enough has gathered. Pieces
// come in ascending order; LSNs never decrease. Not under a lock.
func (w *Writer) EndPiece(p Piece) error {
	switch {
	case w.err != nil:
		return w.err
	case w.end.records > 0:
		return w.fail("a piece comes behind the records")
	case p.End <= w.last.End || p.End > PlaceEnd:
		return w.fail("a piece ends at %#x, behind one that ends at %#x", p.End, w.last.End)
	case p.LSN < w.last.LSN:
		return w.fail("a piece of record %d comes behind one of record %d", p.LSN, w.last.LSN)
	}
	if w.end.pieces == 0 {
		w.end.firstLSN = p.LSN
	}
	if w.block.kind == 0 {
		w.block.kind, w.block.begin, w.block.base = kindPieces, w.last.End, uint64(p.LSN)
	}
	w.buf = appendPieceEnd(w.buf, p)
	w.end.pieces++
	w.last, w.open = p, false
	if len(w.buf) >= blockHeaderBytes+w.blockBytes {
		w.writeBlock()
	}
	w.buf = slices.Grow(w.buf, spareBytes)
	return w.err
}

// Record adds a record of the log, when all pieces ended: from the one after
// FirstLSN to at least the last piece's, without gaps. The last one is where
// the snapshot is the store. payload is an op's encoding.
func (w *Writer) Record(lsn wal.LSN, tMilli int64, payload []byte) error {
	if w.err == nil && w.end.records == 0 {
		w.endPieces()
		w.lsn = w.end.firstLSN
	}
	switch {
	case w.err != nil:
		return w.err
	case w.open:
		return w.fail("record %d comes behind an entry without a piece", lsn)
	case lsn != w.lsn+1:
		return w.fail("record %d comes behind record %d", lsn, w.lsn)
	case tMilli < w.t:
		return w.fail("record %d has an earlier time than the one before it", lsn)
	case len(payload) == 0:
		return w.fail("record %d is empty", lsn)
	}
	if w.block.kind == 0 {
		w.block.kind, w.block.begin, w.block.base = kindRecords, uint64(lsn), uint64(tMilli)
		w.t = tMilli
	}
	w.buf = appendRecord(w.buf, uint64(tMilli-w.t), payload)
	w.lsn, w.t = lsn, tMilli
	w.block.items++
	w.end.records++
	if len(w.buf) >= blockHeaderBytes+w.blockBytes {
		w.writeBlock()
	}
	return w.err
}

// endPieces writes the last block of pieces.
func (w *Writer) endPieces() {
	if w.open || w.last.End != PlaceEnd {
		_ = w.fail("the pieces end at %#x, before the end", w.last.End) // in w.err
		return
	}
	w.writeBlock()
}

// Finish writes what is left, index and footer. The caller syncs the file and
// gives it its name. LastT of the result is at least lastT.
func (w *Writer) Finish(lastT int64) (Info, error) {
	if w.err == nil && w.end.records == 0 {
		w.endPieces()
		w.lsn = w.end.firstLSN
	}
	if w.err == nil && (w.open || w.lsn < w.last.LSN) {
		_ = w.fail("the records end with %d, before that of the last piece, %d", w.lsn, w.last.LSN) // in w.err
	}
	w.writeBlock()
	blocks := len(w.index) / blockHeaderBytes
	w.end.salt, w.end.indexAt, w.end.lastLSN = w.salt, uint64(w.at), w.lsn
	w.end.lastT = max(lastT, w.t, w.header.CreatedMilli)
	w.buf = append(w.buf, w.index...)
	w.block.kind, w.block.items = kindIndex, uint32(blocks)
	w.writeBlock()
	w.write(w.end.encode())
	if w.err != nil {
		return Info{}, w.err
	}
	w.err = errors.New("snapshot: it is finished")
	return infoOf(w.header, &w.end, blocks, w.at), nil
}

// writeBlock writes the present block, if there is one, and begins the next.
func (w *Writer) writeBlock() {
	if w.block.kind == 0 || w.err != nil {
		return
	}
	payload := w.buf[blockHeaderBytes:]
	h := &w.block
	h.salt, h.seq = w.salt, uint32(len(w.index)/blockHeaderBytes)+1
	h.storedBytes, h.rawBytes, h.payloadCRC = uint64(len(payload)), uint64(len(payload)), checksum(payload)
	h.put(w.buf)
	w.index = append(w.index, w.buf[:blockHeaderBytes]...)
	if w.at == 0 {
		w.write(w.header.encode())
	}
	w.write(w.buf)
	w.block = blockHeader{}
	if cap(w.buf) > keepBytes {
		w.buf = make([]byte, blockHeaderBytes, blockBytes+spareBytes)
	}
	w.buf = w.buf[:blockHeaderBytes]
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	if _, w.err = w.file.WriteAt(b, w.at); w.err != nil {
		return
	}
	w.at += int64(len(b))
	if w.unsynced += int64(len(b)); w.unsynced >= w.syncBytes {
		w.unsynced = 0
		w.err = w.file.Sync()
	}
}

// fail is for a caller's mistake: what was written is no snapshot any more.
func (w *Writer) fail(format string, args ...any) error {
	w.err = fmt.Errorf("snapshot: "+format, args...)
	return w.err
}

// SizeBytes and Keys tell the goroutine that writes how far it is.
func (w *Writer) SizeBytes() int64 { return w.at + int64(len(w.buf)) }

// Keys is how many entries were added.
func (w *Writer) Keys() int64 { return w.end.keys }

func infoOf(h Header, f *footer, blocks int, size int64) Info {
	return Info{
		Header: h, FirstLSN: f.firstLSN, LastLSN: f.lastLSN, LastT: f.lastT,
		Pieces: f.pieces, Keys: f.keys, Records: f.records, Blocks: blocks, SizeBytes: size,
	}
}
