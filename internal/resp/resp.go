// Package resp is an incremental request parser and a reply writer for RESP2
// and RESP3. Bytes in, bytes out: no I/O.
package resp

// Limits bound what a request may declare. Changed on authentication and by
// CONFIG SET.
type Limits struct {
	MaxArgs         int64 // multibulk count: 2^31-1, 10 before authentication
	MaxBulkBytes    int64 // proto-max-bulk-len, 16384 before authentication
	Unauthenticated bool  // which error text the two above get
}

// ProtocolError is the text after "Protocol error: "; the connection is
// answered with it and closed.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// Parser reads requests incrementally: scanning resumes where it stopped, so
// a request that arrives in pieces costs linear time, and what it reserves is
// proportional to the bytes received (I12).
type Parser struct {
	Limits Limits
}

// Next parses one request from buf, which starts at that request's first byte
// on every call until it is complete (the bytes may have moved, more may have
// been appended). It returns the bytes consumed, 0 when more are needed.
// Afterwards Args holds the arguments, borrowed from buf; an empty request
// (blank line, *0, *-1) is consumed with no Args. err is a ProtocolError.
func (p *Parser) Next(buf []byte) (n int, err error) { panic("unwritten") }

// Args are the arguments of the last complete request, valid until Next.
func (p *Parser) Args() [][]byte { panic("unwritten") }

// Want is how long buf must at least become for the present request to make
// progress (0 when unknown), so that the reader can grow its buffer towards a
// declared bulk as its bytes arrive.
func (p *Parser) Want() int { panic("unwritten") }

// InBulk is true while the parser waits within a bulk string of the present request.
func (p *Parser) InBulk() bool { panic("unwritten") }

// Writer appends replies to Buf in the protocol version Proto (2 or 3). The
// zero value speaks RESP2. Maps, sets, nulls, doubles, booleans, verbatim
// strings and pushes are written as Redis writes them in either version.
type Writer struct {
	Buf   []byte
	Proto int
}

func (w *Writer) Simple(s string)           { panic("unwritten") } // +OK
func (w *Writer) Error(s string)            { panic("unwritten") } // -ERR ...; line breaks become spaces
func (w *Writer) Int(n int64)               { panic("unwritten") }
func (w *Writer) Bulk(b []byte)             { panic("unwritten") }
func (w *Writer) BulkString(s string)       { panic("unwritten") }
func (w *Writer) Null()                     { panic("unwritten") } // $-1 or _
func (w *Writer) NullArray()                { panic("unwritten") } // *-1 or _
func (w *Writer) Array(n int)               { panic("unwritten") }
func (w *Writer) Map(pairs int)             { panic("unwritten") } // *2n or %n
func (w *Writer) Set(n int)                 { panic("unwritten") } // *n or ~n
func (w *Writer) Push(n int)                { panic("unwritten") } // *n or >n
func (w *Writer) Double(f float64)          { panic("unwritten") } // bulk or ,f
func (w *Writer) Bool(b bool)               { panic("unwritten") } // :0/:1 or #f/#t
func (w *Writer) Verbatim(format, s string) { panic("unwritten") } // bulk or =
func (w *Writer) Raw(b []byte)              { panic("unwritten") }
