// Package resp is an incremental request parser and a reply writer for RESP2
// and RESP3. Bytes in, bytes out: no I/O, no clock, no state beyond one
// request.
//
// It promises that a request gives the same arguments or the same protocol
// error however its bytes are split (Redis's answers, with its limits), that
// parsing costs time linear in the bytes, and that what a Parser holds is
// proportional to the bytes it was given, never to what they declare (I12).
// It assumes that the caller keeps an unfinished request's bytes and hands
// them in again from their first. It never copies an argument.
package resp

// Limits bound what a request may declare. Changed on authentication and by
// CONFIG SET; what is already accepted of a request stays accepted. A zero
// means Redis's default.
type Limits struct {
	MaxArgs      int64 // multibulk count; default 2^31-1
	MaxBulkBytes int64 // proto-max-bulk-len; default 512 MB
	// Unauthenticated caps the two at 10 and 16384, with errors that say so.
	Unauthenticated bool
}

const (
	defaultMaxArgs      = 1<<31 - 1
	defaultMaxBulkBytes = 512 << 20

	unauthenticatedMaxArgs      = 10
	unauthenticatedMaxBulkBytes = 16384

	// maxLineBytes is how far the end of an inline request or of a length
	// line may be from its beginning.
	maxLineBytes = 64 << 10
)

// ProtocolError is the text after "Protocol error: "; the connection is
// answered with it and closed.
type ProtocolError string

func (e ProtocolError) Error() string { return "Protocol error: " + string(e) }

// The protocol errors; "expected '$', got 'X'" is made where it happens.
const (
	errBigInline     ProtocolError = "too big inline request"
	errQuotes        ProtocolError = "unbalanced quotes in request"
	errBigCount      ProtocolError = "too big mbulk count string"
	errCount         ProtocolError = "invalid multibulk length"
	errUnauthCount   ProtocolError = "unauthenticated multibulk length"
	errBigBulkLength ProtocolError = "too big bulk count string"
	errBulkLength    ProtocolError = "invalid bulk length"
	errUnauthBulk    ProtocolError = "unauthenticated bulk length"
)

// checkCount judges a multibulk count.
func (l *Limits) checkCount(n int64) error {
	maxArgs := l.MaxArgs
	if maxArgs == 0 {
		maxArgs = defaultMaxArgs
	}
	if l.Unauthenticated {
		return checkCapped(n, maxArgs, unauthenticatedMaxArgs, errCount, errUnauthCount)
	}
	if n > maxArgs {
		return errCount
	}
	return nil
}

// maxBulk is the longest bulk string anybody may send.
func (l *Limits) maxBulk() int64 {
	if l.MaxBulkBytes == 0 {
		return defaultMaxBulkBytes
	}
	return l.MaxBulkBytes
}

// checkBulk judges the length of a bulk string.
func (l *Limits) checkBulk(n int64) error {
	maxBulk := l.maxBulk()
	if n < 0 {
		return errBulkLength
	}
	if l.Unauthenticated {
		return checkCapped(n, maxBulk, unauthenticatedMaxBulkBytes, errBulkLength, errUnauthBulk)
	}
	if n > maxBulk {
		return errBulkLength
	}
	return nil
}

// checkCapped is the case of a client that has not authenticated: over the
// general limit is invalid for anybody, over the cap only for it.
func checkCapped(n, limit, unauthenticated int64, invalid, refused ProtocolError) error {
	switch {
	case limit > unauthenticated && n > limit:
		return invalid
	case n > min(limit, unauthenticated):
		return refused
	}
	return nil
}
