package wal

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

const fuzzSalt = 0x5a5a5a5a5a5a5a5a

// FuzzDecodeFrame feeds a header decoder and record reader any bytes: nothing
// is read that is not there, and what is accepted encodes to the same bytes.
func FuzzDecodeFrame(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := decodeFrameHeader(b, fuzzSalt)
		if ok {
			again := make([]byte, frameHeaderBytes)
			h.put(again)
			require.Equal(t, b[:frameHeaderBytes], again)
		}
		if len(b) < frameHeaderBytes {
			return
		}
		// The records are read whether or not the checksum is right: the
		// fuzzer could hardly guess one.
		h.records %= 1000
		payload := b[frameHeaderBytes:]
		r := newRecordReader(&h, payload)
		var records uint32
		size := 0
		for t0 := h.firstT; ; records++ {
			lsn, tMilli, record, more, err := r.next()
			if err != nil {
				require.ErrorIs(t, err, errBadRecords)
				return
			}
			if !more {
				break
			}
			require.Equal(t, h.firstLSN+LSN(records), lsn)
			require.GreaterOrEqual(t, tMilli, t0)
			t0 = tMilli
			size += recordHeaderBytes + 1 + len(record)
		}
		require.Equal(t, h.records, records)
		require.LessOrEqual(t, size, len(payload))
	})
}

// FuzzDecodeSegmentHeader is the same for the header of a file.
func FuzzDecodeSegmentHeader(f *testing.F) {
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeSegmentHeader(b)
		if err == nil {
			require.EqualValues(t, formatVersion, h.version)
			require.GreaterOrEqual(t, len(b), segmentHeaderBytes)
		}
	})
}

// FuzzOpen opens a directory of one good segment and one made of any bytes,
// with checksums put right where the input says so. Either it refuses and
// changes nothing, or what it yields is the same again at the next start.
func FuzzOpen(f *testing.F) {
	f.Fuzz(func(t *testing.T, content []byte, repair bool) {
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll(testDir))
		h := segmentHeader{version: formatVersion, logID: 1, seq: 1, salt: fuzzSalt, sizeBytes: segmentHeaderBytes}
		if len(content)%2 == 0 {
			h.sizeBytes += uint64(len(content)) // all of it in space filled ahead
		}
		content = bytes.Clone(content)
		if repair {
			repairFrames(content)
		}
		file := append(h.encode(), content...)
		name := testDir + "/" + segmentName(1)
		writeFile(t, mem, name, file)
		l, report, got, err := openLog(testOptions(mem))
		if err != nil {
			var damage *DamageError
			require.True(t, errors.As(err, &damage), "%v", err)
			require.Equal(t, file, readFile(t, mem, name))
			return
		}
		require.EqualValues(t, len(got), report.Records)
		require.NoError(t, l.Commit(appendRun(l, 1<<62, "more")))
		require.NoError(t, l.Close())
		_, report, again := mustOpen(t, testOptions(mem))
		require.Zero(t, report.CutBytes)
		require.Len(t, again, len(got)+1)
		require.Equal(t, append([]record{}, got...), again[:len(got):len(got)])
		require.Equal(t, "more", again[len(got)].payload)
	})
}

// repairFrames makes checksums and chain right for as long as lengths allow.
func repairFrames(b []byte) {
	want := position{frame: 1, lsn: 1}
	for len(b) >= frameHeaderBytes {
		var h frameHeader
		// Too short to be valid by itself, but its fields are what they are.
		copyOf := bytes.Clone(b[:frameHeaderBytes])
		h, _ = decodeFrameHeader(append([]byte{0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a}, copyOf[8:]...), fuzzSalt)
		n := int(h.payloadBytes % uint64(len(b)-frameHeaderBytes+1))
		payload := b[frameHeaderBytes : frameHeaderBytes+n]
		h.payloadBytes, h.payloadCRC = uint64(n), checksum(payload)
		h.seq, h.firstLSN, h.prevCRC = want.frame, want.lsn, want.crc
		h.records %= 8
		h.put(b)
		want = h.after()
		b = b[frameHeaderBytes+n:]
	}
}
