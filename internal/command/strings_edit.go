package command

import "github.com/hapaxkv/hapax/internal/shard"

func appendTo(c *Ctx) error {
	k, more := &c.Keys[0], c.Args[2]
	v, found, err := c.peekString(k)
	switch {
	case err != nil:
		return err
	case !found:
		c.Out.Int(int64(len(more)))
		return c.putString(k, more, 0)
	case !c.fits(int64(len(v.Bytes)), int64(len(more))):
		return errTooLong
	}
	return c.splice(k, int64(len(v.Bytes)), more)
}

// splice writes b at an offset of k's string and answers the new length.
func (c *Ctx) splice(k *shard.Key, offset int64, b []byte) error {
	length, err := c.Tx.Splice(k, int(offset), b)
	if err != nil {
		return err
	}
	c.Out.Int(int64(length))
	return nil
}

var errOffset error = Error("ERR offset is out of range")

func setRange(c *Ctx) error {
	offset, err := IntArg(c.Args[2])
	if err != nil {
		return err
	}
	if offset < 0 {
		return errOffset
	}
	k, b := &c.Keys[0], c.Args[3]
	v, found, err := c.peekString(k)
	switch {
	case err != nil:
		return err
	case len(b) == 0: // writes nothing, so it creates nothing
		c.Out.Int(int64(len(v.Bytes)))
		return nil
	case !c.fits(offset, int64(len(b))):
		return errTooLong
	case !found:
		return c.setRangeNew(k, offset, b)
	}
	return c.splice(k, offset, b)
}

// maxLoggedGapBytes is the longest gap of zeros that a new value may carry
// into the log. A longer one is logged as its length.
const maxLoggedGapBytes = 4 << 10

// setRangeNew makes a string of offset zero bytes and b.
func (c *Ctx) setRangeNew(k *shard.Key, offset int64, b []byte) error {
	if offset > maxLoggedGapBytes {
		return c.spliceNew(k, offset, b)
	}
	if err := c.Host.Room(int(offset)); err != nil {
		return err
	}
	value := append(c.Scratch[:0], make([]byte, offset)...)
	value = append(value, b...)
	c.Out.Int(int64(len(value)))
	err := c.Tx.Put(k, shard.Value{Type: shard.String, Raw: true, Bytes: value})
	c.keepScratch(value)
	return err
}

// spliceNew does it with an empty string, spliced. Logged as one value it
// would write out every zero. When there is no memory for the gap, the same
// unit of recovery takes the empty string away again.
func (c *Ctx) spliceNew(k *shard.Key, offset int64, b []byte) error {
	c.Tx.Atomic()
	if err := c.Tx.Put(k, shard.Value{Type: shard.String, Raw: true}); err != nil {
		return err
	}
	err := c.splice(k, offset, b)
	if err != nil {
		c.Tx.Delete(k)
	}
	return err
}
