package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"github.com/hapaxkv/hapax/internal/wal"
)

// The layout on disk, described byte by byte in docs/format/snapshot.md.
// Numbers are little endian, checksums CRC32C. Header and footer are decoded
// by encoding them anew and comparing, so that one set of fields has one form.
const (
	fileMagic     = "HAPAXSNP"
	endMagic      = "HAPAXEND"
	formatVersion = 1
	headerBytes   = 128
	footerBytes   = 128
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// seal ends b, padded to size, with the checksum of what is before.
func seal(b []byte, size int) []byte {
	b = append(b, make([]byte, size-4-len(b))...)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

func sealed(b []byte) bool {
	return binary.LittleEndian.Uint32(b[len(b)-4:]) == checksum(b[:len(b)-4])
}

func (h *Header) encode() []byte {
	b := make([]byte, 0, headerBytes)
	b = append(b, fileMagic...)
	b = binary.LittleEndian.AppendUint32(b, formatVersion)
	b = binary.LittleEndian.AppendUint32(b, 0) // flags
	b = binary.LittleEndian.AppendUint64(b, h.ID)
	b = binary.LittleEndian.AppendUint64(b, h.LogID)
	for _, s := range h.HashSecrets {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(h.CreatedMilli))
	b = binary.LittleEndian.AppendUint32(b, uint32(h.Databases))
	return seal(b, headerBytes)
}

// decodeHeader refuses what no Writer of this version wrote.
func decodeHeader(b []byte) (Header, error) {
	switch {
	case string(b[:8]) != fileMagic:
		return Header{}, damaged(0, "this is no snapshot of Hapax")
	case !sealed(b):
		return Header{}, damaged(0, "the header does not match its checksum")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != formatVersion {
		return Header{}, &fault{at: 8, reason: "unknown version of the format", newer: true}
	}
	h := Header{
		ID:           binary.LittleEndian.Uint64(b[16:]),
		LogID:        binary.LittleEndian.Uint64(b[24:]),
		CreatedMilli: int64(binary.LittleEndian.Uint64(b[64:])),
		Databases:    int(binary.LittleEndian.Uint32(b[72:])),
	}
	for i := range h.HashSecrets {
		h.HashSecrets[i] = binary.LittleEndian.Uint64(b[32+8*i:])
	}
	if !bytes.Equal(h.encode(), b) {
		return Header{}, &fault{at: 12, reason: "unknown flags in the header", newer: true}
	}
	return h, nil
}

// saltOf is what every block and the footer of a file with this header carry,
// so that bytes of another snapshot never pass for its own. It follows from
// the header, because the same run of a simulation has to give the same bytes.
func saltOf(header []byte) uint64 {
	sum := sha256.Sum256(header)
	return binary.LittleEndian.Uint64(sum[:])
}

// footer ends a file. It is written last, so a file that has one is finished.
type footer struct {
	salt     uint64
	indexAt  uint64 // offset of the index block
	firstLSN wal.LSN
	lastLSN  wal.LSN
	lastT    int64
	pieces   int64
	keys     int64
	records  int64
}

func (f *footer) encode() []byte {
	b := make([]byte, 0, footerBytes)
	for _, v := range [...]uint64{
		f.salt, f.indexAt, uint64(f.firstLSN), uint64(f.lastLSN), uint64(f.lastT),
		uint64(f.pieces), uint64(f.keys), uint64(f.records),
	} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, make([]byte, footerBytes-16-len(b))...)
	b = append(b, endMagic...)
	return seal(b, footerBytes)
}

func decodeFooter(b []byte, salt uint64) (footer, error) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	f := footer{
		salt: word(0), indexAt: word(1), firstLSN: wal.LSN(word(2)), lastLSN: wal.LSN(word(3)),
		lastT: int64(word(4)), pieces: int64(word(5)), keys: int64(word(6)), records: int64(word(7)),
	}
	switch {
	case string(b[footerBytes-16:footerBytes-8]) != endMagic:
		return f, damaged(0, "the file does not end as a finished snapshot does")
	case !sealed(b):
		return f, damaged(0, "the footer does not match its checksum")
	case f.salt != salt:
		return f, damaged(0, "the footer belongs to another snapshot")
	case !bytes.Equal(f.encode(), b):
		return f, &fault{at: 64, reason: "unknown fields in the footer", newer: true}
	}
	return f, nil
}
