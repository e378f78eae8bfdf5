package op

import (
	"encoding/binary"
	"strconv"
)

// The byte after a Put's database: type in the low three bits, then Raw.
const (
	metaType = 0x07
	metaRaw  = 0x08
)

// Append encodes o to dst. Fields that o.Code does not use are ignored. It
// panics on an opcode that is not in the registry: that is a bug, and a record
// that recovery would refuse must not reach the log.
func Append(dst []byte, o *Op) []byte {
	dst = append(dst, byte(o.Code))
	switch o.Code {
	case Put:
		dst = appendDB(dst, o.DB)
		meta := o.Type & metaType
		if o.Raw {
			meta |= metaRaw
		}
		dst = append(dst, meta)
		dst = binary.AppendUvarint(dst, uint64(o.DeadlineMilli))
		dst = appendBytes(dst, o.Key)
		return appendBytes(dst, o.Value)
	case IdempotencyPut:
		dst = appendDB(dst, o.DB)
		dst = binary.AppendUvarint(dst, uint64(o.DeadlineMilli))
		dst = appendBytes(dst, o.Key)
		return appendBytes(dst, o.Value)
	case Delete:
		dst = appendDB(dst, o.DB)
		return appendBytes(dst, o.Key)
	case SetDeadline:
		dst = appendDB(dst, o.DB)
		dst = binary.AppendUvarint(dst, uint64(o.DeadlineMilli))
		return appendBytes(dst, o.Key)
	case Splice:
		dst = appendDB(dst, o.DB)
		dst = binary.AppendUvarint(dst, uint64(o.Offset))
		dst = appendBytes(dst, o.Key)
		return appendBytes(dst, o.Value)
	case FlushDB:
		return appendDB(dst, o.DB)
	case SwapDB:
		return appendDB(appendDB(dst, o.DB), o.DB2)
	case FlushAll, Tick:
		return dst
	}
	panic("op: opcode " + strconv.Itoa(int(o.Code)) + " is not in the registry")
}

func appendDB(dst []byte, db int) []byte { return binary.AppendUvarint(dst, uint64(db)) }

func appendBytes(dst, b []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}
