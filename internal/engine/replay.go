package engine

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/slot"
	"github.com/hapaxkv/hapax/internal/wal"
)

// replayer applies the records of a log. Records about the same key are
// applied in their order, each slot by one worker; those about whole databases
// when everything before them is in, and before anything behind them.
//
// Replaying is waiting for memory, most of all. Workers wait side by side, and
// each fetches what a run of records needs before it applies the first.
type replayer struct {
	store   *shard.Store
	stopped func() bool
	op      op.Op
	workers []*replayWorker // none: records are applied at once
	pending sync.WaitGroup  // batches that workers have
	done    sync.WaitGroup  // workers
	failed  atomic.Pointer[applyFailure]
}

type applyFailure struct {
	lsn wal.LSN
	err error
}

// replayWorker applies the records of some slots.
type replayWorker struct {
	filling *replayBatch
	todo    chan *replayBatch
	empty   chan *replayBatch
}

// replayBatch is some records, one after the other.
type replayBatch struct {
	bytes []byte
	ends  []int // of each record in bytes
	lsns  []wal.LSN
}

// Bounds of what is read ahead of the workers.
const (
	batchRecords  = 256
	batchBytes    = 128 << 10
	batchesAhead  = 4
	prefetchAhead = 32 // records of a batch whose keys are fetched together
)

// newReplayer starts workers, unless their number is 1.
func newReplayer(store *shard.Store, workers int, stopped func() bool) *replayer {
	p := &replayer{store: store, stopped: stopped}
	if workers < 2 {
		return p
	}
	for range workers {
		w := &replayWorker{
			filling: &replayBatch{},
			todo:    make(chan *replayBatch, batchesAhead),
			empty:   make(chan *replayBatch, batchesAhead),
		}
		for range batchesAhead {
			w.empty <- &replayBatch{}
		}
		p.workers = append(p.workers, w)
		p.done.Go(func() { p.work(w) })
	}
	return p
}

// apply applies one record, or sees that it will be. An error may be that of
// an earlier record; see locate.
func (p *replayer) apply(lsn wal.LSN, payload []byte) error {
	if p.stopped() {
		return ErrStopped
	}
	if err := op.Decode(payload, &p.op); err != nil {
		return err
	}
	if p.workers == nil {
		return p.store.Apply(lsn, &p.op)
	}
	if f := p.failed.Load(); f != nil {
		return f.err
	}
	switch p.op.Code {
	case op.Tick:
		return nil
	case op.Put, op.IdempotencyPut, op.Delete, op.SetDeadline, op.Splice:
		w := p.workers[int(slot.Of(p.op.Key))*len(p.workers)/slot.Count]
		b := w.filling
		b.bytes = append(b.bytes, payload...)
		b.ends, b.lsns = append(b.ends, len(b.bytes)), append(b.lsns, lsn)
		if len(b.ends) >= batchRecords || len(b.bytes) >= batchBytes {
			p.hand(w)
		}
		return nil
	}
	if err := p.settle(); err != nil {
		return err
	}
	return p.store.Apply(lsn, &p.op)
}

// hand gives a worker the batch that was being filled.
func (p *replayer) hand(w *replayWorker) {
	if len(w.filling.ends) == 0 {
		return
	}
	p.pending.Add(1)
	w.todo <- w.filling
	w.filling = <-w.empty
}

// settle waits until everything is applied.
func (p *replayer) settle() error {
	for _, w := range p.workers {
		p.hand(w)
	}
	p.pending.Wait()
	if f := p.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// end ends the workers.
func (p *replayer) end() {
	for _, w := range p.workers {
		close(w.todo)
	}
	p.done.Wait()
	p.workers = nil
}

func (p *replayer) work(w *replayWorker) {
	tx := p.store.NewTx()
	var ops [prefetchAhead]op.Op
	var keys [prefetchAhead]shard.Key
	for b := range w.todo {
		from := 0
		for i := 0; i < len(b.ends); {
			n := min(prefetchAhead, len(b.ends)-i)
			for k := range n {
				// It was decoded before, so it can be.
				_ = op.Decode(b.bytes[from:b.ends[i+k]], &ops[k])
				keys[k] = shard.MakeKey(ops[k].Key)
				from = b.ends[i+k]
			}
			p.prefetch(tx, ops[:n], keys[:n])
			for k := range n {
				p.one(b.lsns[i+k], &ops[k])
			}
			i += n
		}
		if cap(b.bytes) > 4*batchBytes {
			b.bytes = nil
		}
		b.bytes, b.ends, b.lsns = b.bytes[:0], b.ends[:0], b.lsns[:0]
		w.empty <- b
		p.pending.Done()
	}
}

// prefetch fetches what ops need, database by database.
func (p *replayer) prefetch(tx *shard.Tx, ops []op.Op, keys []shard.Key) {
	for i := 0; i < len(ops); {
		n := i + 1
		for n < len(ops) && ops[n].DB == ops[i].DB {
			n++
		}
		if ops[i].DB < p.store.Databases() {
			tx.Prefetch(ops[i].DB, keys[i:n])
		}
		i = n
	}
}

// one applies a record, unless one failed already.
func (p *replayer) one(lsn wal.LSN, o *op.Op) {
	if p.failed.Load() != nil {
		return
	}
	if err := p.store.Apply(lsn, o); err != nil {
		p.failed.CompareAndSwap(nil, &applyFailure{lsn, err})
	}
}

// locate makes of an error of Open or Inspect one that names the place of the
// record that failed: with workers it is another than that at which it came out.
func (p *replayer) locate(o wal.Options, err error) error {
	f := p.failed.Load()
	if f == nil || !errors.Is(err, f.err) {
		return err
	}
	o.Applied, o.FirstLSN = nil, f.lsn
	if _, found := wal.Inspect(o, func(*wal.Found) error { return f.err }, nil); errors.Is(found, f.err) {
		return found
	}
	return fmt.Errorf("log record %d cannot be applied: %w", f.lsn, f.err)
}
