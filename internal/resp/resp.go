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
