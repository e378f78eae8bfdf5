package script

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Reply is one decoded reply of either protocol.
type Reply struct {
	Type  byte // the type byte on the wire: + - : $ * % ~ > _ , # = (
	Null  bool // $-1, *-1 or _
	Text  []byte
	Int   int64
	Items []Reply // of a map: key, value, key, value
}

// maxReplyBytes bounds what a length on the wire can make the reader reserve.
const maxReplyBytes = 1 << 30

var errWire = errors.New("not a reply")

// ReadReply reads one reply.
func ReadReply(r *bufio.Reader) (Reply, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return Reply{}, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return Reply{}, fmt.Errorf("%w: %q", errWire, line)
	}
	rep := Reply{Type: line[0]}
	body := line[1 : len(line)-2]
	switch rep.Type {
	case '+', '-', ',', '(', '#':
		rep.Text = []byte(body)
		return rep, nil
	case '_':
		rep.Null = true
		return rep, nil
	case ':', '$', '=', '*', '%', '~', '>':
		rep.Int, err = strconv.ParseInt(body, 10, 64)
		if err != nil {
			return rep, fmt.Errorf("%w: %q", errWire, line)
		}
	default:
		return rep, fmt.Errorf("%w: %q", errWire, line)
	}
	return readBody(r, rep)
}

// readBody reads what follows the length in rep.Int.
func readBody(r *bufio.Reader, rep Reply) (Reply, error) {
	n := rep.Int
	if rep.Type == ':' {
		return rep, nil
	}
	rep.Int = 0
	if n == -1 && (rep.Type == '$' || rep.Type == '*') {
		rep.Null = true
		return rep, nil
	}
	if n < 0 || n > maxReplyBytes {
		return rep, fmt.Errorf("%w: length %d", errWire, n)
	}
	if rep.Type == '$' || rep.Type == '=' {
		return readText(r, rep, n)
	}
	if rep.Type == '%' {
		n *= 2
	}
	for range n {
		item, err := ReadReply(r)
		if err != nil {
			return rep, err
		}
		rep.Items = append(rep.Items, item)
	}
	return rep, nil
}

func readText(r *bufio.Reader, rep Reply, n int64) (Reply, error) {
	rep.Text = make([]byte, n)
	if _, err := io.ReadFull(r, rep.Text); err != nil {
		return rep, err
	}
	var end [2]byte
	if _, err := io.ReadFull(r, end[:]); err != nil {
		return rep, err
	}
	if end != [2]byte{'\r', '\n'} {
		return rep, fmt.Errorf("%w: a bulk string without its end", errWire)
	}
	return rep, nil
}

// String shows a reply in the notation of the scripts.
func (r Reply) String() string {
	if r.Null {
		if r.Type == '*' {
			return "nil[]"
		}
		return "nil"
	}
	switch r.Type {
	case '+':
		return "+" + string(r.Text)
	case '-':
		return "-" + string(r.Text)
	case ':':
		return strconv.FormatInt(r.Int, 10)
	case '$':
		return quote(r.Text)
	case '=':
		kind, text, _ := strings.Cut(string(r.Text), ":")
		return kind + ":" + quote([]byte(text))
	case ',':
		return string(r.Text) + "d"
	case '#':
		return "#" + string(r.Text)
	case '%':
		return "{" + joinReplies(r.Items) + "}"
	case '~':
		return "~[" + joinReplies(r.Items) + "]"
	case '>':
		return "push[" + joinReplies(r.Items) + "]"
	case '*':
		return "[" + joinReplies(r.Items) + "]"
	}
	return fmt.Sprintf("%c%s", r.Type, r.Text)
}

func joinReplies(items []Reply) string {
	var parts []string
	for _, it := range items {
		parts = append(parts, it.String())
	}
	return strings.Join(parts, " ")
}
