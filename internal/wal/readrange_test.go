package wal

import (
	"errors"
	"io/fs"
	"math"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

func rangeOf(fsys vfs.FS, from, to LSN) ([]record, error) {
	var got []record
	err := ReadRange(fsys, testDir, from, to, func(lsn LSN, t int64, payload []byte) error {
		got = append(got, record{lsn, t, string(payload)})
		return nil
	})
	return got, err
}

// Every range of a log that is open is what was appended, over rotations,
// seals and restarts, with a segment prepared.
func TestReadRange(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	last := LSN(0)
	for i := range 14 {
		last = appendScripted(l, 1+i%3)
		require.NoError(t, l.Commit(last))
		if i%5 == 4 {
			require.NoError(t, l.Close())
			l, _, _ = mustOpen(t, testOptions(mem))
		}
	}
	l.prepareOne()
	appendScripted(l, 3) // not written
	for from := LSN(0); from <= last+1; from++ {
		for to := LSN(0); to <= last; to++ {
			got, err := rangeOf(mem, from, to)
			require.NoError(t, err)
			first := max(from, 1)
			require.Len(t, got, int(max(to+1, first)-first), "%d to %d", from, to)
			checkTail(t, got, first-1, "")
		}
	}
	_, err := rangeOf(mem, 1, last+1)
	require.ErrorContains(t, err, "no whole frame is here")
	stop := errors.New("stop")
	calls := 0
	err = ReadRange(mem, testDir, 2, last, func(LSN, int64, []byte) error { calls++; return stop })
	require.Equal(t, stop, err)
	require.Equal(t, 1, calls)

	_, err = l.RemoveBefore(math.MaxUint64)
	require.NoError(t, err)
	_, err = rangeOf(mem, 1, last)
	require.ErrorContains(t, err, "no segment holds record 1")
	first := l.keep.starts[0].first
	got, err := rangeOf(mem, first, last)
	require.NoError(t, err)
	checkTail(t, got, first-1, "")
}

// What stands in the range is checked, what stands behind it is not looked at.
func TestReadRangeChecks(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	files := mustInspect(t, testOptions(mem)).Files
	from, to := files[1].FirstLSN, files[3].FirstLSN-1
	for i, name := range segments(t, mem) {
		whole := readFile(t, mem, name)
		for at := 0; at < used(whole); at += 5 {
			broken := mem.Kill()
			b := append([]byte(nil), whole...)
			b[at] ^= 2
			writeFile(t, broken, name, b)
			got, err := rangeOf(broken, from, to)
			endFrame := used(whole) - controlFrameBytes // behind the last record of its segment
			if i == 0 || i == 2 && at >= endFrame || i >= 3 && at >= segmentHeaderBytes {
				require.NoError(t, err)
				checkTail(t, got, from-1, "")
				continue
			}
			require.Error(t, err, "%s byte %d", name, at)
		}
	}
	require.NoError(t, mem.Remove(segments(t, mem)[2]))
	_, err := rangeOf(mem, from, to)
	require.ErrorIs(t, err, fs.ErrNotExist)
	for nth := 1; ; nth++ {
		faulty := vfs.NewFaulty(builtLog(t, 14, true))
		faulty.Inject(vfs.Fault{Op: vfs.OpRead | vfs.OpOpen | vfs.OpList | vfs.OpSize, Nth: nth, Err: syscall.EIO})
		_, err := rangeOf(faulty, from, to)
		if err == nil {
			require.Greater(t, nth, 5)
			return
		}
		require.ErrorIs(t, err, syscall.EIO)
	}
}

// Ranges are read while others append, segments rotate and old ones go.
func TestReadRangeBesideAppends(t *testing.T) {
	t.Parallel()
	o := testOptions(vfs.NewMem())
	o.Inline, o.SegmentBytes = false, 5000
	l, _, _ := mustOpen(t, o)
	const writers, rounds = 3, 120
	var writing, reading sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range rounds {
				if !commitScripted(t, l) {
					return
				}
			}
		})
	}
	done := make(chan struct{})
	reading.Go(func() {
		from, read := LSN(1), 0
		for last := false; !last; {
			select {
			case <-done:
				last = true
			default:
			}
			to := l.Durable()
			got, err := rangeOf(o.FS, from, to)
			if err != nil || len(got) != int(to+1-from) {
				t.Errorf("%d to %d: %d records, %v", from, to, len(got), err)
				return
			}
			checkTail(t, got, from-1, "")
			read += len(got)
			from = to + 1
			if _, err := l.RemoveBefore(l.SegmentFor(from)); err != nil {
				t.Error(err)
				return
			}
		}
		if read != writers*rounds {
			t.Errorf("%d records were read", read)
		}
	})
	writing.Wait()
	close(done)
	reading.Wait()
	require.Less(t, len(segments(t, o.FS)), 5)
	require.NoError(t, l.Close())
}

// commitScripted appends the next record of the workload and commits it.
func commitScripted(t *testing.T, l *Log) bool {
	l.Lock()
	next := l.Last() + 1
	lsn := l.Done(append(l.Next(tOf(next)), payloadOf(next)...))
	l.Unlock()
	if err := l.Commit(lsn); err != nil {
		t.Error(err)
		return false
	}
	return true
}
