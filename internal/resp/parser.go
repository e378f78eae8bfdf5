package resp

import (
	"bytes"
	"math"
)

// Parser reads requests incrementally: scanning resumes where it stopped, so
// a request that arrives in pieces costs linear time, and what it reserves is
// proportional to the bytes received (I12). The zero value is ready.
//
// Its state is offsets from the request's first byte, because the bytes may
// move between calls:
//
//  1. the first byte tells an array (*) from an inline request;
//  2. of an array, at is where the next length line or bulk begins, count how
//     many arguments it declares, left how many are not read yet;
//  3. within a length line or an inline request, scanned is where the search
//     for its end goes on;
//  4. arguments are collected by a second walk over the length lines once all
//     is there, which needs no list of where they were. Between calls a parser
//     holds no memory.
//
// A usual request that is there whole takes a short way that keeps no state:
// with it a GET costs half.
type Parser struct {
	Limits Limits

	args [][]byte // the caller's, during Next
	base int      // of args: where the present request's begin

	started bool  // a part of the present request was seen by an earlier call
	at      int   // 2.
	scanned int   // 3.
	first   int   // where the first argument's length line begins
	count   int64 // 0 before the count is known
	left    int64
	bulk    int64 // length of the bulk that at points to
	inBulk  bool
}

// Next parses one request from buf, which starts at that request's first byte
// on every call until it is complete (the bytes may have moved, more may have
// been appended). It returns the bytes consumed, 0 when more are needed, and
// args with this request's arguments behind it, which borrow from buf; so that
// a caller keeps those of a pipeline in one list. An empty request (blank line,
// *0, *-1) is consumed and has none. An inline request with quotes is unquoted
// within buf. err is a ProtocolError.
func (p *Parser) Next(args [][]byte, buf []byte) (all [][]byte, n int, err error) {
	p.args, p.base = args, len(args)
	n, err = p.next(buf)
	all, p.args = p.args, nil
	return all, n, err
}

func (p *Parser) next(buf []byte) (n int, err error) {
	if len(buf) == 0 {
		return 0, nil
	}
	switch {
	case buf[0] != '*':
		n, err = p.inline(buf)
	case !p.started && !p.Limits.Unauthenticated:
		if n = p.whole(buf); n > 0 {
			return n, nil
		}
		p.args = p.args[:p.base]
		n, err = p.array(buf)
	default:
		n, err = p.array(buf)
	}
	if n > 0 {
		p.restart()
		return n, nil
	}
	p.args = p.args[:p.base]
	p.started = true
	if err != nil {
		p.restart()
	}
	return 0, err
}

// Want is how long buf must at least become for the present request to make
// progress (0 when unknown), so that the reader can grow its buffer towards a
// declared bulk as its bytes arrive.
func (p *Parser) Want() int {
	if !p.inBulk {
		return 0
	}
	if p.bulk > math.MaxInt-int64(p.at)-2 {
		return math.MaxInt
	}
	return p.at + int(p.bulk) + 2
}

// InBulk is true while the parser waits within a bulk string of the present request.
func (p *Parser) InBulk() bool { return p.inBulk }

// Reset forgets an unfinished request, whose bytes will be given in again from
// an earlier place.
func (p *Parser) Reset() { p.restart() }

// restart makes the parser ready for the next request's first byte.
func (p *Parser) restart() {
	p.started, p.inBulk = false, false
	p.at, p.scanned, p.first = 0, 0, 0
	p.count, p.left, p.bulk = 0, 0, 0
}

// whole reads an array that is complete in buf and in which every length is of
// the short form and within the limits. 0 when it is anything else.
func (p *Parser) whole(buf []byte) (n int) {
	count, at := shortLength(buf, 1)
	if at == 0 || count == 0 || p.Limits.checkCount(count) != nil {
		return 0
	}
	maxBulk := p.Limits.maxBulk()
	args := p.args
	for range count {
		if at >= len(buf) || buf[at] != '$' {
			break
		}
		bulk, begin := shortLength(buf, at+1)
		if begin == 0 || bulk > maxBulk || int64(len(buf)-begin-2) < bulk {
			break
		}
		end := begin + int(bulk)
		args = append(args, buf[begin:end:end])
		at = end + 2
	}
	p.args = args
	if int64(len(args)-p.base) < count {
		return 0
	}
	return at
}

// array goes on with a request of the form *count, then count times $length
// and bytes.
func (p *Parser) array(buf []byte) (n int, err error) {
	if p.count == 0 {
		count, ok, err := p.length(buf, errBigCount, errCount)
		if !ok || err != nil {
			return 0, err
		}
		if err := p.Limits.checkCount(count); err != nil {
			return 0, err
		}
		if count <= 0 {
			return p.at, nil
		}
		p.count, p.left, p.first = count, count, p.at
	}
	for p.left > 0 {
		if !p.inBulk {
			ok, err := p.bulkLength(buf)
			if !ok || err != nil {
				return 0, err
			}
		}
		if int64(len(buf)-p.at-2) < p.bulk {
			return 0, nil
		}
		// The two bytes after a bulk are its line end; like Redis, nobody looks.
		p.at += int(p.bulk) + 2
		p.scanned = p.at
		p.inBulk = false
		p.left--
	}
	p.collect(buf)
	return p.at, nil
}

// bulkLength reads the line $length; false when it is not all there.
func (p *Parser) bulkLength(buf []byte) (ok bool, err error) {
	kind := p.at
	n, ok, err := p.length(buf, errBigBulkLength, errBulkLength)
	if ok || err == errBulkLength {
		if c := buf[kind]; c != '$' {
			return false, ProtocolError("expected '$', got '" + string([]byte{c}) + "'")
		}
	}
	if !ok || err != nil {
		return false, err
	}
	if err := p.Limits.checkBulk(n); err != nil {
		return false, err
	}
	p.bulk, p.inBulk = n, true
	return true, nil
}

// length reads the line at p.at: a byte for its kind, an integer, CR and one
// byte more, which need not be LF. Then at is behind it. false when it is not
// all there; tooBig when it does not end in time, invalid when it holds
// something else.
func (p *Parser) length(buf []byte, tooBig, invalid ProtocolError) (n int64, ok bool, err error) {
	if n, next := shortLength(buf, p.at+1); next > 0 {
		p.at, p.scanned = next, next
		return n, true, nil
	}
	cr, err := p.find(buf, '\r', tooBig)
	if cr < 0 || err != nil {
		return 0, false, err
	}
	if cr+1 >= len(buf) {
		return 0, false, nil
	}
	n, ok = parseInteger(buf[min(p.at+1, cr):cr])
	if !ok {
		return 0, false, invalid
	}
	p.at, p.scanned = cr+2, cr+2
	return n, true, nil
}

// find looks for the end of the line at p.at, from where the last call
// stopped: -1 when it is not there yet, tooBig when it must have come.
func (p *Parser) find(buf []byte, end byte, tooBig ProtocolError) (at int, err error) {
	limit := min(len(buf), p.at+maxLineBytes+1)
	if i := bytes.IndexByte(buf[p.scanned:limit], end); i >= 0 {
		p.scanned += i
		return p.scanned, nil
	}
	p.scanned = limit
	if limit-p.at > maxLineBytes {
		return -1, tooBig
	}
	return -1, nil
}

// collect walks the length lines of a complete, valid array once more.
func (p *Parser) collect(buf []byte) {
	at := p.first
	for range p.count {
		n, next := shortLength(buf, at+1)
		if next == 0 {
			// Too long for the short form, yet valid when it was first read.
			cr := at + bytes.IndexByte(buf[at:], '\r')
			n, _ = parseInteger(buf[at+1 : cr])
			next = cr + 2
		}
		end := next + int(n)
		p.args = append(p.args, buf[next:end:end])
		at = end + 2
	}
}

// shortDigits bounds the numbers that shortLength reads: 999,999,999.
const shortDigits = 9

// shortLength reads the usual length: few digits, CR and one byte more from
// buf[at:]. next is behind them, or 0 when the line is anything else, or not
// all there.
func shortLength(buf []byte, at int) (n int64, next int) {
	if at >= len(buf) {
		return 0, 0
	}
	b := buf[at:]
	for i, c := range b[:min(len(b), shortDigits+1)] {
		if c == '\r' {
			if i == 0 || i+1 >= len(b) || i > 1 && b[0] == '0' {
				return 0, 0
			}
			return n, at + i + 2
		}
		digit := c - '0'
		if digit > 9 {
			return 0, 0
		}
		n = n*10 + int64(digit)
	}
	return 0, 0
}

// parseInteger reads a 64-bit integer as strictly as Redis does: no plus, no
// leading zero, no minus zero, nothing around it.
func parseInteger(b []byte) (n int64, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	digits := b
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 19 || digits[0] == '0' && len(b) > 1 {
		return 0, false
	}
	var u uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		u = u*10 + uint64(c-'0')
	}
	switch {
	case negative && u <= 1<<63:
		return -int64(u), true
	case !negative && u <= math.MaxInt64:
		return int64(u), true
	}
	return 0, false
}
