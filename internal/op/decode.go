package op

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Why a record is refused. Recovery stops at any of them (I7, I9).
var (
	errEmpty    = errors.New("op: empty record")
	errShort    = errors.New("op: record ends inside a field")
	errLong     = errors.New("op: bytes after the end of the record")
	errVarint   = errors.New("op: number is malformed, or longer than it needs to be")
	errDB       = errors.New("op: database number is out of range")
	errOffset   = errors.New("op: offset is out of range")
	errMeta     = errors.New("op: unknown flags")
	errDeadline = errors.New("op: IDEM record without a deadline")
)

// UnknownCodeError is what Decode returns for an opcode that is not in the
// registry: most likely the log was written by a newer version (I7).
type UnknownCodeError struct{ Code Code }

func (e *UnknownCodeError) Error() string {
	return fmt.Sprintf("op: unknown opcode %d: this log was written by a newer version of Hapax", e.Code)
}

// Decode reads exactly one record; o borrows from b. After an error o holds
// nothing of use.
func Decode(b []byte, o *Op) error {
	*o = Op{}
	if len(b) == 0 {
		return errEmpty
	}
	o.Code = Code(b[0])
	r := reader{b: b[1:]}
	switch o.Code {
	case Put:
		o.DB = r.db()
		o.Type, o.Raw = r.meta()
		o.DeadlineMilli = int64(r.uvarint())
		o.Key = r.bytes()
		o.Value = r.bytes()
	case IdempotencyPut:
		o.DB = r.db()
		o.DeadlineMilli = int64(r.uvarint())
		o.Key = r.bytes()
		o.Value = r.bytes()
		if o.DeadlineMilli == 0 {
			r.fail(errDeadline) // (I3)
		}
	case Delete:
		o.DB = r.db()
		o.Key = r.bytes()
	case SetDeadline:
		o.DB = r.db()
		o.DeadlineMilli = int64(r.uvarint())
		o.Key = r.bytes()
	case Splice:
		o.DB = r.db()
		o.Offset = r.offset()
		o.Key = r.bytes()
		o.Value = r.bytes()
	case FlushDB:
		o.DB = r.db()
	case SwapDB:
		o.DB = r.db()
		o.DB2 = r.db()
	case FlushAll, Tick:
	default:
		return &UnknownCodeError{o.Code}
	}
	if len(r.b) != 0 {
		r.fail(errLong)
	}
	return r.err
}

// reader takes fields off the front of b. After the first failure it yields
// zeros, so that a caller checks once, at the end.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	switch {
	case n == 0:
		r.fail(errShort)
		return 0
	case n < 0 || n > 1 && r.b[n-1] == 0: // one encoding per number
		r.fail(errVarint)
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) db() int {
	v := r.uvarint()
	if v > maxDB {
		r.fail(errDB)
		return 0
	}
	return int(v)
}

func (r *reader) offset() int64 {
	v := r.uvarint()
	if v > maxOffset {
		r.fail(errOffset)
		return 0
	}
	return int64(v)
}

func (r *reader) meta() (typ uint8, raw bool) {
	if len(r.b) == 0 {
		r.fail(errShort)
		return 0, false
	}
	m := r.b[0]
	if m&^(metaType|metaRaw) != 0 {
		r.fail(errMeta)
		return 0, false
	}
	r.b = r.b[1:]
	return m & metaType, m&metaRaw != 0
}

// bytes borrows; the declared length is compared with what is there before
// anything is done with it.
func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}
