package command

import (
	"bytes"

	"github.com/hapaxkv/hapax/internal/shard"
)

// set without options looks nothing up: the store replaces what is there.
func set(c *Ctx) error {
	if len(c.Args) > 3 {
		return setWithOptions(c)
	}
	if err := c.putString(&c.Keys[0], c.Args[2], 0); err != nil {
		return err
	}
	c.Out.Simple("OK")
	return nil
}

func setWithOptions(c *Ctx) error {
	o, err := parseSet(c.Args[3:])
	if err != nil {
		return err
	}
	deadlineMilli, err := o.expire.deadline(c)
	if err != nil {
		return err
	}
	k := &c.Keys[0]
	old, found, err := o.lookUp(c, k)
	if err != nil {
		return err
	}
	if !o.met(&old, found) {
		if !o.get {
			c.Out.Null()
		}
		return nil
	}
	if !o.get {
		c.Out.Simple("OK")
	}
	if o.keep {
		deadlineMilli = old.DeadlineMilli
	}
	return c.setUntil(k, c.Args[2], deadlineMilli)
}

// lookUp finds what the options need to know of the present value. GET answers
// it at once, and is Redis's reply whether or not the write happens. Only GET
// and IFEQ care that it is a string.
func (o *setOptions) lookUp(c *Ctx, k *shard.Key) (old shard.Value, found bool, err error) {
	switch {
	case o.get:
		if found, err = c.readString(k, &old); err != nil {
			return old, found, err
		}
		if found {
			c.replyBulk(k, old.Bytes)
		} else {
			c.Out.Null()
		}
	case o.onlyEqual:
		return c.peekString(k)
	case o.conditional() || o.keep:
		old, found = c.Tx.Peek(k)
	}
	return old, found, nil
}

// met says whether the condition holds.
func (o *setOptions) met(old *shard.Value, found bool) bool {
	switch {
	case o.onlyNew:
		return !found
	case o.onlyOld:
		return found
	case o.onlyEqual:
		return found && bytes.Equal(old.Bytes, o.comparison)
	}
	return true
}

// setUntil stores b until deadlineMilli, 0 for ever. A deadline that has
// passed leaves no key.
func (c *Ctx) setUntil(k *shard.Key, b []byte, deadlineMilli int64) error {
	if deadlineMilli != 0 && deadlineMilli <= c.NowMilli {
		c.Tx.Delete(k)
		return nil
	}
	return c.putString(k, b, deadlineMilli)
}

func setNX(c *Ctx) error {
	if c.Tx.Touch(&c.Keys[0]) {
		c.Out.Int(0)
		return nil
	}
	c.Out.Int(1)
	return c.putString(&c.Keys[0], c.Args[2], 0)
}

func setEX(c *Ctx) error  { return setExpiring(c, inSeconds) }
func pSetEX(c *Ctx) error { return setExpiring(c, inMillis) }

func setExpiring(c *Ctx, kind expireKind) error {
	e := expireOption{kind, c.Args[2]}
	deadlineMilli, err := e.deadline(c)
	if err != nil {
		return err
	}
	c.Out.Simple("OK")
	return c.putString(&c.Keys[0], c.Args[3], deadlineMilli)
}

func mSet(c *Ctx) error {
	if err := c.putPairs(); err != nil {
		return err
	}
	c.Out.Simple("OK")
	return nil
}

func mSetNX(c *Ctx) error {
	if len(c.Args)%2 == 0 {
		return WrongArity(c.Cmd)
	}
	for i := range c.Keys {
		if c.Tx.Touch(c.key(i)) {
			c.Out.Int(0)
			return nil
		}
	}
	c.Out.Int(1)
	return c.putPairs()
}

// putPairs stores every key with the value behind it, all or none of them
// after a crash. A key named twice gets its last value.
func (c *Ctx) putPairs() error {
	if len(c.Args)%2 == 0 {
		return WrongArity(c.Cmd)
	}
	if len(c.Keys) > 1 {
		c.Tx.Atomic()
	}
	for i := range c.Keys {
		if err := c.putString(c.key(i), c.Args[2+2*i], 0); err != nil {
			return err
		}
	}
	return nil
}
