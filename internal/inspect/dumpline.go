package inspect

import (
	"fmt"
	"strconv"

	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/op"
)

// AppendLine adds an item as one line of text. At most valueBytes of a value
// are shown, all when it is negative. Bytes that are no printable UTF-8 are
// written as Go writes them: \x00.
func AppendLine(dst []byte, it *Item, valueBytes int) []byte {
	o := it.Op
	if it.LSN > 0 {
		dst = fmt.Appendf(dst, "%d %s ", it.LSN, milliTime(it.TMilli))
	} else {
		dst = append(dst, "snapshot "...)
	}
	dst = append(dst, CodeName(o.Code)...)
	switch o.Code {
	case op.Tick, op.FlushAll:
		return append(dst, '\n')
	case op.FlushDB:
		return fmt.Appendf(dst, " db=%d\n", o.DB)
	case op.SwapDB:
		return fmt.Appendf(dst, " db=%d with=%d\n", o.DB, o.DB2)
	}
	dst = fmt.Appendf(dst, " db=%d key=", o.DB)
	dst = strconv.AppendQuote(dst, string(o.Key))
	switch o.Code {
	case op.Put, op.IdempotencyPut:
		dst = appendPutLine(dst, o, valueBytes)
	case op.Splice:
		dst = fmt.Appendf(dst, " offset=%d", o.Offset)
		dst = appendValue(dst, "value", o.Value, valueBytes)
	case op.SetDeadline:
		dst = appendDeadline(dst, o.DeadlineMilli)
	}
	return append(dst, '\n')
}

func appendPutLine(dst []byte, o *op.Op, valueBytes int) []byte {
	dst = appendDeadline(dst, o.DeadlineMilli)
	r, err := idem.Decode(o.Value)
	if err != nil {
		return appendValue(dst, "value", o.Value, valueBytes)
	}
	dst = fmt.Appendf(dst, " idem=%s fingerprint=", stateName(r.State))
	dst = strconv.AppendQuote(dst, string(r.Fingerprint))
	dst = append(dst, " owner="...)
	dst = strconv.AppendQuote(dst, string(r.Owner))
	if r.State == idem.Completed {
		dst = appendValue(dst, "result", r.Result, valueBytes)
	}
	return dst
}

func appendValue(dst []byte, name string, value []byte, valueBytes int) []byte {
	dst = fmt.Appendf(dst, " %s=", name)
	shown := cut(value, valueBytes)
	dst = strconv.AppendQuote(dst, string(shown))
	if len(shown) < len(value) {
		dst = append(dst, "..."...)
	}
	return fmt.Appendf(dst, " bytes=%d", len(value))
}

func appendDeadline(dst []byte, milli int64) []byte {
	if milli == 0 {
		return append(dst, " deadline=none"...)
	}
	return fmt.Appendf(dst, " deadline=%s (%d)", milliTime(milli), milli)
}

func stateName(s idem.State) string {
	if s == idem.Completed {
		return "completed"
	}
	return "pending"
}

// cut is the first n bytes of b; all when n is negative.
func cut(b []byte, n int) []byte {
	if n < 0 || n >= len(b) {
		return b
	}
	return b[:n]
}
