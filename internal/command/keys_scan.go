package command

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/hapaxkv/hapax/internal/shard"
)

// KEYS and SCAN learn how many keys they found only after they wrote them:
// the keys go to the reply at once and the header is inserted in front.

// insertHeader puts what write appends to c.Out in front of c.Out.Buf[mark:].
func insertHeader(c *Ctx, mark int, write func()) {
	end := len(c.Out.Buf)
	write()
	c.Scratch = append(c.Scratch[:0], c.Out.Buf[end:]...)
	c.Out.Buf = slices.Insert(c.Out.Buf[:end], mark, c.Scratch...)
}

// matchAll is the pattern that needs no matching.
var matchAll = []byte("*")

// keys lists everything in one walk. It has every shard locked, so that it
// sees one moment: a key that RENAME moves is there once, under either name.
func keys(c *Ctx) error {
	pattern := c.Args[1]
	all := bytes.Equal(pattern, matchAll)
	mark, n := len(c.Out.Buf), 0
	emit := func(key []byte, _ shard.Value) {
		if all || Match(pattern, key) {
			c.Out.Bulk(key)
			n++
		}
	}
	for cursor := uint64(0); ; {
		if cursor = c.Tx.Scan(cursor, keysStep, emit); cursor == 0 {
			break
		}
	}
	insertHeader(c, mark, func() { c.Out.Array(n) })
	return nil
}

// keysStep is how many entries KEYS visits a call.
const keysStep = 1 << 20

// scanOptions is what SCAN's arguments say.
type scanOptions struct {
	cursor  uint64
	count   int
	pattern []byte // nil for all
	typ     []byte // nil for all; a word that names no type matches nothing
}

// scanDefaultCount is how many keys a call aims at without COUNT.
const scanDefaultCount = 10

// scanMaxCount keeps sums of counts from overflowing; no store is larger.
const scanMaxCount = math.MaxInt32

func scanArgs(args [][]byte) (scanOptions, error) {
	o := scanOptions{count: scanDefaultCount}
	var ok bool
	if o.cursor, ok = parseCursor(args[1]); !ok {
		return o, Error("ERR invalid cursor")
	}
	for i := 2; i < len(args); i += 2 {
		if i+1 == len(args) {
			return o, ErrSyntax
		}
		value := args[i+1]
		switch {
		case Is(args[i], "count"):
			n, err := IntArg(value)
			if err != nil {
				return o, err
			}
			if n < 1 {
				return o, ErrSyntax
			}
			o.count = int(min(n, scanMaxCount))
		case Is(args[i], "match"):
			o.pattern = value
			if bytes.Equal(value, matchAll) {
				o.pattern = nil
			}
		case Is(args[i], "type"):
			o.typ = value
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}

// parseCursor reads a cursor as C's strtoul does, which is what clients' code
// was tried against: a sign is allowed, a minus counts from the end of the
// range, nothing at all is 0.
func parseCursor(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, true
	}
	digits, negative := b, b[0] == '-'
	if negative || b[0] == '+' {
		digits = b[1:]
	}
	if len(digits) == 0 {
		return 0, false
	}
	n, ok := parseDigits(digits)
	if !ok {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

func scan(c *Ctx) error {
	o, err := scanArgs(c.Args)
	if err != nil {
		return err
	}
	mark, n := len(c.Out.Buf), 0
	next := c.Tx.Scan(o.cursor, o.count, func(key []byte, v shard.Value) {
		if o.pattern != nil && !Match(o.pattern, key) || o.typ != nil && !Is(o.typ, typeName(v.Type)) {
			return
		}
		c.Out.Bulk(key)
		n++
	})
	insertHeader(c, mark, func() {
		var digits [20]byte
		c.Out.Array(2)
		c.Out.Bulk(strconv.AppendUint(digits[:0], next, 10))
		c.Out.Array(n)
	})
	return nil
}
