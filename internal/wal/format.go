package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// The layout on disk, described byte by byte in docs/format/wal.md. Numbers
// are little endian, checksums CRC32C.
const (
	segmentMagic       = "HAPAXWAL"
	formatVersion      = 1
	segmentHeaderBytes = 64
	frameHeaderBytes   = 64
	recordHeaderBytes  = 4
	controlFrameBytes  = frameHeaderBytes + 1

	// MaxRecordBytes bounds a payload: its length field has 32 bits and
	// counts the T delta too.
	MaxRecordBytes = math.MaxUint32 - binary.MaxVarintLen64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// segmentHeader opens a segment file. It is written and synced before the
// file gets its name, and never again but with the same bytes (direct.go).
type segmentHeader struct {
	version   uint32
	logID     uint64 // the same in every segment of a log
	seq       uint64 // from 1, also in the file's name
	salt      uint64 // opens every frame of this segment
	sizeBytes uint64 // of the file when it got its name
}

func (h *segmentHeader) encode() []byte {
	b := make([]byte, 0, segmentHeaderBytes)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, h.version)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, h.logID)
	b = binary.LittleEndian.AppendUint64(b, h.seq)
	b = binary.LittleEndian.AppendUint64(b, h.salt)
	b = binary.LittleEndian.AppendUint64(b, h.sizeBytes)
	b = append(b, make([]byte, segmentHeaderBytes-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

var (
	errNoMagic    = errors.New("this is no segment of a Hapax log")
	errBadHeader  = errors.New("the segment header does not match its checksum")
	errNewVersion = errors.New("the segment has a format version that this Hapax does not know")
)

func decodeSegmentHeader(b []byte) (segmentHeader, error) {
	if len(b) < segmentHeaderBytes {
		return segmentHeader{}, errBadHeader
	}
	b = b[:segmentHeaderBytes]
	if binary.LittleEndian.Uint32(b[60:]) != checksum(b[:60]) {
		if string(b[:8]) != segmentMagic {
			return segmentHeader{}, errNoMagic
		}
		return segmentHeader{}, errBadHeader
	}
	h := segmentHeader{
		version:   binary.LittleEndian.Uint32(b[8:]),
		logID:     binary.LittleEndian.Uint64(b[16:]),
		seq:       binary.LittleEndian.Uint64(b[24:]),
		salt:      binary.LittleEndian.Uint64(b[32:]),
		sizeBytes: binary.LittleEndian.Uint64(b[40:]),
	}
	switch {
	case string(b[:8]) != segmentMagic:
		return segmentHeader{}, errNoMagic
	case h.version != formatVersion:
		return h, errNewVersion
	}
	return h, nil
}

// frameHeader opens a frame: one group commit, or a control frame of no
// records.
type frameHeader struct {
	salt         uint64 // the segment's
	payloadBytes uint64
	seq          uint64 // counts frames from 1 across segments
	firstLSN     LSN    // of its first record; of a control frame, the next one
	records      uint32
	prevCRC      uint32 // crc of the frame before, 0 for the first
	firstT       int64  // T of its first record
	syncedFrame  uint64 // greatest seq known to be synced when this was written
	payloadCRC   uint32
	crc          uint32 // of the 60 bytes before, so of the payload too
}

// put writes h into b and sets its crc.
func (h *frameHeader) put(b []byte) {
	_ = b[frameHeaderBytes-1]
	binary.LittleEndian.PutUint64(b[0:], h.salt)
	binary.LittleEndian.PutUint64(b[8:], h.payloadBytes)
	binary.LittleEndian.PutUint64(b[16:], h.seq)
	binary.LittleEndian.PutUint64(b[24:], uint64(h.firstLSN))
	binary.LittleEndian.PutUint32(b[32:], h.records)
	binary.LittleEndian.PutUint32(b[36:], h.prevCRC)
	binary.LittleEndian.PutUint64(b[40:], uint64(h.firstT))
	binary.LittleEndian.PutUint64(b[48:], h.syncedFrame)
	binary.LittleEndian.PutUint32(b[56:], h.payloadCRC)
	h.crc = checksum(b[:60])
	binary.LittleEndian.PutUint32(b[60:], h.crc)
}

// decodeFrameHeader is false when b is no header of a segment with this salt:
// never written, half written, or damaged.
func decodeFrameHeader(b []byte, salt uint64) (frameHeader, bool) {
	if len(b) < frameHeaderBytes || binary.LittleEndian.Uint64(b) != salt {
		return frameHeader{}, false
	}
	h := frameHeader{
		salt:         salt,
		payloadBytes: binary.LittleEndian.Uint64(b[8:]),
		seq:          binary.LittleEndian.Uint64(b[16:]),
		firstLSN:     LSN(binary.LittleEndian.Uint64(b[24:])),
		records:      binary.LittleEndian.Uint32(b[32:]),
		prevCRC:      binary.LittleEndian.Uint32(b[36:]),
		firstT:       int64(binary.LittleEndian.Uint64(b[40:])),
		syncedFrame:  binary.LittleEndian.Uint64(b[48:]),
		payloadCRC:   binary.LittleEndian.Uint32(b[56:]),
		crc:          binary.LittleEndian.Uint32(b[60:]),
	}
	return h, h.crc == checksum(b[:60])
}

// Control frames hold no records and one byte that says why they are there.
const (
	// controlSeal follows a sync of all that came before it, when a log is
	// opened or closed: it proves that everything before it was synced.
	controlSeal = 1
	// controlEnd is the last frame of a segment whose successor exists.
	controlEnd = 2
)

// control is the kind of a control frame, 0 when the frame has records.
func (h *frameHeader) control(payload []byte) byte {
	if h.records != 0 || len(payload) != 1 {
		return 0
	}
	return payload[0]
}

// recordReader walks the records of a payload.
type recordReader struct {
	rest []byte
	left uint32
	lsn  LSN   // of the next record
	t    int64 // of the last one
}

var errBadRecords = errors.New("the frame matches its checksum but its records do not fill it")

func newRecordReader(h *frameHeader, payload []byte) recordReader {
	return recordReader{rest: payload, left: h.records, lsn: h.firstLSN, t: h.firstT}
}

// next returns the next record, borrowed from the payload; ok is false at the
// end. Lengths are checked against what is left before they are used.
func (r *recordReader) next() (lsn LSN, tMilli int64, payload []byte, ok bool, err error) {
	if r.left == 0 {
		if len(r.rest) != 0 {
			err = errBadRecords
		}
		return 0, 0, nil, false, err
	}
	if len(r.rest) < recordHeaderBytes {
		return 0, 0, nil, false, errBadRecords
	}
	size := uint64(binary.LittleEndian.Uint32(r.rest))
	rest := r.rest[recordHeaderBytes:]
	if size > uint64(len(rest)) {
		return 0, 0, nil, false, errBadRecords
	}
	record := rest[:size]
	delta, n := binary.Uvarint(record)
	if n <= 0 || delta > uint64(math.MaxInt64) || r.t > math.MaxInt64-int64(delta) {
		return 0, 0, nil, false, errBadRecords
	}
	lsn, r.t = r.lsn, r.t+int64(delta)
	r.rest, r.left, r.lsn = rest[size:], r.left-1, r.lsn+1
	return lsn, r.t, record[n:], true, nil
}
