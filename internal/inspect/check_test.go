package inspect

import (
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// populated is a directory with two snapshots and a log behind them.
func populated(t *testing.T) *vfs.Mem {
	t.Helper()
	fs := vfs.NewMem()
	s := start(t, fs)
	fill := func(round string) {
		for i := range 40 {
			s.set(0, fmt.Sprint("key", i), strings.Repeat(round, 100))
			s.begin(0, fmt.Sprint("order", round, i), "f", "me", 100_000)
			s.sync()
		}
	}
	fill("a")
	s.save(nil)
	fill("b")
	s.save(nil)
	fill("c")
	s.stop()
	return fs
}

func manifestOf(t *testing.T, fs vfs.FS) *engine.Manifest {
	t.Helper()
	m, err := engine.ReadManifest(fs, dir)
	require.NoError(t, err)
	require.NotNil(t, m)
	return m
}

func TestCheckOfAWholeDirectory(t *testing.T) {
	t.Parallel()
	fs := populated(t)
	m := manifestOf(t, fs)
	require.Len(t, m.Snapshots, 2)
	r := check(t, fs, dir)
	requireGood(t, r)
	require.False(t, r.InUse)
	require.Equal(t, m.Snapshots[1].LastLSN, r.Log.BaseLSN, "the log is read from the older snapshot on")
	require.Equal(t, int64(120), r.Idem.Live)
	require.Empty(t, r.Notes)
	require.True(t, strings.HasSuffix(r.text(t), "\ngood\n"))
	for _, s := range r.Snapshots {
		require.True(t, s.compared || s.Info.LastLSN == r.Log.BaseLSN, "every snapshot is compared with the log")
		one := check(t, fs, path.Join(dir, s.File))
		requireGood(t, one)
		require.Equal(t, s.Info, one.Snapshots[0].Info)
	}
}

// Snapshots taken while records come and go, and databases are emptied and
// exchanged in their middle: check follows all of it, and its count of live
// records is the store's.
func TestCheckAcrossSnapshotsInMotion(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		fs := vfs.NewMem()
		s := start(t, fs)
		rnd := rand.New(rand.NewPCG(seed, 7))
		work := func() {
			for range 1 + rnd.IntN(6) {
				key, db := fmt.Sprintf("k%d", rnd.IntN(60)), rnd.IntN(3)
				switch n := rnd.IntN(40); {
				case n < 20:
					s.begin(db, key, "f", fmt.Sprint("owner", rnd.IntN(3)), int64(1+rnd.IntN(400)))
				case n < 30:
					s.complete(db, key, "f", fmt.Sprint("owner", rnd.IntN(3)), fmt.Sprint("r", rnd.IntN(3)))
				case n < 33:
					s.in(db, key, func(tx *shard.Tx, k *shard.Key) { tx.Delete(k) })
				case n < 35:
					s.in(db, key, func(tx *shard.Tx, k *shard.Key) { tx.SetDeadline(k, s.Clock.NowMilli()+500) })
				case n < 36:
					s.all(db, (*shard.Tx).FlushDB)
				case n < 38:
					s.all(db, func(tx *shard.Tx) { tx.Swap(db, (db+1)%3) })
				case n < 39:
					s.tx.Begin(s.Clock.NowMilli(), db)
					s.tx.ExpireStep(1 << 16)
					s.tx.End()
				default:
					s.src.AdvanceMilli(int64(rnd.IntN(30)))
				}
			}
		}
		for range 20 {
			work()
		}
		for range 3 {
			s.save(work)
		}
		work()
		live := s.liveRecords(60, 3)
		s.sync()
		nowMilli := s.Clock.NowMilli()
		s.stop()
		r := check(t, fs, dir)
		requireGood(t, r)
		require.Len(t, r.Snapshots, 2)
		// T of the last record may be behind the clock.
		require.GreaterOrEqual(t, r.Idem.Live, live, "seed %d", seed)
		if r.Log.LastT == nowMilli {
			require.Equal(t, live, r.Idem.Live, "seed %d", seed)
		}
	}
}

func (s *server) liveRecords(keys, dbs int) (n int64) {
	for db := range dbs {
		for i := range keys {
			s.in(db, fmt.Sprintf("k%d", i), func(tx *shard.Tx, k *shard.Key) {
				if v, ok := tx.Get(k); ok && v.DeadlineMilli > 0 {
					if _, err := idem.Decode(v.Bytes); err == nil {
						n++
					}
				}
			})
		}
	}
	return n
}

// forgeSnapshot writes a snapshot of one piece and names it in the manifest.
func forgeSnapshot(t *testing.T, fs vfs.FS, id uint64, lsn wal.LSN, entries ...op.Op) {
	t.Helper()
	name := path.Join(dir, snapshotFile(id))
	require.NoError(t, fs.MkdirAll(path.Dir(name)))
	var info snapshot.Info
	require.NoError(t, vfs.Replace(fs, name, func(f vfs.File) (err error) {
		w := snapshot.NewWriter(f, snapshot.Header{ID: id, Databases: 4, CreatedMilli: startMilli})
		for i := range entries {
			entries[i].Code = op.Put
			w.Entry(&entries[i])
		}
		if err := w.EndPiece(snapshot.Piece{End: uint64(shard.PlaceEnd), LSN: lsn}); err != nil {
			return err
		}
		info, err = w.Finish(startMilli)
		return err
	}))
	m, err := engine.ReadManifest(fs, dir)
	require.NoError(t, err)
	if m == nil {
		m = &engine.Manifest{FirstSegment: 1}
	}
	m.Snapshots = append([]engine.SnapshotRef{{ID: id, LastLSN: lsn, SizeBytes: info.SizeBytes}}, m.Snapshots...)
	require.NoError(t, m.Write(fs, dir))
}

// A snapshot that forgot a record, made one up or has another one than the log
// is found, though its checksums are fine.
func TestSnapshotThatDiffersFromTheLog(t *testing.T) {
	t.Parallel()
	history := []entry{
		{0, pending("k", "f", "me", 1000)}, {1, pending("l", "f", "me", 1000)}, {2, completed("l", "f", "me", "r", 1000)},
	}
	k, l := history[0].op, history[2].op
	l2 := completed("l", "f", "me", "other", 1000)
	early := completed("l", "f", "me", "r", 999)
	extra := pending("m", "f", "me", 1000)
	for _, c := range []struct {
		name    string
		entries []op.Op
		want    []string
	}{
		{"the same", []op.Op{k, l}, nil},
		{"one forgotten", []op.Op{l}, []string{"the log has this record, the snapshot does not"}},
		{"one made up", []op.Op{k, l, extra}, []string{"the snapshot has this record, the log does not"}},
		{"an older state", []op.Op{k, history[1].op}, []string{"the snapshot has another record than the log: its state"}},
		{"another result", []op.Op{k, l2}, []string{"the snapshot has another record than the log: its result"}},
		{"another deadline", []op.Op{k, early}, []string{"the snapshot has another record than the log: its deadline"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			forge(t, fs, history...)
			forgeSnapshot(t, fs, 1, 3, c.entries...)
			r := check(t, fs, dir)
			require.Empty(t, r.Problems, r.text(t))
			var rules []string
			for _, v := range r.Idem.Violations {
				rules = append(rules, v.Rule)
				require.Equal(t, snapshotFile(1), v.File)
				require.Equal(t, wal.LSN(3), v.LSN)
			}
			require.Equal(t, c.want, rules)
		})
	}
}

// A rule that is broken between a snapshot and the log behind it.
func TestRuleBrokenBehindASnapshot(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	forge(t, fs, entry{0, pending("k", "f", "me", 1000)}, entry{1, put("x", "y")}, entry{2, pending("k", "f", "you", 1000)})
	forgeSnapshot(t, fs, 1, 1, pending("k", "f", "me", 1000))
	m := manifestOf(t, fs)
	m.Snapshots = append(m.Snapshots, m.Snapshots[0]) // the log is not read from its beginning
	m.Snapshots[0].ID, m.Snapshots[0].LastLSN = 2, 1
	r := check(t, fs, dir)
	require.Equal(t, int64(1), r.Idem.Broken)
	require.Equal(t, wal.LSN(3), r.Idem.Violations[0].LSN)
}

// Every byte of manifest, snapshots and log: damage to it is found, or it is
// behind the end of what was written.
func TestEveryDamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	fs := populated(t)
	m := manifestOf(t, fs)
	names := []string{engine.ManifestName, snapshotFile(m.Snapshots[0].ID), snapshotFile(m.Snapshots[1].ID)}
	report := check(t, fs, dir)
	requireGood(t, report)
	stat, err := Stat(target(fs, dir), startMilli)
	require.NoError(t, err)
	used := map[string]int64{}
	for _, s := range stat.Segments {
		if !s.Skipped && s.Frames > 0 {
			name := path.Join(engine.WALDir, s.Name)
			names = append(names, name)
			used[name] = 64 + s.UsedBytes
		}
	}
	require.Greater(t, len(used), 2)
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		for range 12 {
			broken := fs.Kill()
			full := path.Join(dir, name)
			f, err := broken.Open(full)
			require.NoError(t, err)
			size, err := f.Size()
			require.NoError(t, err)
			require.NoError(t, f.Close())
			if used[name] > 0 {
				size = used[name]
			}
			offset := rnd.Int64N(size)
			damage(t, broken, full, offset)
			r := check(t, broken, dir)
			require.False(t, r.Good(), "%s, offset %d", name, offset)
			require.Equal(t, name, r.Problems[0].File)
			require.LessOrEqual(t, r.Problems[0].Offset, offset)
			require.NotEmpty(t, r.Problems[0].Do)
			require.Contains(t, r.text(t), "DAMAGED: "+name)
		}
	}
}

func TestMissingFilesAreNamed(t *testing.T) {
	t.Parallel()
	fs := populated(t)
	m := manifestOf(t, fs)
	gone := func(name string) *CheckReport {
		t.Helper()
		broken := fs.Kill()
		require.NoError(t, broken.Remove(path.Join(dir, name)))
		r := check(t, broken, dir)
		require.False(t, r.Good())
		return r
	}
	newest := snapshotFile(m.Snapshots[0].ID)
	r := gone(newest)
	require.Equal(t, Problem{File: newest, Offset: -1, What: "the snapshot is missing",
		Do: "a start goes on from " + snapshotFile(m.Snapshots[1].ID) + " and the log behind it; hapax-server repair data does so now"}, r.Problems[0])
	r = gone(engine.ManifestName)
	require.Contains(t, r.Problems[0].What, "the manifest is missing")
	segments, err := fs.List(path.Join(dir, engine.WALDir))
	require.NoError(t, err)
	r = gone(path.Join(engine.WALDir, segments[len(segments)/2]))
	require.Contains(t, r.Problems[0].File, "wal/wal-")

	_, err = Check(target(fs, "nowhere"))
	require.Error(t, err)
	require.NoError(t, fs.MkdirAll("empty"))
	require.False(t, check(t, fs, "empty").Good())
}

// Damage before the newest snapshot does not stop a start, and check says so.
func TestDamageThatAStartDoesNotNeed(t *testing.T) {
	t.Parallel()
	fs := populated(t)
	m := manifestOf(t, fs)
	first := offsetOfRecord(t, fs, m, m.Snapshots[1].LastLSN+1)
	damage(t, fs, path.Join(dir, first.Segment), first.Offset+70)
	r := check(t, fs, dir)
	require.Len(t, r.Problems, 1)
	require.Equal(t, first.Segment, r.Problems[0].File)
	require.Equal(t, first.Offset, r.Problems[0].Offset)
	require.Contains(t, r.Problems[0].Do, "a start does not need this part, it goes on behind "+snapshotFile(m.Snapshots[0].ID))
	s := start(t, fs)
	s.stop()
}

// offsetOfRecord is where a record of a directory with snapshots stands.
func offsetOfRecord(t *testing.T, fs vfs.FS, m *engine.Manifest, lsn wal.LSN) (found wal.Found) {
	t.Helper()
	_, err := wal.Inspect(target(fs, dir).logOptions(m, lsn-1), func(f *wal.Found) error {
		if f.LSN == lsn {
			found = *f
			found.Segment = path.Join(engine.WALDir, f.Segment)
		}
		return nil
	}, nil)
	require.NoError(t, err)
	require.Equal(t, lsn, found.LSN)
	return found
}

// A record of a later version is named, with the place of its frame.
func TestUnknownOpcode(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	forge(t, fs, entry{0, put("a", "1")})
	log, _, err := wal.Open(wal.Options{FS: fs, Dir: path.Join(dir, engine.WALDir), Inline: true},
		func(wal.LSN, int64, []byte) error { return nil }, nil)
	require.NoError(t, err)
	log.Lock()
	lsn := log.Done(append(log.Next(startMilli), 200, 1))
	log.Unlock()
	require.NoError(t, log.Commit(lsn))
	require.NoError(t, log.Close())
	r := check(t, fs, dir)
	require.Len(t, r.Problems, 1)
	require.Contains(t, r.Problems[0].What, "record 2 in the frame at offset")
	require.Contains(t, r.Problems[0].What, "unknown opcode 200")
}

// Beside a server the report says so, and nothing is changed.
func TestCheckBesideAServer(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := start(t, fs)
	s.begin(0, "k", "f", "me", 1000)
	s.sync()
	counting := vfs.NewFaulty(fs)
	r := check(t, counting, dir)
	requireGood(t, r)
	require.True(t, r.InUse)
	require.Equal(t, int64(1), r.Idem.Live)
	require.Contains(t, r.text(t), "a server holds this directory")
	require.Zero(t, counting.Changes(), "check changes nothing")
	require.Equal(t, idem.BeginPending, s.begin(0, "k", "f", "you", 1000))
	s.stop()
}

// A server writes to the log at any moment of a reading: what looks like damage
// then is looked at again. A frame may be missing in what was read and, in what
// is read later, have one behind it that proves that it was there.
func TestReadingWhileTheTailMoves(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := start(t, fs)
	n := 0
	write := func() {
		for range 3 {
			n++
			s.begin(0, fmt.Sprint("order", n), "f", "me", 1000)
			s.sync()
		}
	}
	write()
	for nth := 1; ; nth++ {
		fired := false
		faulty := vfs.NewFaulty(fs)
		faulty.Inject(vfs.Fault{Op: vfs.OpRead, Path: "wal-", Nth: nth, Before: func() {
			fired = true
			write()
		}})
		r := stat(t, faulty, dir) // reads the log as check does, but once
		require.Empty(t, r.Error, "written before read %d", nth)
		if !fired {
			require.Greater(t, nth, 4)
			break
		}
	}
	s.stop()
	r := check(t, fs, dir)
	requireGood(t, r)
	require.Equal(t, int64(n), r.Idem.Live)
}

// A manifest that is refused: where, why, and one thing to do.
func TestCheckOfAManifest(t *testing.T) {
	t.Parallel()
	st := tell(t, 3)
	name := path.Join(dir, engine.ManifestName)
	f := func(text, want string) {
		t.Helper()
		fsys := st.fs.Kill()
		require.NoError(t, vfs.Replace(fsys, name, func(f vfs.File) error {
			_, err := f.WriteAt([]byte(text), 0)
			return err
		}))
		require.Equal(t, want, check(t, fsys, dir).text(t))
	}
	good := string(content(t, st.fs, name))
	f(strings.Replace(good, "reach-t 1", "reach-t 2", 1), "DAMAGED: MANIFEST, line 8: the checksum does not fit\n"+
		"  restore a backup, or see what hapax-server repair data can keep\ndamaged: 1 problem\n")
	f(strings.Replace(good, "hapax-manifest 1", "hapax-manifest 2", 1), "DAMAGED: MANIFEST, line 1: "+
		"it was written by a newer version of Hapax (format 2, this one knows 1)\n"+
		"  start the newer Hapax that wrote it\ndamaged: 1 problem\n")
}
