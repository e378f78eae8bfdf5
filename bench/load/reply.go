package load

import (
	"bytes"
	"fmt"
)

// Reply is what a script sees of a reply: enough to tell whether it is the one
// that was expected. The bytes of large values are counted, not kept.
type Reply struct {
	Kind  byte   // of the reply itself: + - : $ *
	Head  []byte // begin of the first string or number in it; nil for null
	Bytes int    // of all bulk strings in it
}

// headBytes is how much of the first string or number is kept.
const headBytes = 48

// reader takes replies apart as they come, in pieces cut anywhere. It knows
// RESP2, which is what a connection speaks that has said nothing else.
type reader struct {
	reply Reply
	head  [headBytes]byte
	need  int // elements that this reply still lacks; 0: a new one begins
	skip  int // bytes of a bulk string and its line end that are still to come
	// filling is on while the head's bulk string comes in; its line end is
	// never in it.
	filling int
	line    [headBytes]byte // a line that has begun
	lineLen int
	longer  bool // the line has more than is kept
}

// next goes on with what has arrived. It returns what is behind the end of a
// reply, and whether there was one; r.reply is then valid until the next call.
func (r *reader) next(b []byte) (rest []byte, done bool, err error) {
	for len(b) > 0 {
		if r.skip > 0 {
			if b = r.body(b); r.skip > 0 {
				return nil, false, nil
			}
		} else {
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				r.keep(b)
				return nil, false, nil
			}
			line := b[:end+1]
			if r.lineLen > 0 {
				r.keep(line)
				line = r.line[:r.lineLen]
			}
			b = b[end+1:]
			if err := r.element(line); err != nil {
				return nil, false, err
			}
			r.lineLen, r.longer = 0, false
			if r.skip > 0 {
				continue
			}
		}
		if r.need == 0 {
			return b, true, nil
		}
	}
	return nil, false, nil
}

// keep remembers a line that isn't whole. What is past the buffer is text that
// nobody compares.
func (r *reader) keep(part []byte) {
	n := copy(r.line[r.lineLen:], part)
	r.lineLen += n
	if n < len(part) {
		r.longer = true
	}
}

// body takes bytes of a bulk string.
func (r *reader) body(b []byte) []byte {
	n := min(r.skip, len(b))
	if r.filling > 0 {
		k := min(r.filling, n)
		r.reply.Head = append(r.reply.Head, b[:k]...) // has the room: see element
		r.filling -= k
	}
	r.skip -= n
	if r.skip == 0 {
		r.need--
	}
	return b[n:]
}

// element is a line: a whole scalar, or the length of what follows.
func (r *reader) element(line []byte) error {
	text := bytes.TrimRight(line[min(1, len(line)):], "\r\n")
	first := r.need == 0
	if first {
		r.need = 1
		r.reply = Reply{Kind: line[0]}
	}
	switch line[0] {
	case '+', '-', ':':
		if r.reply.Head == nil {
			r.reply.Head = append(r.head[:0], text[:min(len(text), headBytes)]...)
		}
		r.need--
	case '$':
		n, ok := length(text)
		if !ok || r.longer {
			return fmt.Errorf("no length of a bulk string: %q", line)
		}
		if n < 0 {
			r.need--
			return nil
		}
		if r.reply.Head == nil {
			r.reply.Head = r.head[:0]
			r.filling = min(n, headBytes)
		}
		r.reply.Bytes += n
		r.skip = n + len("\r\n")
	case '*':
		n, ok := length(text)
		if !ok || r.longer {
			return fmt.Errorf("no length of an array: %q", line)
		}
		r.need += max(n, 0) - 1
	default:
		return fmt.Errorf("no reply begins like this: %q", line)
	}
	return nil
}

// length reads a decimal, -1 for null.
func length(text []byte) (int, bool) {
	if string(text) == "-1" {
		return -1, true
	}
	if len(text) == 0 || len(text) > 10 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
