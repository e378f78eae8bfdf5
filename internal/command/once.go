package command

import "bytes"

var (
	errOnceTTL    error = Error("ERR ONCE ttl must be 1 to 31622400000 milliseconds")
	errOnceRecord error = Error("BADRECORD Key holds a string that is not a ONCE mark with a deadline")
)

// onceMark is all that ONCE stores: magic and version. See
// docs/format/idem-record.md.
var onceMark = []byte{0xF1, 'O', 'N', 1}

// once marks the key for a time. Only the call that finds no mark sets one, so
// no later call can move its end.
func once(c *Ctx) error {
	ttlMilli, err := RangeArg(c.Args[2], 1, maxNativeTTLMilli, errOnceTTL)
	if err != nil {
		return err
	}
	k := &c.Keys[0]
	mark, found, err := c.liveRecord(k, errOnceRecord)
	switch {
	case err != nil:
		return err
	case !found && c.Refused != nil:
		return c.Refused
	case !found:
		c.Count.OnceFirst++
		c.Out.Int(1)
		return c.putString(k, onceMark, c.NowMilli+ttlMilli)
	case !bytes.Equal(mark, onceMark):
		return errOnceRecord
	}
	c.Count.OnceRepeat++
	c.Out.Int(0)
	return nil
}
