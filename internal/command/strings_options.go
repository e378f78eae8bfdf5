package command

import "math"

// expireKind is how an option states a deadline.
type expireKind uint8

const (
	noExpire   expireKind = iota
	inSeconds             // EX
	inMillis              // PX
	atSeconds             // EXAT
	atMillis              // PXAT
	maxMillis  = math.MaxInt64
	maxSeconds = math.MaxInt64 / milliPerSecond
)

// expireOption is a deadline as an option states it, not looked at yet: Redis
// complains about the number only after the syntax of all options.
type expireOption struct {
	kind expireKind
	text []byte
}

// expireKindOf names the option's kind, noExpire when it is another option.
func expireKindOf(option []byte) expireKind {
	switch {
	case Is(option, "ex"):
		return inSeconds
	case Is(option, "px"):
		return inMillis
	case Is(option, "exat"):
		return atSeconds
	case Is(option, "pxat"):
		return atMillis
	}
	return noExpire
}

// deadline is the absolute time that e states, 0 for none. Zero, negative and
// overflowing times are refused; one that has passed is returned as it is.
func (e *expireOption) deadline(c *Ctx) (int64, error) {
	if e.kind == noExpire {
		return 0, nil
	}
	n, err := IntArg(e.text)
	if err != nil {
		return 0, err
	}
	seconds := e.kind == inSeconds || e.kind == atSeconds
	if n <= 0 || seconds && n > maxSeconds {
		return 0, InvalidExpire(c)
	}
	if seconds {
		n *= milliPerSecond
	}
	if e.kind == inSeconds || e.kind == inMillis {
		if n > maxMillis-c.NowMilli {
			return 0, InvalidExpire(c)
		}
		n += c.NowMilli
	}
	return n, nil
}

// setOptions are SET's. GETEX has expire and persist only.
type setOptions struct {
	onlyNew, onlyOld   bool // NX, XX
	onlyEqual          bool // IFEQ
	get, keep, persist bool
	comparison         []byte // IFEQ's
	expire             expireOption
}

// conditional is true when the write depends on what is there.
func (o *setOptions) conditional() bool { return o.onlyNew || o.onlyOld || o.onlyEqual }

// takeExpire reads an EX, PX, EXAT or PXAT at the front of args. Two of the
// same kind are no error in Redis, the last one counts; two kinds are.
func (o *setOptions) takeExpire(args [][]byte) (taken bool, err error) {
	kind := expireKindOf(args[0])
	if kind == noExpire {
		return false, nil
	}
	other := o.expire.kind != noExpire && o.expire.kind != kind
	if other || o.keep || o.persist || len(args) < 2 {
		return false, ErrSyntax
	}
	o.expire = expireOption{kind, args[1]}
	return true, nil
}

// parseSet reads SET's options, in any order.
func parseSet(args [][]byte) (o setOptions, err error) {
	for len(args) > 0 {
		expires, err := o.takeExpire(args)
		if err != nil {
			return o, err
		}
		if expires {
			args = args[2:]
			continue
		}
		option := args[0]
		args = args[1:]
		switch {
		case Is(option, "nx") && !o.onlyOld && !o.onlyEqual:
			o.onlyNew = true
		case Is(option, "xx") && !o.onlyNew && !o.onlyEqual:
			o.onlyOld = true
		case Is(option, "ifeq") && !o.conditional() && len(args) > 0:
			o.onlyEqual, o.comparison = true, args[0]
			args = args[1:]
		case Is(option, "get"):
			o.get = true
		case Is(option, "keepttl") && o.expire.kind == noExpire:
			o.keep = true
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}

// parseGetEX reads GETEX's options.
func parseGetEX(args [][]byte) (o setOptions, err error) {
	for len(args) > 0 {
		expires, err := o.takeExpire(args)
		switch {
		case err != nil:
			return o, err
		case expires:
			args = args[2:]
		case Is(args[0], "persist") && o.expire.kind == noExpire:
			o.persist = true
			args = args[1:]
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}
