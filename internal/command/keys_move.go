package command

import "bytes"

// errSameObject is the answer of COPY and MOVE to a copy onto itself.
var errSameObject error = Error("ERR source and destination objects are the same")

func rename(c *Ctx) error {
	if _, err := renameKey(c, false); err != nil {
		return err
	}
	c.Out.Simple("OK")
	return nil
}

func renameNX(c *Ctx) error {
	renamed, err := renameKey(c, true)
	if err != nil {
		return err
	}
	c.Out.Int(renamed)
	return nil
}

// renameKey returns 1 when the key has a new name, 0 when it had it already or
// RENAMENX found it taken. The value is written under the new name before the
// old one goes, both in one unit of recovery, so no crash loses it or shows it
// twice.
func renameKey(c *Ctx, onlyFree bool) (int64, error) {
	from, to := &c.Keys[0], &c.Keys[1]
	if !c.Tx.Touch(from) {
		return 0, ErrNoSuchKey
	}
	if bytes.Equal(from.Bytes, to.Bytes) {
		return 0, nil
	}
	if onlyFree && c.Tx.Touch(to) {
		return 0, nil
	}
	v, _ := c.Tx.Peek(from)
	if err := c.Host.Room(len(v.Bytes)); err != nil {
		return 0, err
	}
	c.Tx.Atomic()
	if err := c.Tx.Put(to, v); err != nil {
		return 0, err
	}
	c.Tx.Delete(from)
	return 1, nil
}

// copyArgs reads COPY's options. A repeated DB counts as its last one.
func copyArgs(c *Ctx) (db int, replace bool, err error) {
	db = c.Tx.DB()
	for i := 3; i < len(c.Args); i++ {
		switch {
		case Is(c.Args[i], "replace"):
			replace = true
		case Is(c.Args[i], "db") && i+1 < len(c.Args):
			i++
			if db, err = dbArg(c, c.Args[i]); err != nil {
				return 0, false, err
			}
		default:
			return 0, false, ErrSyntax
		}
	}
	return db, replace, nil
}

func copyKey(c *Ctx) error {
	db, replace, err := copyArgs(c)
	if err != nil {
		return err
	}
	from, to := &c.Keys[0], &c.Keys[1]
	if db == c.Tx.DB() && bytes.Equal(from.Bytes, to.Bytes) {
		return errSameObject
	}
	v, ok := c.Tx.Get(from)
	if !ok {
		c.Out.Int(0)
		return nil
	}
	c.Tx.Select(db)
	if !replace && c.Tx.Touch(to) {
		c.Out.Int(0)
		return nil
	}
	if err := c.Host.Room(len(v.Bytes)); err != nil {
		return err
	}
	if err := c.Tx.Put(to, v); err != nil { // replaces whole: one record
		return err
	}
	c.Out.Int(1)
	return nil
}

// move writes the key in the other database and removes it here, in one unit
// of recovery.
func move(c *Ctx) error {
	here := c.Tx.DB()
	there, err := dbArg(c, c.Args[2])
	if err != nil {
		return err
	}
	if there == here {
		return errSameObject
	}
	k := &c.Keys[0]
	if !c.Tx.Touch(k) {
		c.Out.Int(0)
		return nil
	}
	v, _ := c.Tx.Peek(k)
	c.Tx.Select(there)
	if c.Tx.Touch(k) {
		c.Out.Int(0)
		return nil
	}
	if err := c.Host.Room(len(v.Bytes)); err != nil {
		return err
	}
	c.Tx.Atomic()
	if err := c.Tx.Put(k, v); err != nil {
		return err
	}
	c.Tx.Select(here)
	c.Tx.Delete(k)
	c.Out.Int(1)
	return nil
}
