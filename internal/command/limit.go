package command

var (
	errLimitLimit  error = Error("ERR LIMIT limit must be 1 to 1000000000")
	errLimitWindow error = Error("ERR LIMIT window must be 1 to 31622400000 milliseconds")
	errLimitCost   error = Error("ERR LIMIT cost must be 0 to 1000000000")
	errLimitRecord error = Error("BADRECORD Key holds a string that is not a LIMIT record with a deadline")
)

// limit writes only when it spends: a denied call and one of cost 0 change
// nothing, however often they are made.
func limit(c *Ctx) error {
	b, cost, err := limitArgs(c)
	if err != nil {
		return err
	}
	present, err := c.limitArrival(b)
	if err != nil {
		return err
	}
	next, d := b.decide(present, c.NowMilli, cost)
	spends := d.allowed && cost > 0
	if spends && c.Refused != nil {
		return c.Refused
	}
	c.Out.Array(4)
	if d.allowed {
		c.Count.LimitAllowed++
		c.Out.Int(1)
	} else {
		c.Count.LimitDenied++
		c.Out.Int(0)
	}
	c.Out.Int(d.remaining)
	c.Out.Int(d.retryMilli)
	c.Out.Int(d.resetMilli)
	if !spends {
		return nil
	}
	c.Scratch = appendLimitRecord(c.Scratch[:0], b.limit, next)
	return c.putString(&c.Keys[0], c.Scratch, next.ceil())
}

func limitArgs(c *Ctx) (b bucket, cost uint64, err error) {
	if len(c.Args) > 5 {
		return b, 0, WrongArity(c.Cmd)
	}
	most, err := RangeArg(c.Args[2], 1, maxLimit, errLimitLimit)
	if err != nil {
		return b, 0, err
	}
	windowMilli, err := RangeArg(c.Args[3], 1, maxNativeTTLMilli, errLimitWindow)
	if err != nil {
		return b, 0, err
	}
	spent := int64(1)
	if len(c.Args) == 5 {
		if spent, err = RangeArg(c.Args[4], 0, maxCost, errLimitCost); err != nil {
			return b, 0, err
		}
	}
	return bucket{limit: uint64(most), windowMilli: uint64(windowMilli)}, uint64(spent), nil
}

// limitArrival is the arrival time that the key's record holds, now when there
// is none or when it has passed.
func (c *Ctx) limitArrival(b bucket) (arrival, error) {
	now := arrival{milli: c.NowMilli}
	record, found, err := c.liveRecord(&c.Keys[0], errLimitRecord)
	if err != nil || !found {
		return now, err
	}
	unit, a, ok := decodeLimitRecord(record)
	if !ok {
		return now, errLimitRecord
	}
	if a.milli < c.NowMilli {
		return now, nil
	}
	return a.rescale(unit, b.limit), nil
}
