package snapshot

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	blockHeaderBytes = 64
	pieceEndBytes    = 1 + 8 + 8 // a zero, place, LSN

	codecNone = 0
)

// kind says what a block holds.
type kind uint8

const (
	kindPieces  kind = 1 // entries and ends of pieces, whole pieces only
	kindRecords kind = 2
	kindIndex   kind = 3 // the headers of all blocks before it
)

// blockHeader opens a block. Its checksum covers the payload's too, so the
// headers alone, which the index repeats, fix every byte of the content.
type blockHeader struct {
	salt        uint64
	storedBytes uint64 // of the payload, as it is in the file
	rawBytes    uint64 // as it is once decompressed
	begin       uint64 // place of the first piece's beginning; LSN of the first record
	base        uint64 // LSN of the first piece; T of the first record
	seq         uint32 // from 1
	items       uint32 // entries, records, or headers in the index
	kind        kind
	codec       uint8
	payloadCRC  uint32
}

// put writes h into b, which has room for it.
func (h *blockHeader) put(b []byte) {
	b = b[:blockHeaderBytes]
	binary.LittleEndian.PutUint64(b[0:], h.salt)
	binary.LittleEndian.PutUint64(b[8:], h.storedBytes)
	binary.LittleEndian.PutUint64(b[16:], h.rawBytes)
	binary.LittleEndian.PutUint64(b[24:], h.begin)
	binary.LittleEndian.PutUint64(b[32:], h.base)
	binary.LittleEndian.PutUint32(b[40:], h.seq)
	binary.LittleEndian.PutUint32(b[44:], h.items)
	b[48], b[49] = byte(h.kind), h.codec
	clear(b[50:56])
	binary.LittleEndian.PutUint32(b[56:], h.payloadCRC)
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
}

// decodeBlockHeader refuses a header that is not the seq-th of its file.
func decodeBlockHeader(b []byte, salt uint64, seq uint32) (blockHeader, error) {
	b = b[:blockHeaderBytes]
	h := blockHeader{
		salt:        binary.LittleEndian.Uint64(b[0:]),
		storedBytes: binary.LittleEndian.Uint64(b[8:]),
		rawBytes:    binary.LittleEndian.Uint64(b[16:]),
		begin:       binary.LittleEndian.Uint64(b[24:]),
		base:        binary.LittleEndian.Uint64(b[32:]),
		seq:         binary.LittleEndian.Uint32(b[40:]),
		items:       binary.LittleEndian.Uint32(b[44:]),
		kind:        kind(b[48]),
		codec:       b[49],
		payloadCRC:  binary.LittleEndian.Uint32(b[56:]),
	}
	switch {
	case !sealed(b):
		return h, damaged(0, "the header of block %d does not match its checksum", seq)
	case h.salt != salt:
		return h, damaged(0, "block %d belongs to another snapshot", seq)
	case h.seq != seq:
		return h, damaged(40, "block %d stands where block %d belongs", h.seq, seq)
	case h.kind < kindPieces || h.kind > kindIndex:
		return h, &fault{at: 48, reason: "unknown kind of block", newer: true}
	case h.codec != codecNone:
		return h, &fault{at: 49, reason: "unknown compression of a block", newer: true}
	case h.rawBytes != h.storedBytes:
		return h, damaged(16, "block %d is not compressed, but has two lengths", seq)
	}
	var again [blockHeaderBytes]byte
	if h.put(again[:]); !bytes.Equal(again[:], b) {
		return h, &fault{at: 50, reason: "unknown fields in the header of a block", newer: true}
	}
	return h, nil
}

// appendEntry appends o with its length before it. The length is known when o
// is encoded; room for the most that it can take is left, and mostly fits.
func appendEntry(dst []byte, o *op.Op) []byte {
	const mostFields = 27 // all of a Put but the bytes of key and value
	var none [binary.MaxVarintLen64]byte
	room := uvarintBytes(uint64(len(o.Key) + len(o.Value) + mostFields))
	at := len(dst)
	dst = op.Append(append(dst, none[:room]...), o)
	size := len(dst) - at - room
	if need := uvarintBytes(uint64(size)); need < room {
		copy(dst[at+need:], dst[at+room:])
		dst = dst[:len(dst)-room+need]
	}
	binary.PutUvarint(dst[at:], uint64(size))
	return dst
}

func uvarintBytes(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func appendPieceEnd(dst []byte, p Piece) []byte {
	dst = append(dst, 0)
	dst = binary.LittleEndian.AppendUint64(dst, p.End)
	return binary.LittleEndian.AppendUint64(dst, uint64(p.LSN))
}

func decodePieceEnd(b []byte) Piece {
	return Piece{End: binary.LittleEndian.Uint64(b[1:]), LSN: wal.LSN(binary.LittleEndian.Uint64(b[9:]))}
}

// appendRecord appends a record of the log; delta is T less that of the record
// before it in its block.
func appendRecord(dst []byte, delta uint64, payload []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	dst = binary.AppendUvarint(dst, delta)
	return append(dst, payload...)
}

// uvarint reads a number off b in its one form; n is 0 when there is none.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	v, n = binary.Uvarint(b)
	if n <= 0 || b[n-1] == 0 {
		return 0, 0
	}
	return v, n
}
