package wal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// A log of many chunks on the real file system, with the defaults.
func TestLargeLogOnTheRealFileSystem(t *testing.T) {
	t.Parallel()
	o := Options{FS: vfs.OS(), Dir: t.TempDir() + "/a/wal", SegmentBytes: 6 << 20}
	l, _, _ := mustOpen(t, o)
	payload := func(n LSN) string { return strings.Repeat(payloadOf(n), 1000) }
	const n = 40
	for range n {
		require.NoError(t, l.Commit(appendRun(l, 1, payload(l.Last()+1))))
	}
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("whole", 2<<20))), "larger than a segment")
	for range 3 {
		require.NoError(t, l.Close())
		calls := 0
		var got []record
		var err error
		var report Report
		l, report, err = Open(o, func(lsn LSN, tMilli int64, p []byte) error {
			got = append(got, record{lsn, tMilli, string(p)})
			return nil
		}, func(int64, int64) { calls++ })
		require.NoError(t, err)
		require.Len(t, got, n+1)
		for i, r := range got[:n] {
			require.True(t, r.payload == payload(LSN(i+1)), "record %d", i+1)
		}
		require.Len(t, got[n].payload, 10<<20)
		require.Greater(t, calls, report.Segments+3, "progress is told within a segment")
	}
	require.NoError(t, l.Close())
}

// The header that proves damage is found wherever it lies in what is read at
// a time.
func TestProofAcrossChunks(t *testing.T) {
	t.Parallel()
	for _, k := range []int{-1, 0, 1, 7, 8, 9, 62, 63, 64, 65} {
		mem := vfs.NewMem()
		o := testOptions(mem)
		o.SegmentBytes = 4 << 20
		l, _, _ := mustOpen(t, o)
		require.NoError(t, l.Commit(appendRun(l, 1, "in the first segment, which is small")))
		// The search begins one byte behind the frame that is damaged, so
		// the next header begins k bytes before the end of the first chunk.
		size := 1 + readChunkBytes - k - frameHeaderBytes - recordHeaderBytes - 1
		require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("x", size))))
		proofAt := l.w.offset
		require.EqualValues(t, segmentHeaderBytes+1+readChunkBytes-k, proofAt)
		require.NoError(t, l.Commit(appendRun(l, 1, "proof")))
		name := segments(t, mem)[len(segments(t, mem))-1]
		b := bytes.Clone(readFile(t, mem, name))
		b[segmentHeaderBytes+20]++
		writeFile(t, mem, name, b)
		kind, err := kindOf(t, o)
		require.Equal(t, DamageFrame, kind)
		require.ErrorContains(t, err, "proves that it was synced", "%d", k)
	}
}
