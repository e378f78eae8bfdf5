package inspect

import (
	"encoding/json"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

func stat(t *testing.T, fsys vfs.FS, name string) *StatReport {
	t.Helper()
	r, err := Stat(target(fsys, name), startMilli+60_000)
	require.NoError(t, err)
	return r
}

// Stat's figures against another count of the same directory.
func TestStat(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	counting := vfs.NewFaulty(st.fs)
	r := stat(t, counting, dir)
	require.Zero(t, counting.Changes(), "stat changes nothing")
	require.Empty(t, r.Error)
	require.Equal(t, st.m, r.Manifest)
	require.Len(t, r.Snapshots, 2)
	for i, s := range r.Snapshots {
		require.Equal(t, st.m.Snapshots[i].LastLSN, s.Info.LastLSN)
		require.Equal(t, int64(60_000), s.AgeMilli)
	}
	behind := int64(st.last() - st.m.Snapshots[1].LastLSN)
	bytes := int64(0)
	require.NoError(t, Dump(target(st.fs, dir), SourceLog, &Filter{DB: -1}, func(it *Item) error {
		bytes += int64(len(op.Append(nil, it.Op)))
		return nil
	}))
	require.Equal(t, []CodeStat{{Code: op.Put, Name: "put", Records: behind, Bytes: bytes}}, r.Codes)
	require.Equal(t, behind, r.Log.Records)
	require.Equal(t, st.last(), r.Log.LastLSN)

	total, records := int64(0), int64(0)
	for _, d := range []string{"", engine.SnapshotDir, engine.WALDir} {
		names, err := st.fs.List(path.Join(dir, d))
		require.NoError(t, err)
		for _, name := range names {
			if _, err := st.fs.List(path.Join(dir, d, name)); err != nil {
				total += int64(len(content(t, st.fs, path.Join(dir, d, name))))
			}
		}
	}
	require.Equal(t, total, r.DiskBytes)
	require.Len(t, r.Segments, len(st.segments(t, st.fs)))
	for _, s := range r.Segments {
		records += s.Records
		require.LessOrEqual(t, s.UsedBytes, s.SizeBytes)
	}
	require.GreaterOrEqual(t, records, behind)
	require.Equal(t, "snapshot/snap-0000000000000002.hsnap (50 keys, as of record 120), then 60 records of the log, up to record 180", r.Loads)
	text := textOf(t, r.WriteText)
	require.Contains(t, text, "  put (1): 120 records, ")
	require.Contains(t, text, "\na start loads "+r.Loads+"\n")
	_, err := json.Marshal(r)
	require.NoError(t, err)

	one := stat(t, st.fs, st.snapshot(1))
	require.Equal(t, r.Snapshots[1].Info, one.Snapshots[0].Info)
}

// What cannot be read is said, and the rest is shown.
func TestStatOfDamage(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	fsys := st.fs.Kill()
	f := offsetOfRecord(t, fsys, st.m, st.last()-5)
	damage(t, fsys, path.Join(dir, f.Segment), f.Offset+80)
	r := stat(t, fsys, dir)
	require.Contains(t, r.Error, "log damaged")
	require.Empty(t, r.Loads, "nothing is said of a start that would fail")
	require.Equal(t, st.last()-6, r.Log.LastLSN)
	require.Len(t, r.Snapshots, 2)

	fsys = st.fs.Kill()
	damage(t, fsys, st.snapshot(0), 10)
	r = stat(t, fsys, dir)
	require.Contains(t, r.Snapshots[0].Error, "damaged")
	require.Contains(t, r.Loads, snapshotFile(st.m.Snapshots[1].ID), "a start takes the older one")
	require.Contains(t, r.Loads, "120 records of the log, up to record 180")

	damage(t, fsys, path.Join(dir, engine.ManifestName), 10)
	r = stat(t, fsys, dir)
	require.NotEmpty(t, r.Error)
	require.NotZero(t, r.DiskBytes)
	require.Contains(t, textOf(t, r.WriteText), "DAMAGED: ")

	_, err := Stat(target(fsys, "nowhere"), 0)
	require.Error(t, err)
}

// Before the first snapshot a start reads the log from its beginning.
func TestStatOfALogAlone(t *testing.T) {
	t.Parallel()
	fsys := vfs.NewMem()
	forge(t, fsys, everyCode...)
	r := stat(t, fsys, dir)
	require.Equal(t, "12 records of the log, up to record 12", r.Loads)
	require.Len(t, r.Codes, len(codeNames))
	require.Equal(t, wal.LSN(1), r.Log.FirstLSN)
}

// A directory of something else is told apart from an empty store.
func TestNoDataDirectory(t *testing.T) {
	fsys := vfs.NewMem()
	require.NoError(t, fsys.MkdirAll("other/segments"))
	target := &Target{FS: fsys, Path: "other"}
	_, err := Stat(target, 0)
	require.EqualError(t, err, "other: there is neither a manifest nor a snapshot nor a log: this is no data directory")
	require.ErrorContains(t, Dump(target, SourceAll, &Filter{}, func(*Item) error { return nil }), "this is no data directory")
}
