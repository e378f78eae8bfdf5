package snapshot

import (
	"errors"
	"fmt"
	"io"

	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Reader reads a finished snapshot.
type Reader struct {
	file   vfs.File
	name   string
	info   Info
	blocks []block // in file order: pieces, then records
	pieces int     // how many of blocks hold pieces
}

// block is where one block is, and what the index says of it.
type block struct {
	blockHeader
	at  int64   // of its header
	end uint64  // pieces: place where the last one ends
	lsn wal.LSN // pieces: the most that one may have
}

// Open checks header, footer and index of f. name is for messages. The reader
// borrows f.
func Open(f vfs.File, name string) (*Reader, error) {
	r := &Reader{file: f, name: name}
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", name, err)
	}
	r.info.SizeBytes = size
	if size < headerBytes+blockHeaderBytes+footerBytes {
		return nil, r.damage(0, damaged(size, "the file is too short for a snapshot"))
	}
	raw, err := r.read(nil, 0, headerBytes)
	if err != nil {
		return nil, err
	}
	header, err := decodeHeader(raw)
	if err != nil {
		return nil, r.damage(0, err)
	}
	salt := saltOf(raw)
	if raw, err = r.read(nil, size-footerBytes, footerBytes); err != nil {
		return nil, err
	}
	foot, err := decodeFooter(raw, salt)
	if err != nil {
		return nil, r.damage(size-footerBytes, err)
	}
	if err := r.readIndex(&foot); err != nil {
		return nil, err
	}
	if foot.lastT < max(header.CreatedMilli, 0) {
		return nil, r.damage(size-footerBytes, damaged(32, "the snapshot ends at an earlier time than it began"))
	}
	r.info = infoOf(header, &foot, len(r.blocks), size)
	return r, nil
}

// Info describes the snapshot.
func (r *Reader) Info() Info { return r.info }

// readIndex reads the index block, which lies between the blocks and the
// footer and has to fill the room there exactly.
func (r *Reader) readIndex(f *footer) error {
	room := r.info.SizeBytes - footerBytes - int64(f.indexAt) // < 0 when indexAt is beyond
	headers := room - blockHeaderBytes
	if f.indexAt < headerBytes || f.indexAt > uint64(r.info.SizeBytes) || headers < blockHeaderBytes ||
		headers%blockHeaderBytes != 0 {
		return r.damage(r.info.SizeBytes-footerBytes, damaged(8, "the place of the index is impossible"))
	}
	at := int64(f.indexAt)
	raw, err := r.read(nil, at, room)
	if err != nil {
		return err
	}
	count := headers / blockHeaderBytes
	h, err := decodeBlockHeader(raw, f.salt, uint32(count)+1)
	if err != nil {
		return r.damage(at, err)
	}
	raw = raw[blockHeaderBytes:]
	if h.kind != kindIndex || h.begin != 0 || h.base != 0 || h.storedBytes != uint64(headers) || int64(h.items) != count || checksum(raw) != h.payloadCRC {
		return r.damage(at, damaged(0, "the index does not match its checksum or its length"))
	}
	return r.listBlocks(f, raw, at+blockHeaderBytes)
}

// listBlocks takes the blocks from the index at indexAt and sees that they
// fill the file, and that together they are what the footer says.
func (r *Reader) listBlocks(f *footer, index []byte, indexAt int64) error {
	r.blocks = make([]block, len(index)/blockHeaderBytes)
	offset := int64(headerBytes)
	for i := range r.blocks {
		b := &r.blocks[i]
		at := int64(i) * blockHeaderBytes
		h, err := decodeBlockHeader(index[at:], f.salt, uint32(i)+1)
		if err != nil {
			return r.damage(indexAt+at, err)
		}
		left := int64(f.indexAt) - offset - blockHeaderBytes
		if left < 0 || h.storedBytes > uint64(left) {
			return r.damage(indexAt+at, damaged(8, "block %d is longer than the file", i+1))
		}
		*b = block{blockHeader: h, at: offset}
		offset += blockHeaderBytes + int64(h.storedBytes)
	}
	if offset != int64(f.indexAt) {
		return r.damage(offset, damaged(0, "there is something between the last block and the index"))
	}
	if err := r.fit(f); err != nil {
		return r.damage(indexAt, err)
	}
	return nil
}

// fit checks that pieces tile all places, that records leave no gap, and that
// the counts are those of the footer.
func (r *Reader) fit(f *footer) error {
	var keys, records int64
	for i := range r.blocks {
		b := &r.blocks[i]
		switch {
		case b.kind == kindPieces && r.pieces == i:
			r.pieces++
			keys += int64(b.items)
			b.end, b.lsn = PlaceEnd, f.lastLSN
			if i+1 < len(r.blocks) && r.blocks[i+1].kind == kindPieces {
				b.end, b.lsn = r.blocks[i+1].begin, wal.LSN(r.blocks[i+1].base)
			}
			if i == 0 && b.begin != 0 || b.begin >= b.end || wal.LSN(b.base) > b.lsn {
				return damaged(int64(i)*blockHeaderBytes, "block %d does not follow the block before it", i+1)
			}
		case b.kind == kindRecords && r.pieces > 0:
			next := f.firstLSN + 1 + wal.LSN(records)
			if wal.LSN(b.begin) != next || b.items == 0 || int64(b.base) < 0 {
				return damaged(int64(i)*blockHeaderBytes, "block %d does not follow the block before it", i+1)
			}
			records += int64(b.items)
		default:
			return damaged(int64(i)*blockHeaderBytes, "block %d is of a kind that does not belong there", i+1)
		}
	}
	switch {
	case wal.LSN(r.blocks[0].base) != f.firstLSN:
		return damaged(0, "the first piece is not of the record that the footer names")
	case records != f.records || f.firstLSN+wal.LSN(records) != f.lastLSN:
		return damaged(0, "there are %d records between %d and %d", records, f.firstLSN, f.lastLSN)
	case keys != f.keys:
		return damaged(0, "there are %d entries, not %d", keys, f.keys)
	}
	return nil
}

// damage turns a fault that was found at a place of something that begins at
// offset into what the caller gets to see; other errors stay as they are.
func (r *Reader) damage(offset int64, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		return err
	}
	return &DamageError{File: r.name, Offset: offset + f.at, Reason: f.reason, Newer: f.newer}
}

// read reads n bytes at offset, which the file has, into buf or a larger one.
func (r *Reader) read(buf []byte, offset, n int64) ([]byte, error) {
	if int64(cap(buf)) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := r.file.ReadAt(buf, offset)
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.damage(offset, damaged(0, "the file has become shorter while it was read"))
	case err != nil:
		return nil, fmt.Errorf("snapshot %s, offset %d: %w", r.name, offset, err)
	}
	return buf, nil
}
