package snapshot

import (
	"errors"
	"math"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// errOtherFailed ends a worker because another one has something to tell.
var errOtherFailed = errors.New("another worker failed")

// entriesOf hands the entries of b to the sink and keeps its pieces.
func (w *worker) entriesOf(b *block) error {
	payload, err := w.payload(b)
	if err != nil {
		return err
	}
	d := pieceDecoder{rest: payload, last: Piece{End: b.begin, LSN: wal.LSN(b.base)}, first: true}
	w.batch = w.batch[:0]
	for len(d.rest) > 0 {
		if len(w.batch) == cap(w.batch) {
			if err := w.sink.Entries(w.batch); err != nil {
				return err
			}
			w.batch = w.batch[:0]
		}
		o := w.batch[:len(w.batch)+1]
		entry, err := d.next(&o[len(w.batch)])
		if err != nil {
			return w.inBlock(b, payload, d.rest, err)
		}
		if entry {
			w.batch = o
		} else {
			w.pieces = append(w.pieces, d.last)
		}
	}
	switch {
	case d.open || d.last.End != b.end || d.last.LSN > b.lsn || d.entries != b.items:
		return w.inBlock(b, payload, nil, damaged(0, "block %d does not end where the next one begins", b.seq))
	case len(w.batch) == 0:
		return nil
	}
	return w.sink.Entries(w.batch)
}

// pieceDecoder walks the payload of a block of pieces.
type pieceDecoder struct {
	rest    []byte
	last    Piece // the last that ended; at first, where the block begins
	entries uint32
	open    bool // an entry came behind the last piece's end
	first   bool // no piece has ended yet
}

// next takes one item off the front: an entry, into o, or the end of a piece.
func (d *pieceDecoder) next(o *op.Op) (entry bool, err error) {
	size, n := uvarint(d.rest)
	switch {
	case n == 0 || size > uint64(len(d.rest)-n):
		return false, damaged(0, "an entry is longer than its block")
	case size == 0:
		return false, d.pieceEnd()
	}
	if err := op.Decode(d.rest[n:n+int(size)], o); err != nil {
		return false, badOp(int64(n), err)
	}
	if o.Code != op.Put {
		return false, damaged(int64(n), "an entry has opcode %d", o.Code)
	}
	d.rest = d.rest[n+int(size):]
	d.entries++
	d.open = true
	return true, nil
}

func (d *pieceDecoder) pieceEnd() error {
	if len(d.rest) < pieceEndBytes {
		return damaged(0, "the end of a piece is longer than its block")
	}
	p := decodePieceEnd(d.rest)
	if p.End <= d.last.End || p.LSN < d.last.LSN || d.first && p.LSN != d.last.LSN {
		return damaged(0, "a piece does not follow the one before it")
	}
	d.rest = d.rest[pieceEndBytes:]
	d.last, d.open, d.first = p, false, false
	return nil
}

// records hands the records of b to the sink.
func (w *worker) records(b *block) error {
	payload, err := w.payload(b)
	if err != nil {
		return err
	}
	d := recordDecoder{rest: payload, t: int64(b.base), first: true}
	if d.t < w.t {
		return w.inBlock(b, payload, payload, damaged(0, "time runs backwards between two blocks"))
	}
	var o op.Op
	for i := range b.items {
		record, err := d.next(w.r.info.LastT)
		if err == nil {
			if bad := op.Decode(record, &o); bad != nil {
				err = badOp(0, bad)
			}
		}
		if err != nil {
			return w.inBlock(b, payload, d.rest, err)
		}
		if err := w.sink.Record(wal.LSN(b.begin)+wal.LSN(i), d.t, &o); err != nil {
			return err
		}
	}
	if len(d.rest) != 0 {
		return w.inBlock(b, payload, d.rest, damaged(0, "there is something behind the last record of block %d", b.seq))
	}
	w.t = d.t
	return nil
}

// recordDecoder walks the payload of a block of records.
type recordDecoder struct {
	rest  []byte
	t     int64 // of the last record
	first bool  // none was read yet
}

func (d *recordDecoder) next(lastT int64) ([]byte, error) {
	size, n := uvarint(d.rest)
	if n == 0 {
		return nil, damaged(0, "a record is longer than its block")
	}
	delta, m := uvarint(d.rest[n:])
	n += m
	switch {
	case m == 0 || size > uint64(len(d.rest)-n):
		return nil, damaged(0, "a record is longer than its block")
	case delta > math.MaxInt64 || d.t > lastT-int64(delta) || d.first && delta != 0:
		return nil, damaged(0, "the time of a record is not possible there")
	}
	record := d.rest[n : n+int(size)]
	d.rest, d.t, d.first = d.rest[n+int(size):], d.t+int64(delta), false
	return record, nil
}

// inBlock says where in the file err was found: rest is what was left of b's
// payload.
func (w *worker) inBlock(b *block, payload, rest []byte, err error) error {
	return w.r.damage(b.at+blockHeaderBytes+int64(len(payload)-len(rest)), err)
}
