package command

import (
	"math"

	"github.com/hapaxkv/hapax/internal/shard"
)

var (
	errLCSTypes  error = Error("ERR The specified keys must contain string values")
	errLCSBoth   error = Error("ERR If you want both the length and indexes, please just use IDX.")
	errLCSLong   error = Error("ERR String too long for LCS")
	errLCSMemory error = Error("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
)

// lcsOptions are LCS's.
type lcsOptions struct {
	onlyLength, ranges, withLength bool
	minLength                      int64
}

func parseLCS(args [][]byte) (o lcsOptions, err error) {
	for i := 0; i < len(args); i++ {
		switch {
		case Is(args[i], "idx"):
			o.ranges = true
		case Is(args[i], "len"):
			o.onlyLength = true
		case Is(args[i], "withmatchlen"):
			o.withLength = true
		case Is(args[i], "minmatchlen") && i+1 < len(args):
			i++
			if o.minLength, err = IntArg(args[i]); err != nil {
				return o, err
			}
		default:
			return o, ErrSyntax
		}
	}
	if o.ranges && o.onlyLength {
		return o, errLCSBoth
	}
	return o, nil
}

func lcs(c *Ctx) error {
	var a, b shard.Value
	if _, err := c.readString(&c.Keys[0], &a); err != nil {
		return errLCSTypes
	}
	if _, err := c.readString(&c.Keys[1], &b); err != nil {
		return errLCSTypes
	}
	o, err := parseLCS(c.Args[3:])
	if err != nil {
		return err
	}
	if err := c.lcsFits(len(a.Bytes), len(b.Bytes)); err != nil {
		return err
	}
	s := newCommon(a.Bytes, b.Bytes, !o.onlyLength)
	switch {
	case o.ranges:
		c.replyRanges(s, &o)
	case o.onlyLength:
		c.Out.Int(int64(s.length))
	default:
		c.replyCommon(s)
	}
	return nil
}

// lcsFits refuses what Redis refuses: a table of four bytes a cell that is
// larger than a string may be. Hapax takes a sixteenth of that: a bit a cell
// for the table, and no more than that for the masks.
func (c *Ctx) lcsFits(a, b int) error {
	const redisBytesPerCell = 4
	if a >= math.MaxUint32-1 || b >= math.MaxUint32-1 {
		return errLCSLong
	}
	if uint64(a+1)*uint64(b+1) > uint64(c.maxBulk())/redisBytesPerCell {
		return errLCSMemory
	}
	return nil
}

// replyCommon answers the common bytes, put together from the end.
func (c *Ctx) replyCommon(s *common) {
	b := append(c.Scratch[:0], make([]byte, s.length)...)
	left := s.length
	s.walk(func(run span) {
		left -= run.length
		copy(b[left:], s.a[run.inA:run.inA+run.length])
	})
	c.Out.Bulk(b)
	c.keepScratch(b)
}

// replyRanges answers where the runs of at least the asked length are, the
// last one first.
func (c *Ctx) replyRanges(s *common, o *lcsOptions) {
	var runs []span
	s.walk(func(run span) {
		if int64(run.length) >= o.minLength {
			runs = append(runs, run)
		}
	})
	c.Out.Map(2)
	c.Out.BulkString("matches")
	c.Out.Array(len(runs))
	for _, run := range runs {
		if o.withLength {
			c.Out.Array(3)
		} else {
			c.Out.Array(2)
		}
		c.replyRange(run.inA, run.length)
		c.replyRange(run.inB, run.length)
		if o.withLength {
			c.Out.Int(int64(run.length))
		}
	}
	c.Out.BulkString("len")
	c.Out.Int(int64(s.length))
}

// replyRange answers the first and the last place of a run.
func (c *Ctx) replyRange(start, length int) {
	c.Out.Array(2)
	c.Out.Int(int64(start))
	c.Out.Int(int64(start + length - 1))
}
