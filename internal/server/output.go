package server

import (
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/wal"
)

// What a session has to send is a stream: the bytes of out, and between them
// the pieces that the store lent, which lie where they are stored. sent, upTo
// and mark are places in that stream. Bytes that left and pieces that left are
// dropped from its beginning, and the places counted anew. Limits count lent
// bytes like others, though they cost no memory while their keys live.
//
// Without lent pieces the stream is out, and that is all there is to it.

// keptPieces bounds the room for pieces that a session keeps between replies.
const keptPieces = 16

// total is the length of the stream.
func (s *Session) total() int { return len(s.out) + s.lentBytes }

// unsent is how many bytes of replies are still here.
func (s *Session) unsent() int { return s.total() - s.sent }

// releasable is how much may leave now (I5). While replies keep coming that are
// not durable yet, those up to a mark leave as soon as what the mark observed
// is, so that a client that never pauses is not starved.
func (s *Session) releasable(durable wal.LSN) int {
	switch {
	case s.need <= durable:
		s.upTo = s.total()
		s.mark, s.markLSN = s.upTo, s.need
	case s.markLSN <= durable:
		s.upTo = s.mark
		s.mark, s.markLSN = s.total(), s.need
	}
	return s.upTo - s.sent
}

// waitsForLog says whether something of this session goes on only when more
// of the log is durable.
func (s *Session) waitsForLog(durable wal.LSN) bool {
	return s.need > durable && (s.total() > s.upTo || s.stop == stopBarrier)
}

// lends says whether some of the stream is lent.
func (s *Session) lends() bool { return s.piecesLeft < len(s.pieces) }

// front is the beginning of what may leave, of a session that lends nothing.
func (s *Session) front(limitBytes int) []byte {
	return s.out[s.sent:min(s.upTo, s.sent+limitBytes)]
}

// maxParts is how many parts one write has at most; systems take 1,024.
const maxParts = 64

// appendFront appends the parts that the beginning of what may leave consists
// of, and says how long they are together.
func (s *Session) appendFront(parts [][]byte, limitBytes int) ([][]byte, int) {
	c := cutter{parts: parts, from: s.sent, to: min(s.upTo, s.sent+limitBytes)}
	from := 0
	for i := s.piecesLeft; i < len(s.pieces) && c.more(); i++ {
		p := &s.pieces[i]
		c.add(s.out[from:p.At])
		c.add(p.Bytes)
		from = p.At
	}
	c.add(s.out[from:])
	return c.parts, c.bytes
}

// cutter cuts what lies between two places out of a stream that it is given
// piece by piece.
type cutter struct {
	parts    [][]byte
	bytes    int // of parts
	at       int // place of what is added next
	from, to int
}

func (c *cutter) more() bool { return c.at < c.to && len(c.parts) < maxParts }

func (c *cutter) add(b []byte) {
	first, last := max(c.from-c.at, 0), min(c.to-c.at, len(b))
	if first < last && len(c.parts) < maxParts {
		c.parts = append(c.parts, b[first:last])
		c.bytes += last - first
	}
	c.at += len(b)
}

// compactBytes is how much sent output a session carries along at most.
const compactBytes = 64 << 10

// left records that n bytes of releasable output are gone.
func (s *Session) left(b *bufferStack, n int) {
	s.sent += n
	if s.lends() {
		s.returnSent()
	}
	if s.sent == s.total() {
		s.dropOutput(b)
		return
	}
	gone := s.sent
	if s.lends() {
		gone = min(gone, s.pieces[s.piecesLeft].At)
	}
	if gone >= compactBytes && gone > len(s.out)/2 {
		s.out = s.out[:copy(s.out, s.out[gone:])]
		s.mark, s.upTo, s.sent = s.mark-gone, s.upTo-gone, s.sent-gone
		for i := s.piecesLeft; i < len(s.pieces); i++ {
			s.pieces[i].At -= gone
		}
	}
}

// returnSent gives lent pieces back that have left altogether. All others come
// behind them in the stream, and so do upTo and mark.
func (s *Session) returnSent() {
	for ; s.lends(); s.piecesLeft++ {
		p := &s.pieces[s.piecesLeft]
		size := len(p.Bytes)
		if s.sent < p.At+size {
			break
		}
		s.mark, s.upTo, s.sent = s.mark-size, s.upTo-size, s.sent-size
		s.lentBytes -= size
		giveBack(p)
	}
	// A stream that never gets empty must not carry along what has left (I12).
	if n := s.piecesLeft; n > keptPieces && n > len(s.pieces)/2 {
		rest := copy(s.pieces, s.pieces[n:])
		clear(s.pieces[rest:])
		s.pieces, s.piecesLeft = s.pieces[:rest], 0
	}
}

func giveBack(p *resp.Piece) {
	p.Lender.Return(p.Token)
	*p = resp.Piece{}
}

// dropOutput forgets the stream, sent or not.
func (s *Session) dropOutput(b *bufferStack) {
	b.give(s.out)
	s.out, s.sent, s.upTo, s.mark, s.markLSN = nil, 0, 0, 0, 0
	if s.pieces == nil {
		return
	}
	for ; s.lends(); s.piecesLeft++ {
		giveBack(&s.pieces[s.piecesLeft])
	}
	s.pieces, s.piecesLeft, s.lentBytes = s.pieces[:0], 0, 0
	if cap(s.pieces) > keptPieces {
		s.pieces = nil
	}
}
