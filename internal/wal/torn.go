package wal

import (
	"fmt"
	"math"
)

// sectorBytes is what a disk writes whole or not at all, counted from the
// beginning of the file.
const sectorBytes = 512

// notTorn tells why what stands at fr.offset, where no whole frame begins,
// cannot be a torn write; "" when it can (I9).
//
// The space was filled with zeros and synced before the frame was written. So
// a sector that the write did not reach is zero from the frame's beginning on,
// and a frame all of whose sectors hold something was written whole: what is
// wrong with it happened later. That later frames were on their way too
// changes nothing, a sector written for one of them has the bytes of the
// earlier ones in it.
//
// Nothing is proven by a sector that is zero because the frame holds zeros
// there, nor by a frame that goes beyond the space filled ahead.
func notTorn(file *segmentFile, fr *frameReader) (reason string, err error) {
	ahead := int64(min(file.header.sizeBytes, math.MaxInt64))
	behindHeader := fr.offset + frameHeaderBytes
	if behindHeader > ahead {
		return "", nil
	}
	var head [frameHeaderBytes]byte
	if _, err := fr.file.ReadAt(head[:], fr.offset); err != nil {
		return "", err
	}
	h, ok := decodeFrameHeader(head[:], fr.salt)
	if !ok {
		whole, err := everySectorWritten(fr, fr.offset, min(sectorEnd(behindHeader), ahead))
		if err != nil || !whole {
			return "", err
		}
		return fmt.Sprintf("the header of frame %d was written whole, and yet it does not match its checksum",
			fr.want.frame), nil
	}
	if h.payloadBytes > uint64(ahead-behindHeader) {
		return "", nil
	}
	// The sectors of a good header were written, and all of the payload that
	// is in them.
	end := behindHeader + int64(h.payloadBytes)
	whole, err := everySectorWritten(fr, sectorEnd(behindHeader), min(sectorEnd(end), ahead))
	if err != nil || !whole {
		return "", err
	}
	return fmt.Sprintf("every sector of frame %d was written, and yet it does not match its checksum", h.seq), nil
}

// sectorEnd is the end of the sector that the byte before off is in.
func sectorEnd(off int64) int64 { return (off + sectorBytes - 1) / sectorBytes * sectorBytes }

// everySectorWritten tells whether each sector's part of [from, end) holds a
// byte that is not zero. A range of more than one chunk begins at a sector.
func everySectorWritten(fr *frameReader, from, end int64) (bool, error) {
	written := true
	err := scanFile(fr.file, from, end, 0, func(at int64, chunk []byte) bool {
		for len(chunk) > 0 && written {
			n := min(int64(len(chunk)), sectorBytes-at%sectorBytes)
			written = trimZeros(chunk[:n]) > 0
			at, chunk = at+n, chunk[n:]
		}
		return written
	})
	return written, err
}
