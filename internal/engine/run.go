package engine

import (
	"errors"
	"fmt"
	"path"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/snapshot"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// A snapshot, step by step; each step is one call of once:
//
//  1. create: a file under a temporary name.
//  2. piece, again and again: the entries of a stretch of places, under their
//     shard's lock, with the last LSN of that moment.
//  3. settle: the log is synced past the last piece's LSN, X. Nothing that a
//     crash can take back gets into a snapshot (I5).
//  4. records: those between the first piece's LSN and X, read back from the
//     log. The file is now the store at X.
//  5. finish: index, footer, sync. Only then it gets its name, and the
//     directory is synced.
//  6. publish: the manifest names it (publish.go). Before this moment the
//     store on disk is what it was without the snapshot, whatever happens.
//  7. remove what nobody needs any more.

// pieceBytes is how much one piece holds about, and so how long one holding of
// a shard's lock is: 50 to 150 µs with small entries that no cache holds (about
// 250 ns each). With less, slots of a store of ten million keys would have to
// be cut, which costs as much time again.
const pieceBytes = 32 << 10

// inlinePieceBytes is that in a simulation, where a few keys are to be many
// pieces with commands between them.
const inlinePieceBytes = 256

// inlineRecords is how many records a step of a simulation copies. Otherwise
// one step copies all, as each has to find its place in the log again.
const inlineRecords = 16

// run is one snapshot being made. One goroutine steps it.
type run struct {
	e         *Engine
	number    int64
	cause     string
	automatic bool
	keysTotal int64
	startT    int64
	startNano int64

	cancelled    atomic.Bool
	keysDone     atomic.Int64
	maxPauseNano atomic.Int64

	step      func() error // nil when it is done
	published bool         // the manifest names it

	id       uint64
	name     string // where the file is
	file     vfs.File
	w        *snapshot.Writer
	walk     *shard.Walk
	emit     func(db int, key []byte, v shard.Value)
	op       op.Op
	lockNano int64 // when the present piece got its lock
	gathers  bool  // the memory log gathers for it
	gathered gathered
	first    wal.LSN // of the first piece; 0 before it, and perhaps then too
	restedAt int64   // when pace slept last
	copied   wal.LSN // last record in the file
	last     wal.LSN // X
	lastT    int64
	pieces   int64
	info     snapshot.Info
}

func newRun(e *Engine, number int64, cause string, automatic bool) *run {
	r := &run{e: e, number: number, cause: cause, automatic: automatic,
		startT: e.Clock.NowMilli(), startNano: e.Clock.MonoNano()}
	for db := range e.Store.Databases() {
		r.keysTotal += e.Store.DBStats(db).Keys
	}
	r.step = r.create
	r.emit = func(db int, key []byte, v shard.Value) {
		r.op = op.Op{Code: op.Put, DB: db, Type: uint8(v.Type), Raw: v.Raw, Key: key, Value: v.Bytes,
			DeadlineMilli: v.DeadlineMilli}
		r.w.Entry(&r.op)
	}
	return r
}

// toEnd steps until the end.
func (r *run) toEnd() {
	for !r.once() {
		r.pace()
	}
}

// once does one step and says whether it was the last.
func (r *run) once() (done bool) {
	if r.cancelled.Load() && !r.published {
		r.end(ErrSnapshotCancelled)
		return true
	}
	if err := r.step(); err != nil {
		r.end(err)
		return true
	}
	if r.step == nil {
		r.end(nil)
		return true
	}
	return false
}

// create does step 1.
func (r *run) create() error {
	e := r.e
	if err := e.prepareDir(); err != nil {
		return err
	}
	dir := e.snapshotDir()
	id, err := e.nextSnapshot()
	if err != nil {
		return err
	}
	r.id = id
	r.name = path.Join(dir, SnapshotName(id)+vfs.TempSuffix)
	if r.file, err = e.opts.FS.Create(r.name); err != nil {
		r.name = ""
		return err
	}
	h := snapshot.Header{ID: id, HashSecrets: shard.HashSecrets(), Databases: e.Store.Databases(), CreatedMilli: r.startT}
	if log := e.log.Load(); log != nil {
		h.LogID = log.ID()
	} else {
		e.stopTheWorld(func() { e.memory.gather(gatherBytes) })
		r.gathers = true
	}
	r.w = snapshot.NewWriter(r.file, h)
	r.walk = e.Store.NewWalk()
	r.walk.OnLock = func() { r.lockNano = e.Clock.MonoNano() }
	e.opts.Logf("Snapshot %d started (%s), about %d keys", id, r.cause, r.keysTotal)
	r.step = r.piece
	return nil
}

// piece does step 2.
func (r *run) piece() error {
	limit := pieceBytes
	if r.e.opts.Inline {
		limit = inlinePieceBytes
	}
	p, more := r.walk.Next(limit, r.emit)
	if !more {
		r.step = r.settle
		return nil
	}
	if held := r.e.Clock.MonoNano() - r.lockNano; held > r.maxPauseNano.Load() {
		r.maxPauseNano.Store(held)
	}
	if r.pieces == 0 {
		r.first = p.LSN
	}
	r.pieces++
	r.last = p.LSN
	r.keysDone.Store(r.w.Keys())
	return r.w.EndPiece(snapshot.Piece{End: uint64(p.End), LSN: p.LSN})
}

// settle does step 3.
func (r *run) settle() error {
	e := r.e
	if log := e.log.Load(); log != nil {
		if err := log.Sync(); err != nil {
			return err
		}
	} else {
		var err error
		e.stopTheWorld(func() { r.gathered, err = e.memory.take() })
		r.gathers = false
		if err != nil {
			return err
		}
	}
	// Whatever was found expired until now is dead at this T (I10).
	r.lastT = max(e.Clock.NowMilli(), e.lastT())
	r.copied = r.first
	r.step = r.records
	return nil
}

// records does step 4.
func (r *run) records() error {
	to := r.last
	if r.e.opts.Inline {
		to = min(to, r.copied+inlineRecords)
	}
	if r.copied < to {
		copyRecords := r.recordsOfLog
		if r.e.log.Load() == nil {
			copyRecords = r.recordsOfMemory
		}
		if err := copyRecords(to); err != nil {
			return err
		}
		if r.copied != to {
			return fmt.Errorf("the log has records up to %d only, %d are needed", r.copied, to)
		}
	}
	if r.copied == r.last {
		r.step = r.finish
	}
	return nil
}

func (r *run) recordsOfLog(to wal.LSN) error {
	return wal.ReadRange(r.e.opts.FS, r.e.walDir(), r.copied+1, to, r.record)
}

func (r *run) recordsOfMemory(to wal.LSN) error {
	for r.copied < to {
		lsn, t, payload, ok := r.gathered.next()
		if !ok {
			return nil
		}
		if lsn <= r.first {
			continue // between the beginning and the first piece
		}
		if err := r.record(lsn, t, payload); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) record(lsn wal.LSN, tMilli int64, payload []byte) error {
	if r.cancelled.Load() {
		return ErrSnapshotCancelled
	}
	if err := r.w.Record(lsn, tMilli, payload); err != nil {
		return err
	}
	if r.copied = lsn; lsn%paceRecords == 0 {
		r.pace()
	}
	return nil
}

// finish does step 5 but for the name.
func (r *run) finish() error {
	r.gathered = gathered{}
	var err error
	if r.info, err = r.w.Finish(r.lastT); err != nil {
		return err
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	err = r.file.Close()
	r.file = nil
	r.step = r.rename
	return err
}

// rename does the rest of step 5, in two steps: a crash between them may lose
// the name.
func (r *run) rename() error {
	name := path.Join(r.e.snapshotDir(), SnapshotName(r.id))
	if err := r.e.opts.FS.Rename(r.name, name); err != nil {
		return err
	}
	r.name = name
	r.step = r.syncName
	return nil
}

func (r *run) syncName() error {
	r.step = r.publish
	return r.e.opts.FS.SyncDir(r.e.snapshotDir())
}

// end is the end, well or not, of a run.
func (r *run) end(err error) {
	e := r.e
	r.step = nil
	if r.file != nil {
		_ = r.file.Close() // only unfinished files are open here
		r.file = nil
	}
	if r.gathers {
		r.gathers = false
		e.stopTheWorld(e.memory.drop)
	}
	if uncertain := (*UncertainError)(nil); err != nil && !r.published && r.name != "" && !errors.As(err, &uncertain) {
		// Nothing names it, so a failure here costs space until the next start.
		_ = e.opts.FS.Remove(r.name)
	}
	took := (e.Clock.MonoNano() - r.startNano) / 1e6
	switch {
	case err == nil:
		e.opts.Logf("Snapshot %d finished in %d ms: %d keys, %d bytes, the store at record %d; "+
			"no shard was locked for longer than %d us",
			r.id, took, r.info.Keys, r.info.SizeBytes, r.info.LastLSN, r.maxPauseNano.Load()/1000)
	case errors.Is(err, ErrSnapshotCancelled):
		e.opts.Logf("Snapshot %d (%s) was cancelled after %d ms", r.id, r.cause, took)
	default:
		e.opts.Warnf("Snapshot %d (%s) failed after %d ms, what was there before stays as it was: %v",
			r.id, r.cause, took, err)
	}
	e.snap.ended(r, err)
}

// stopTheWorld calls f while no transaction runs.
func (e *Engine) stopTheWorld(f func()) {
	tx := e.Store.NewTx()
	tx.LockAll()
	f()
	tx.End()
}

// lastT is the greatest T that a record carried.
func (e *Engine) lastT() int64 {
	if l := e.log.Load(); l != nil {
		return l.LastT()
	}
	return e.memory.LastT()
}
