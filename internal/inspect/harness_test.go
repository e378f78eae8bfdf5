package inspect

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	dir        = "data"
	startMilli = int64(1_800_000_000_000)
)

func placeOf(key []byte, secrets *[4]uint64) uint64 { return uint64(shard.PlaceOf(key, secrets)) }

func target(fs vfs.FS, name string) *Target {
	return &Target{FS: fs, Path: name, PlaceOf: placeOf}
}

// entry is one record of a forged log, at an offset of startMilli.
type entry struct {
	at int64
	op op.Op
}

// forge writes a log as no server would, one frame a record.
func forge(t *testing.T, fs vfs.FS, entries ...entry) {
	t.Helper()
	log, _, err := wal.Open(wal.Options{FS: fs, Dir: path.Join(dir, engine.WALDir), SegmentBytes: 4096, Inline: true},
		func(wal.LSN, int64, []byte) error { return nil }, nil)
	require.NoError(t, err)
	for i := range entries {
		log.Lock()
		lsn := log.Done(op.Append(log.Next(startMilli+entries[i].at), &entries[i].op))
		log.Unlock()
		require.NoError(t, log.Commit(lsn))
	}
	require.NoError(t, log.Close())
}

func pending(key, fingerprint, owner string, deadline int64) op.Op {
	return idemPut(key, &idem.Record{State: idem.Pending, Fingerprint: []byte(fingerprint), Owner: []byte(owner)}, deadline)
}

func completed(key, fingerprint, owner, result string, deadline int64) op.Op {
	return idemPut(key, &idem.Record{
		State: idem.Completed, Fingerprint: []byte(fingerprint), Owner: []byte(owner), Result: []byte(result),
	}, deadline)
}

func idemPut(key string, r *idem.Record, deadline int64) op.Op {
	return op.Op{Code: op.IdempotencyPut, Key: []byte(key), Value: idem.Append(nil, r), DeadlineMilli: startMilli + deadline}
}

func put(key, value string) op.Op {
	return op.Op{Code: op.Put, Key: []byte(key), Value: []byte(value)}
}

func check(t *testing.T, fs vfs.FS, name string) *CheckReport {
	t.Helper()
	r, err := Check(target(fs, name))
	require.NoError(t, err)
	return r
}

func requireGood(t *testing.T, r *CheckReport) {
	t.Helper()
	require.True(t, r.Good(), r.text(t))
}

func (r *CheckReport) text(t *testing.T) string { return textOf(t, r.WriteText) }

func textOf(t *testing.T, write func(w io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, write(&b))
	return b.String()
}

// server is an engine whose snapshots go by steps.
type server struct {
	t   *testing.T
	fs  vfs.FS
	src *clock.Manual
	log strings.Builder
	*engine.Engine
	tx *shard.Tx
}

func engineOptions(fs vfs.FS, src clock.Source) engine.Options {
	return engine.Options{
		FS: fs, Dir: dir, Log: true, Shards: 2, Databases: 4, SegmentBytes: 4096, Clock: clock.New(src, nil), Inline: true,
	}
}

func start(t *testing.T, fs vfs.FS) *server {
	t.Helper()
	s, err := tryStart(t, fs)
	require.NoError(t, err)
	return s
}

func tryStart(t *testing.T, fs vfs.FS) (*server, error) {
	t.Helper()
	s := &server{t: t, fs: fs, src: clock.NewManual(startMilli)}
	o := engineOptions(fs, s.src)
	o.Logf = func(format string, args ...any) { fmt.Fprintf(&s.log, format+"\n", args...) }
	e, err := engine.Open(o)
	if err != nil {
		return nil, err
	}
	if err := e.Recover(); err != nil {
		require.NoError(t, e.Close())
		return nil, err
	}
	s.Engine, s.tx = e, e.Store.NewTx()
	return s, nil
}

// in runs f in a transaction on one key of database db.
func (s *server) in(db int, key string, f func(tx *shard.Tx, k *shard.Key)) {
	s.t.Helper()
	k := shard.MakeKey([]byte(key))
	s.tx.Begin(s.Clock.NowMilli(), db)
	s.tx.LockKeys([]shard.Key{k})
	f(s.tx, &k)
	s.tx.End()
}

// all runs f with every shard locked.
func (s *server) all(db int, f func(tx *shard.Tx)) {
	s.tx.Begin(s.Clock.NowMilli(), db)
	s.tx.LockAll()
	f(s.tx)
	s.tx.End()
}

func (s *server) set(db int, key, value string) {
	s.in(db, key, func(tx *shard.Tx, k *shard.Key) {
		require.NoError(s.t, tx.Put(k, shard.Value{Bytes: []byte(value)}))
	})
}

func (s *server) get(db int, key string) (value string, ok bool) {
	s.in(db, key, func(tx *shard.Tx, k *shard.Key) {
		var v shard.Value
		v, ok = tx.Get(k)
		value = string(v.Bytes)
	})
	return value, ok
}

// begin and complete do what IDEM does.
func (s *server) begin(db int, key, fingerprint, owner string, ttlMilli int64) (outcome idem.Begun) {
	s.in(db, key, func(tx *shard.Tx, k *shard.Key) {
		stored := s.stored(tx, k)
		var err error
		outcome, _, err = idem.Begin(&stored, []byte(fingerprint))
		if err != nil || outcome != idem.BeginAcquired {
			return
		}
		record := idem.Append(nil, &idem.Record{State: idem.Pending, Fingerprint: []byte(fingerprint), Owner: []byte(owner)})
		require.NoError(s.t, tx.PutIdem(k, record, s.Clock.NowMilli()+ttlMilli))
	})
	return outcome
}

func (s *server) complete(db int, key, fingerprint, owner, result string) {
	s.in(db, key, func(tx *shard.Tx, k *shard.Key) {
		stored := s.stored(tx, k)
		outcome, err := idem.Complete(&stored, []byte(fingerprint), []byte(owner), []byte(result))
		if err != nil || outcome != idem.CompletePublished {
			return
		}
		record := idem.Append(nil, &idem.Record{
			State: idem.Completed, Fingerprint: []byte(fingerprint), Owner: []byte(owner), Result: []byte(result),
		})
		require.NoError(s.t, tx.PutIdem(k, record, stored.DeadlineMilli))
	})
}

func (s *server) stored(tx *shard.Tx, k *shard.Key) idem.Stored {
	v, ok := tx.Get(k)
	return idem.Stored{Live: ok, Bytes: bytes.Clone(v.Bytes), DeadlineMilli: v.DeadlineMilli}
}

func (s *server) sync() { require.NoError(s.t, s.Log().Commit(s.Last())) }

// save makes a snapshot; between is called before each of its steps.
func (s *server) save(between func()) {
	s.t.Helper()
	n, err := s.StartSnapshot("test")
	require.NoError(s.t, err)
	for {
		if between != nil {
			between()
		}
		if s.StepSnapshot() {
			break
		}
	}
	st := s.SnapshotStatus()
	require.NoError(s.t, st.LastErr)
	require.Equal(s.t, n, st.LastGood)
}

func (s *server) stop() { require.NoError(s.t, s.Close()) }

// damage turns one byte of a file over.
func damage(t *testing.T, fs vfs.FS, name string, offset int64) {
	t.Helper()
	f, err := fs.Open(name)
	require.NoError(t, err)
	b := []byte{0}
	_, err = f.ReadAt(b, offset)
	require.NoError(t, err)
	b[0] ^= 0xff
	_, err = f.WriteAt(b, offset)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, f.Close())
}
