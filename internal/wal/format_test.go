package wal

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

var update = flag.Bool("update", false, "write the fixtures of testdata anew")

const fixtureDir = "testdata/v1"

// fixtureLog writes the log that the fixture holds: runs, a jump of T, an
// empty record, a rotation, a frame larger than a segment, an orderly stop.
func fixtureLog(t *testing.T, mem *vfs.Mem) []record {
	t.Helper()
	o := testOptions(mem)
	o.SegmentBytes = 600
	l, _, _ := mustOpen(t, o)
	var want []record
	run := func(tMilli int64, payloads ...string) {
		first := l.Last() + 1
		require.NoError(t, l.Commit(appendRun(l, tMilli, payloads...)))
		for i, p := range payloads {
			want = append(want, record{first + LSN(i), tMilli, p})
		}
	}
	run(1_700_000_000_000, "one", "", "three")
	run(1_700_000_000_250, strings.Repeat("4", 200))
	run(1_700_000_000_250, strings.Repeat("5", 200))
	run(1_700_000_777_777, strings.Repeat("six", 300))
	run(1_700_000_777_778, "seven")
	require.NoError(t, l.Close())
	return want
}

// Version 1 of the format is frozen: the same appends give the same bytes, and
// the bytes of the fixture give the same records, for ever.
func TestFormatIsFrozen(t *testing.T) {
	mem := vfs.NewMem()
	want := fixtureLog(t, mem)
	if *update {
		require.NoError(t, os.MkdirAll(fixtureDir, 0o750))
		for _, name := range segments(t, mem) {
			require.NoError(t, os.WriteFile(filepath.Join(fixtureDir, filepath.Base(name)), readFile(t, mem, name), 0o640))
		}
	}
	entries, err := os.ReadDir(fixtureDir)
	require.NoError(t, err)
	require.Len(t, entries, len(segments(t, mem)))
	frozen := vfs.NewMem()
	require.NoError(t, frozen.MkdirAll(testDir))
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(fixtureDir, e.Name()))
		require.NoError(t, err)
		require.Equal(t, b, readFile(t, mem, testDir+"/"+e.Name()), "today's writer makes other bytes")
		writeFile(t, frozen, testDir+"/"+e.Name(), b)
	}
	l, report, got := mustOpen(t, testOptions(frozen))
	require.Equal(t, want, got)
	require.EqualValues(t, 1_700_000_777_778, report.LastT)
	require.Equal(t, len(entries), report.Segments)
	require.NoError(t, l.Commit(appendRun(l, 1, "it goes on")))
	require.NoError(t, l.Close())
}

func TestSegmentNames(t *testing.T) {
	t.Parallel()
	f := func(name string, seq uint64, ok bool) {
		t.Helper()
		gotSeq, gotOK := parseSegmentName(name)
		require.Equal(t, seq, gotSeq, name)
		require.Equal(t, ok, gotOK, name)
	}
	f("wal-0000000000000001.seg", 1, true)
	f("wal-ffffffffffffffff.seg", 1<<64-1, true)
	f("wal-000000000000000F.seg", 0, true)
	f("wal-1.seg", 0, true)
	f("wal-x.seg", 0, true)
	f("wal-0000000000000001.seg.cut-64", 0, false)
	f("wal-0000000000000001.seg.tmp", 0, false)
	f("hapax.lock", 0, false)
	require.Equal(t, "wal-00000000000000ff.seg", segmentName(255))
}
