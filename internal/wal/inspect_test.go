package wal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// Inspect and Open agree about every byte, and Inspect changes nothing.
func TestInspectAgreesWithOpen(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	f := func(name string, o Options) {
		mem := o.FS.(*vfs.Mem)
		before := filesOf(t, mem, testDir)
		faulty := vfs.NewFaulty(mem)
		o.FS = faulty
		report, damage, got := inspectAll(o)
		require.Zero(t, faulty.Changes(), name)
		require.Equal(t, before, filesOf(t, mem, testDir))
		o.FS = mem
		_, opened, want, err := openLog(o)
		if err == nil {
			require.Nil(t, damage, name)
			require.Equal(t, want, got)
			require.Equal(t, opened.CutBytes, report.CutBytes)
		} else {
			require.Equal(t, err, error(damage), name)
		}
		require.Equal(t, opened.LastLSN, report.LastLSN)
		require.Equal(t, opened.LogID, report.LogID)
		require.Equal(t, opened.Frames, report.Frames)
		require.Equal(t, opened.Records, report.Records)
	}
	for _, first := range []LSN{0, 7, 15} {
		for _, name := range segments(t, mem) {
			whole := readFile(t, mem, name)
			for at := 0; at < used(whole)+100; at += 29 {
				if at >= len(whole) {
					break
				}
				o := testOptions(mem.Kill())
				o.FirstLSN = first
				b := append([]byte(nil), whole...)
				b[at] ^= 4
				writeFile(t, o.FS, name, b)
				f(name, o)
			}
		}
	}
	f("whole", testOptions(mem.Kill()))
	torn := builtLog(t, 5, false)
	segs := segments(t, torn)
	name := segs[len(segs)-1]
	b := readFile(t, torn, name)
	b[len(b)-1] = 7
	writeFile(t, torn, name, b)
	report, damage, _ := inspectAll(testOptions(torn))
	require.Nil(t, damage)
	require.Positive(t, report.CutBytes)
	f("torn", testOptions(torn))
}

func TestInspectTellsWhatItReads(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	o := testOptions(mem)
	var places []Found
	var progress []int64
	report, err := Inspect(o, func(f *Found) error {
		places = append(places, *f)
		return nil
	}, func(done, _ int64) { progress = append(progress, done) })
	require.NoError(t, err)
	require.Len(t, places, 14)
	require.IsNonDecreasing(t, progress)
	var records, frames, bytes int64
	for _, info := range report.Files {
		records, frames, bytes = records+info.Records, frames+info.Frames, bytes+info.UsedBytes
		require.Equal(t, segmentName(info.Seq), info.Name)
		require.False(t, info.Skipped)
	}
	require.EqualValues(t, 14, records)
	require.Equal(t, report.Frames, frames)
	require.EqualValues(t, report.Segments, len(report.Files))
	for i, p := range places {
		require.EqualValues(t, i+1, p.LSN)
		b := readFile(t, mem, testDir+"/"+p.Segment)
		sh, err := decodeSegmentHeader(b)
		require.NoError(t, err)
		h, ok := decodeFrameHeader(b[p.Offset:], sh.salt)
		require.True(t, ok)
		require.Equal(t, p.LSN, h.firstLSN, "one frame a record in this log")
	}
	stop := errors.New("stop")
	_, err = Inspect(o, func(*Found) error { return stop }, nil)
	require.ErrorIs(t, err, stop)

	o.FirstLSN = 14
	report, err = Inspect(o, func(f *Found) error {
		require.EqualValues(t, 14, f.LSN)
		return nil
	}, nil)
	require.NoError(t, err)
	require.Positive(t, report.Skipped)
	require.True(t, report.Files[0].Skipped)
	require.EqualValues(t, 1, report.Files[0].FirstLSN)
	require.EqualValues(t, 1, report.Records)
}

func TestInspectOfNothing(t *testing.T) {
	t.Parallel()
	o := testOptions(vfs.NewMem())
	report, err := Inspect(o, nil, nil)
	require.NoError(t, err)
	require.Equal(t, Report{}, report)
	o.MustExist = true
	_, err = Inspect(o, nil, nil)
	require.ErrorContains(t, err, "there is no log")
	require.NoError(t, o.FS.MkdirAll(testDir))
	_, err = Inspect(o, nil, nil)
	require.ErrorContains(t, err, "there is no log")
}

// A copy of a log that nobody may write to can be inspected where it is.
func TestInspectReadOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "wal")
	o := Options{FS: vfs.OS(), Dir: dir, SegmentBytes: 900, Inline: true}
	l, _, _ := mustOpen(t, o)
	for range 14 {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	require.NoError(t, l.Close())
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, name := range files {
		require.NoError(t, os.Chmod(name, 0o400))
	}
	require.NoError(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // else the test's own clean-up fails
	o.FS = vfs.ReadOnly()
	_, damage, got := inspectAll(o)
	require.Nil(t, damage)
	require.Len(t, got, 14)
	_, _, _, err = openLog(o)
	require.ErrorIs(t, err, syscall.EROFS)
}
