package command

import "math"

// Deadlines are absolute milliseconds from the moment they are computed (I3);
// a relative time counts from T of the round, never from a clock read here.

const milliPerSecond = 1000

func expire(c *Ctx) error    { return setDeadline(c, milliPerSecond, c.NowMilli) }
func pexpire(c *Ctx) error   { return setDeadline(c, 1, c.NowMilli) }
func expireAt(c *Ctx) error  { return setDeadline(c, milliPerSecond, 0) }
func pexpireAt(c *Ctx) error { return setDeadline(c, 1, 0) }

// expireCondition is EXPIRE's options as a set of bits.
type expireCondition uint8

const (
	ifNone    expireCondition = 1 << iota // NX: the key has no deadline
	ifAny                                 // XX: it has one
	ifGreater                             // GT: the new one is later; none counts as endless
	ifLess                                // LT: the new one is earlier
)

// expireConditions reads the options. Which error wins is Redis's order: an
// unknown word first, then words that exclude each other.
func expireConditions(args [][]byte) (expireCondition, error) {
	var cond expireCondition
	for _, a := range args {
		switch {
		case Is(a, "nx"):
			cond |= ifNone
		case Is(a, "xx"):
			cond |= ifAny
		case Is(a, "gt"):
			cond |= ifGreater
		case Is(a, "lt"):
			cond |= ifLess
		default:
			return 0, Error("ERR Unsupported option " + echo(a, len(a)))
		}
	}
	if cond&ifNone != 0 && cond != ifNone {
		return 0, Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	}
	if cond&ifGreater != 0 && cond&ifLess != 0 {
		return 0, Error("ERR GT and LT options at the same time are not compatible")
	}
	return cond, nil
}

// allows says whether a key with deadline present (0 for none) may get next.
func (cond expireCondition) allows(present, next int64) bool {
	switch {
	case cond&ifNone != 0 && present != 0:
		return false
	case cond&ifAny != 0 && present == 0:
		return false
	case cond&ifGreater != 0 && (present == 0 || next <= present):
		return false
	case cond&ifLess != 0 && present != 0 && next >= present:
		return false
	}
	return true
}

// InvalidExpire is the error for a time to live that the command cannot take.
func InvalidExpire(c *Ctx) error {
	return Error("ERR invalid expire time in '" + c.Cmd.full + "' command")
}

// setDeadline is the EXPIRE commands: Args[2] in units of unitMilli after
// baseMilli. A deadline that has passed deletes the key.
func setDeadline(c *Ctx, unitMilli, baseMilli int64) error {
	cond, err := expireConditions(c.Args[3:])
	if err != nil {
		return err
	}
	when, err := IntArg(c.Args[2])
	if err != nil {
		return err
	}
	if when > math.MaxInt64/unitMilli || when < math.MinInt64/unitMilli {
		return InvalidExpire(c)
	}
	if when *= unitMilli; when > math.MaxInt64-baseMilli {
		return InvalidExpire(c)
	}
	when += baseMilli
	c.Out.Int(applyDeadline(c, cond, when))
	return nil
}

// applyDeadline returns 1 when the key has the deadline or is gone by it.
func applyDeadline(c *Ctx, cond expireCondition, deadlineMilli int64) int64 {
	k := &c.Keys[0]
	if !c.Tx.Touch(k) {
		return 0
	}
	if cond != 0 {
		v, _ := c.Tx.Peek(k)
		if !cond.allows(v.DeadlineMilli, deadlineMilli) {
			return 0
		}
	}
	if deadlineMilli <= c.NowMilli {
		c.Tx.Delete(k)
	} else {
		c.Tx.SetDeadline(k, deadlineMilli)
	}
	return 1
}

func persist(c *Ctx) error {
	k := &c.Keys[0]
	c.Tx.Touch(k)
	v, ok := c.Tx.Peek(k)
	if !ok || v.DeadlineMilli == 0 {
		c.Out.Int(0)
		return nil
	}
	c.Tx.SetDeadline(k, 0)
	c.Out.Int(1)
	return nil
}

// What the four questions about a deadline answer when there is none to tell.
const (
	noSuchKey  = -2
	noDeadline = -1
)

// deadlineOf is the key's deadline, or one of the two answers above.
func deadlineOf(c *Ctx) (milli int64, ok bool) {
	switch v, found := peekCounted(c, &c.Keys[0]); {
	case !found:
		return noSuchKey, false
	case v.DeadlineMilli == 0:
		return noDeadline, false
	default:
		return v.DeadlineMilli, true
	}
}

// roundSeconds rounds half up, as Redis does, without its overflow.
func roundSeconds(milli int64) int64 {
	s := milli / milliPerSecond
	if milli%milliPerSecond >= milliPerSecond/2 {
		s++
	}
	return s
}

func ttl(c *Ctx) error {
	t, ok := deadlineOf(c)
	if ok {
		t = roundSeconds(t - c.NowMilli)
	}
	c.Out.Int(t)
	return nil
}

func pttl(c *Ctx) error {
	t, ok := deadlineOf(c)
	if ok {
		t -= c.NowMilli
	}
	c.Out.Int(t)
	return nil
}

func expireTime(c *Ctx) error {
	t, ok := deadlineOf(c)
	if ok {
		t = roundSeconds(t)
	}
	c.Out.Int(t)
	return nil
}

func pexpireTime(c *Ctx) error {
	t, _ := deadlineOf(c)
	c.Out.Int(t)
	return nil
}
