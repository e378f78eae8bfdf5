package command

import (
	"math"

	"github.com/hapaxkv/hapax/internal/shard"
)

// typeNames are TYPE's words, by shard.Type.
var typeNames = [...]string{"string", "list", "set", "zset", "hash", "stream"}

func typeName(t shard.Type) string { return typeNames[t] }

// peekCounted finds a key for a command that only looks at it: it counts as a
// keyspace hit or miss but does not make the key recently used.
func peekCounted(c *Ctx, k *shard.Key) (shard.Value, bool) {
	v, ok := c.Tx.Peek(k)
	if ok {
		c.Tx.Hits++
	} else {
		c.Tx.Misses++
	}
	return v, ok
}

// del is DEL and UNLINK. Several keys go in one unit of recovery.
func del(c *Ctx) error {
	if len(c.Keys) > 1 {
		c.Tx.Atomic()
	}
	var n int64
	for i := range c.Keys {
		if c.Tx.Delete(c.key(i)) {
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

func exists(c *Ctx) error {
	var n int64
	for i := range c.Keys {
		if _, ok := peekCounted(c, c.key(i)); ok {
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

func touch(c *Ctx) error {
	var n int64
	var v shard.Value
	for i := range c.Keys {
		if c.Tx.Read(c.key(i), &v) {
			n++
		}
	}
	c.Out.Int(n)
	return nil
}

func typeOf(c *Ctx) error {
	name := "none"
	if v, ok := peekCounted(c, &c.Keys[0]); ok {
		name = typeName(v.Type)
	}
	c.Out.Simple(name)
	return nil
}

func randomKey(c *Ctx) error {
	key, ok := c.Tx.Random(c.Host.Random64())
	if !ok {
		c.Out.Null()
		return nil
	}
	c.Out.Bulk(key)
	return nil
}

func dbSize(c *Ctx) error {
	c.Out.Int(c.Tx.Len())
	return nil
}

// flushArgs checks [ASYNC | SYNC]. The word chooses nothing: memory of either
// is given back in steps while the server goes on.
func flushArgs(c *Ctx) error {
	switch {
	case len(c.Args) == 1:
		return nil
	case len(c.Args) == 2 && (Is(c.Args[1], "async") || Is(c.Args[1], "sync")):
		return nil
	}
	return ErrSyntax
}

func flushDB(c *Ctx) error {
	if err := flushArgs(c); err != nil {
		return err
	}
	c.Tx.FlushDB()
	c.Out.Simple("OK")
	return nil
}

func flushAll(c *Ctx) error {
	if err := flushArgs(c); err != nil {
		return err
	}
	c.Tx.FlushAll()
	c.Out.Simple("OK")
	return nil
}

// errDBRange is the answer to a database that is not there.
var errDBRange error = Error("ERR DB index is out of range")

// dbArg reads a database number that must exist.
func dbArg(c *Ctx, arg []byte) (int, error) {
	n, err := RangeArg(arg, math.MinInt32, math.MaxInt32, nil)
	if err != nil {
		return 0, err
	}
	if n < 0 || n >= int64(c.Host.Databases()) {
		return 0, errDBRange
	}
	return int(n), nil
}

func swapDB(c *Ctx) error {
	var db [2]int64
	for i, which := range [2]string{"first", "second"} {
		n, ok := ParseInt(c.Args[1+i])
		if !ok || n < math.MinInt32 || n > math.MaxInt32 {
			return Error("ERR invalid " + which + " DB index")
		}
		db[i] = n
	}
	count := int64(c.Host.Databases())
	for _, n := range db {
		if n < 0 || n >= count {
			return errDBRange
		}
	}
	if db[0] != db[1] {
		c.Tx.Swap(int(db[0]), int(db[1]))
	}
	c.Out.Simple("OK")
	return nil
}
