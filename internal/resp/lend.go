package resp

import "strconv"

// A large bulk string need not be copied into the reply: Lend notes where in
// the output its bytes belong, and whoever writes the output takes them from
// where they lie. Until they have left, or the reply is taken back, they are
// their lender's to keep as they are.

// Lender is told when its bytes are no longer needed, by the token it gave.
type Lender interface{ Return(token uint64) }

// Piece is lent bytes. They belong between Buf[:At] and Buf[At:].
type Piece struct {
	At     int
	Bytes  []byte
	Lender Lender
	Token  uint64
}

// Lend is Bulk of b without a copy.
func (w *Writer) Lend(b []byte, lender Lender, token uint64) {
	w.Buf = append(w.Buf, '$')
	w.Buf = strconv.AppendInt(w.Buf, int64(len(b)), 10)
	w.Buf = append(w.Buf, '\r', '\n')
	w.Pieces = append(w.Pieces, Piece{At: len(w.Buf), Bytes: b, Lender: lender, Token: token})
	w.LentBytes += len(b)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Len is how long the output is, with what is lent to it.
func (w *Writer) Len() int { return len(w.Buf) + w.LentBytes }

// Truncate takes everything back that was written since len(Buf) was n. The
// lenders are told, so the caller holds no lock of theirs.
func (w *Writer) Truncate(n int) {
	w.Buf = w.Buf[:n]
	for last := len(w.Pieces) - 1; last >= 0 && w.Pieces[last].At > n; last-- {
		p := &w.Pieces[last]
		w.LentBytes -= len(p.Bytes)
		p.Lender.Return(p.Token)
		*p = Piece{}
		w.Pieces = w.Pieces[:last]
	}
}
