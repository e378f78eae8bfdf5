package wal

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// The tests are inside the package for its constants and onTick; what they
// claim, they claim through the exported API.

const testDir = "data/wal"

// saltsFrom yields the same numbers in every run.
func saltsFrom(seed uint64) func() uint64 {
	return func() uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed
	}
}

// testOptions is a small log without goroutines.
func testOptions(fsys vfs.FS) Options {
	return Options{FS: fsys, Dir: testDir, SegmentBytes: 900, Inline: true, Salt: saltsFrom(1)}
}

// record is what recovery yields.
type record struct {
	lsn     LSN
	t       int64
	payload string
}

// openLog opens and collects the records.
func openLog(o Options) (*Log, Report, []record, error) {
	var got []record
	l, report, err := Open(o, func(lsn LSN, t int64, payload []byte) error {
		got = append(got, record{lsn, t, string(payload)})
		return nil
	}, nil)
	return l, report, got, err
}

func mustOpen(t testing.TB, o Options) (*Log, Report, []record) {
	t.Helper()
	l, report, got, err := openLog(o)
	require.NoError(t, err)
	return l, report, got
}

// appendRun appends payloads as one run and returns the last LSN.
func appendRun(l *Log, tMilli int64, payloads ...string) (last LSN) {
	l.Lock()
	defer l.Unlock()
	for _, p := range payloads {
		last = l.Done(append(l.Next(tMilli), p...))
	}
	return last
}

// payloadOf is the payload that the scripted workloads give record n.
func payloadOf(n LSN) string {
	size := []int{0, 1, 30, 500, 90, 2000, 7, 60}[n%8]
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + (int(n)+i)%26)
	}
	return fmt.Sprintf("%d:%s", n, b)
}

// checkRecords compares got with the scripted workload from record 1 on.
func checkRecords(t testing.TB, got []record, note string) {
	t.Helper()
	for i, r := range got {
		n := LSN(i + 1)
		if r.lsn != n || r.payload != payloadOf(n) || r.t != tOf(n) {
			require.Equal(t, record{n, tOf(n), payloadOf(n)}, r, note)
		}
	}
}

// tOf is the T of record n: it jumps now and then.
func tOf(n LSN) int64 { return 1_700_000_000_000 + int64(n/3)*250 }

// appendScripted appends the next n records of the workload as one run.
func appendScripted(l *Log, n int) LSN {
	l.Lock()
	defer l.Unlock()
	for range n {
		next := l.Last() + 1
		l.Done(append(l.Next(tOf(next)), payloadOf(next)...))
	}
	return l.Last()
}

// readFile and writeFile change files behind the log's back.
func readFile(t testing.TB, fsys vfs.FS, name string) []byte {
	t.Helper()
	f, err := fsys.Open(name)
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	return b
}

func writeFile(t testing.TB, fsys vfs.FS, name string, b []byte) {
	t.Helper()
	require.NoError(t, vfs.Replace(fsys, name, func(f vfs.File) error {
		_, err := f.WriteAt(b, 0)
		return err
	}))
}

// segments lists the segment files in order.
func segments(t testing.TB, fsys vfs.FS) []string {
	t.Helper()
	names, err := fsys.List(testDir)
	require.NoError(t, err)
	var out []string
	for _, name := range names {
		if _, ok := parseSegmentName(name); ok {
			out = append(out, testDir+"/"+name)
		}
	}
	return out
}

// way is a way to write frames.
type way struct {
	name   string
	policy Policy
	direct bool
}

// ways are those policies, and Always once more with direct writes.
func ways(policies ...Policy) []way {
	var all []way
	for _, p := range policies {
		all = append(all, way{fmt.Sprint(p), p, false})
		if p == Always {
			all = append(all, way{"direct", p, true})
		}
	}
	return all
}

func (w way) options(fsys vfs.FS) Options {
	o := testOptions(fsys)
	if w.direct {
		o = directly(fsys)
	}
	o.Policy = w.policy
	return o
}
