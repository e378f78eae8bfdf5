package wal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// BenchmarkAppend is the cost of a record in memory, the part that every
// write pays under its shard's lock.
func BenchmarkAppend(b *testing.B) {
	l, _, _ := mustOpen(b, testOptions(vfs.NewMem()))
	payload := make([]byte, 120)
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for i := 0; b.Loop(); i++ {
		l.Lock()
		l.Done(append(l.Next(1), payload...))
		l.Unlock()
		if i%4096 == 0 { // as if it had been written
			l.mu.Lock()
			l.open.reset(l.open.buf)
			l.mu.Unlock()
		}
	}
}

// BenchmarkCommit appends a batch and commits it, on the file system below the
// temporary directory.
func BenchmarkCommit(b *testing.B) {
	f := func(name string, policy Policy, batch int) {
		b.Run(name, func(b *testing.B) {
			o := testOptions(vfs.OS())
			o.Dir, o.SegmentBytes, o.Policy, o.Inline = b.TempDir(), DefaultSegmentBytes, policy, false
			l, _, _ := mustOpen(b, o)
			payload := make([]byte, 120)
			b.ReportAllocs()
			for b.Loop() {
				l.Lock()
				var lsn LSN
				for range batch {
					lsn = l.Done(append(l.Next(1), payload...))
				}
				l.Unlock()
				require.NoError(b, l.Commit(lsn))
			}
			require.NoError(b, l.Close())
		})
	}
	f("always/1", Always, 1)
	f("always/50", Always, 50)
	f("never/1", Never, 1)
	f("never/50", Never, 50)
}

// BenchmarkMayGrow is what asking for room costs while there is some.
func BenchmarkMayGrow(b *testing.B) {
	l, _, _ := mustOpen(b, testOptions(vfs.NewMem()))
	b.ReportAllocs()
	for b.Loop() {
		if err := l.MayGrow(100); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecover is the speed of replay, checksums and records, without
// what apply does.
func BenchmarkRecover(b *testing.B) {
	mem := vfs.NewMem()
	o := testOptions(mem)
	o.SegmentBytes, o.Policy = DefaultSegmentBytes, Never
	l, _, _ := mustOpen(b, o)
	payload := make([]byte, 120)
	const records = 200_000
	for i := range records {
		l.Lock()
		lsn := l.Done(append(l.Next(int64(i)), payload...))
		l.Unlock()
		if i%20 == 0 {
			require.NoError(b, l.Commit(lsn))
		}
	}
	require.NoError(b, l.Close())
	size := l.Stats().SizeBytes
	b.SetBytes(size)
	for b.Loop() {
		l, _, err := Open(o, func(LSN, int64, []byte) error { return nil }, nil)
		require.NoError(b, err)
		require.NoError(b, l.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}
