package command

import (
	"math"
	"math/big"
	"strconv"
)

var (
	errIncrOverflow error = Error("ERR increment or decrement would overflow")
	errDecrOverflow error = Error("ERR decrement would overflow")
	errNaN          error = Error("ERR increment would produce NaN or Infinity")
)

func incr(c *Ctx) error { return addInt(c, 1) }
func decr(c *Ctx) error { return addInt(c, -1) }

func incrBy(c *Ctx) error {
	n, err := IntArg(c.Args[2])
	if err != nil {
		return err
	}
	return addInt(c, n)
}

func decrBy(c *Ctx) error {
	n, err := IntArg(c.Args[2])
	switch {
	case err != nil:
		return err
	case n == math.MinInt64:
		return errDecrOverflow // has no negative
	}
	return addInt(c, -n)
}

// addInt adds n to the integer under the key, 0 when there is none, and keeps
// its deadline.
func addInt(c *Ctx, n int64) error {
	k := &c.Keys[0]
	v, found, err := c.peekString(k)
	if err != nil {
		return err
	}
	var present int64
	if found {
		if present, err = IntArg(v.Bytes); err != nil {
			return err
		}
	}
	sum := present + n
	if n > 0 && sum < present || n < 0 && sum > present {
		return errIncrOverflow
	}
	c.Scratch = strconv.AppendInt(c.Scratch[:0], sum, 10)
	c.Out.Int(sum)
	return c.putString(k, c.Scratch, v.DeadlineMilli)
}

// incrByFloat adds as Redis does on x86-64: in extended precision, printed
// with 17 decimals and no more zeros than needed.
func incrByFloat(c *Ctx) error {
	k := &c.Keys[0]
	v, found, err := c.peekString(k)
	if err != nil {
		return err
	}
	present, ok := new(big.Float), true
	if found {
		present, ok = parseExtended(v.Bytes)
	}
	if !ok {
		return ErrNotFloat
	}
	n, ok := parseExtended(c.Args[2])
	if !ok {
		return ErrNotFloat
	}
	sum, finite := addExtended(present, n)
	if !finite {
		return errNaN
	}
	b := appendExtended(c.Scratch[:0], sum)
	c.Out.Bulk(b)
	err = c.putString(k, b, v.DeadlineMilli)
	c.keepScratch(b)
	return err
}
