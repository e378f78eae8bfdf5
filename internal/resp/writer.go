package resp

import (
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// Writer appends replies to Buf in the protocol version Proto (2 or 3). The
// zero value speaks RESP2. Maps, sets, nulls, doubles, booleans, verbatim
// strings and pushes are written as Redis writes them in either version.
type Writer struct {
	Buf   []byte
	Proto int

	Pieces    []Piece // what is lent, in order of At
	LentBytes int     // of Pieces together
}

// Simple writes a status reply such as +OK.
func (w *Writer) Simple(s string) { w.Buf = redcon.AppendString(w.Buf, s) }

// Error writes an error reply; s starts with its code word. Line breaks
// around the text are dropped and those inside it become spaces, because an
// error echoes what clients sent and must stay one line.
func (w *Writer) Error(s string) {
	w.Buf = redcon.AppendError(w.Buf, strings.Trim(s, "\r\n"))
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.Buf = redcon.AppendInt(w.Buf, n) }

// Bulk writes a string of any bytes; nil is the empty string.
func (w *Writer) Bulk(b []byte) { w.Buf = redcon.AppendBulk(w.Buf, b) }

// BulkString is Bulk of a string.
func (w *Writer) BulkString(s string) { w.Buf = redcon.AppendBulkString(w.Buf, s) }

// Null writes the absent string: $-1, or _ in RESP3.
func (w *Writer) Null() {
	if w.Proto == 3 {
		w.Buf = append(w.Buf, "_\r\n"...)
		return
	}
	w.Buf = redcon.AppendNull(w.Buf)
}

// NullArray writes the absent array: *-1, or _ in RESP3.
func (w *Writer) NullArray() {
	if w.Proto == 3 {
		w.Buf = append(w.Buf, "_\r\n"...)
		return
	}
	w.Buf = redcon.AppendArray(w.Buf, -1)
}

// Array opens an array; its n elements follow.
func (w *Writer) Array(n int) { w.Buf = redcon.AppendArray(w.Buf, n) }

// Map opens a map of keys and values in turn; RESP2 has an array of both.
func (w *Writer) Map(pairs int) { w.aggregate('%', pairs, 2) }

// Set opens a set; RESP2 has an array.
func (w *Writer) Set(n int) { w.aggregate('~', n, 1) }

// Push opens an out-of-band message; RESP2 has an array.
func (w *Writer) Push(n int) { w.aggregate('>', n, 1) }

// aggregate writes the header of a RESP3 aggregate of n items, which RESP2
// replaces by an array of n*width.
func (w *Writer) aggregate(kind byte, n, width int) {
	if w.Proto != 3 {
		w.Buf = redcon.AppendArray(w.Buf, n*width)
		return
	}
	w.Buf = append(w.Buf, kind)
	w.Buf = strconv.AppendInt(w.Buf, int64(n), 10)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Double writes a floating point number: a bulk string in RESP2.
func (w *Writer) Double(f float64) {
	var text [maxDoubleBytes]byte
	digits := AppendDouble(text[:0], f)
	if w.Proto != 3 {
		w.Buf = redcon.AppendBulk(w.Buf, digits)
		return
	}
	w.Buf = append(w.Buf, ',')
	w.Buf = append(w.Buf, digits...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Bool writes a truth value: 0 or 1 in RESP2.
func (w *Writer) Bool(b bool) {
	text := ":0\r\n"
	switch {
	case w.Proto == 3 && b:
		text = "#t\r\n"
	case w.Proto == 3:
		text = "#f\r\n"
	case b:
		text = ":1\r\n"
	}
	w.Buf = append(w.Buf, text...)
}

// Verbatim writes text for people with its format, three letters such as
// "txt"; RESP2 has a bulk string without the format.
func (w *Writer) Verbatim(format, s string) {
	if w.Proto != 3 {
		w.BulkString(s)
		return
	}
	w.Buf = append(w.Buf, '=')
	w.Buf = strconv.AppendInt(w.Buf, int64(verbatimFormatBytes+1+len(s)), 10)
	w.Buf = append(w.Buf, '\r', '\n')
	for i := range verbatimFormatBytes {
		letter := byte(' ')
		if i < len(format) {
			letter = format[i]
		}
		w.Buf = append(w.Buf, letter)
	}
	w.Buf = append(w.Buf, ':')
	w.Buf = append(w.Buf, s...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Raw appends b, which is a reply already encoded.
func (w *Writer) Raw(b []byte) { w.Buf = append(w.Buf, b...) }

// verbatimFormatBytes is the fixed width of a verbatim string's format.
const verbatimFormatBytes = 3
