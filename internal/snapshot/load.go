package snapshot

import (
	"bytes"
	"sync"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// batchEntries bounds a call of Sink.Entries: what a processor's cache holds.
const batchEntries = 512

// Sink receives a snapshot's content. What it is given is borrowed for the
// call. An error ends the load and is returned as it is.
type Sink interface {
	// Entries gets op.Puts, in batches of one block or less, from several
	// goroutines at once; each goroutine delivers a contiguous stretch of
	// places in order.
	Entries(ops []op.Op) error
	// Pieces gets all pieces, ascending, when every entry was delivered.
	Pieces(p []Piece) error
	// Record gets the records that follow, in order.
	Record(lsn wal.LSN, tMilli int64, o *op.Op) error
}

// LoadOptions configures Load; the zero value is fine.
type LoadOptions struct {
	Workers int // goroutines that read and decode; 0 is the caller's alone
	// Progress gets bytes, from any worker, one call at a time.
	Progress func(done, total int64)
	// Stopped is asked between blocks, likewise; true ends with ErrStopped.
	Stopped func() bool
}

// Load checks every byte and hands everything to s. It may be called again.
func (r *Reader) Load(s Sink, o LoadOptions) error {
	l := &load{r: r, sink: s, options: o}
	l.done = r.info.SizeBytes
	for i := range r.blocks {
		l.done -= blockHeaderBytes + int64(r.blocks[i].storedBytes) // the rest was read by Open
	}
	pieces, err := l.entries()
	if err != nil {
		return err
	}
	if int64(len(pieces)) != r.info.Pieces {
		return r.damage(r.info.SizeBytes-footerBytes, damaged(40, "there are %d pieces, not %d", len(pieces), r.info.Pieces))
	}
	if err := s.Pieces(pieces); err != nil {
		return err
	}
	w := worker{load: l}
	for i := r.pieces; i < len(r.blocks); i++ {
		if err := w.records(&r.blocks[i]); err != nil {
			return err
		}
	}
	return nil
}

// load is one run of Load.
type load struct {
	r       *Reader
	sink    Sink
	options LoadOptions

	mu     sync.Mutex
	done   int64 // bytes
	failed bool  // a worker gave up, the others need not go on
}

// entries runs the workers, each over a stretch of blocks, and puts together
// the pieces that they met.
func (l *load) entries() ([]Piece, error) {
	stretches := l.split(max(l.options.Workers, 1))
	workers := make([]worker, len(stretches))
	var wg sync.WaitGroup
	for i := range workers {
		w := &workers[i]
		w.load = l
		if len(workers) == 1 {
			w.run(stretches[i])
			break
		}
		wg.Go(func() { w.run(stretches[i]) })
	}
	wg.Wait()
	var pieces []Piece
	var first error
	for i := range workers {
		if err := workers[i].err; err != nil && (first == nil || first == errOtherFailed) {
			first = err
		}
		pieces = append(pieces, workers[i].pieces...)
	}
	return pieces, first
}

// split cuts the blocks of pieces into at most n stretches of similar size.
func (l *load) split(n int) [][]block {
	blocks := l.r.blocks[:l.r.pieces]
	last := &blocks[len(blocks)-1]
	total := last.at + int64(last.storedBytes)
	var out [][]block
	from := 0
	for i := range blocks {
		behind := i + 1
		if behind == len(blocks) || blocks[behind].at >= total/int64(n)*int64(len(out)+1) {
			out = append(out, blocks[from:behind])
			from = behind
		}
	}
	return out
}

// step counts n bytes as done and asks whether to go on.
func (l *load) step(n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed {
		return errOtherFailed
	}
	if l.options.Stopped != nil && l.options.Stopped() {
		return ErrStopped
	}
	l.done += n
	if l.options.Progress != nil {
		l.options.Progress(l.done, l.r.info.SizeBytes)
	}
	return nil
}

func (l *load) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = true
}

// worker reads blocks one after the other.
type worker struct {
	*load
	buf    []byte
	batch  []op.Op
	pieces []Piece
	t      int64 // of the last record
	err    error
}

func (w *worker) run(blocks []block) {
	w.batch = make([]op.Op, 0, batchEntries)
	for i := range blocks {
		if w.err = w.entriesOf(&blocks[i]); w.err != nil {
			w.giveUp()
			return
		}
	}
}

// payload reads b and checks it against what the index says of it.
func (w *worker) payload(b *block) ([]byte, error) {
	raw, err := w.r.read(w.buf, b.at, blockHeaderBytes+int64(b.storedBytes))
	if err != nil {
		return nil, err
	}
	if w.buf = raw; cap(raw) > keepBytes {
		w.buf = nil
	}
	var header [blockHeaderBytes]byte
	b.put(header[:])
	payload := raw[blockHeaderBytes:]
	switch {
	case !bytes.Equal(raw[:blockHeaderBytes], header[:]):
		return nil, w.r.damage(b.at, damaged(0, "block %d is not the one that the index names", b.seq))
	case checksum(payload) != b.payloadCRC:
		return nil, w.r.damage(b.at, damaged(0, "block %d does not match its checksum", b.seq))
	}
	return payload, w.step(int64(len(raw)))
}
