package sim

import (
	"slices"
)

var keyCommands = map[string]func(c *call){
	"PING":   func(c *call) { c.reply = "+PONG\r\n" },
	"DEL":    modelDel,
	"UNLINK": modelDel,
	"EXISTS": func(c *call) {
		n := int64(0)
		for _, name := range c.args[1:] {
			if _, ok := c.find(name); ok {
				n++
			}
		}
		c.int(n)
	},
	"TYPE": func(c *call) {
		if _, ok := c.find(c.args[1]); ok {
			c.reply = "+string\r\n"
		} else {
			c.reply = "+none\r\n"
		}
	},
	"RENAME": func(c *call) {
		if modelRename(c, false) {
			c.ok()
		}
	},
	"RENAMENX": func(c *call) {
		renamed := modelRename(c, true)
		if c.reply == "" {
			c.flag(renamed)
		}
	},
	"COPY":        modelCopy,
	"MOVE":        modelMove,
	"EXPIRE":      func(c *call) { modelExpire(c, c.now+c.number(2)*1000) },
	"PEXPIRE":     func(c *call) { modelExpire(c, c.now+c.number(2)) },
	"EXPIREAT":    func(c *call) { modelExpire(c, c.number(2)*1000) },
	"PEXPIREAT":   func(c *call) { modelExpire(c, c.number(2)) },
	"PTTL":        func(c *call) { modelDeadline(c, func(d int64) int64 { return d - c.now }) },
	"PEXPIRETIME": func(c *call) { modelDeadline(c, func(d int64) int64 { return d }) },
	"PERSIST": func(c *call) {
		e, had := c.find(c.args[1])
		if had && e.deadline != 0 {
			c.put(c.args[1], entry{value: e.value})
		}
		c.flag(had && e.deadline != 0)
	},
}

func modelDel(c *call) {
	n := int64(0)
	for _, name := range c.args[1:] {
		if _, ok := c.find(name); ok {
			c.drop(name)
			n++
		}
	}
	c.int(n)
}

// modelRename answers only when there is nothing to rename.
func modelRename(c *call, onlyFree bool) bool {
	from, to := c.args[1], c.args[2]
	e, had := c.find(from)
	if !had {
		c.fail(errNoSuchKey)
		return false
	}
	if from == to {
		return !onlyFree
	}
	if onlyFree {
		if _, taken := c.find(to); taken {
			return false
		}
	}
	c.put(to, e)
	c.drop(from)
	return true
}

func modelCopy(c *call) {
	from, to, db := c.args[1], c.args[2], *c.db
	if n, ok := c.option("DB"); ok {
		db = int(n)
	}
	if db == *c.db && from == to {
		c.fail(errSame)
		return
	}
	e, had := c.find(from)
	if had && !c.has("REPLACE") {
		_, taken := c.findIn(db, to)
		had = !taken
	}
	if had {
		c.putIn(db, to, e)
	}
	c.flag(had)
}

func modelMove(c *call) {
	db := int(c.number(2))
	if db == *c.db {
		c.fail(errSame)
		return
	}
	e, had := c.find(c.args[1])
	if had {
		_, taken := c.findIn(db, c.args[1])
		had = !taken
	}
	if had {
		c.putIn(db, c.args[1], e)
		c.drop(c.args[1])
	}
	c.flag(had)
}

func modelExpire(c *call, deadline int64) {
	e, had := c.find(c.args[1])
	options := c.args[3:]
	switch {
	case !had,
		slices.Contains(options, "NX") && e.deadline != 0,
		slices.Contains(options, "XX") && e.deadline == 0,
		slices.Contains(options, "GT") && (e.deadline == 0 || deadline <= e.deadline),
		slices.Contains(options, "LT") && e.deadline != 0 && deadline >= e.deadline:
		c.int(0)
		return
	case deadline <= c.now:
		c.drop(c.args[1])
	default:
		c.put(c.args[1], entry{e.value, deadline})
	}
	c.int(1)
}

func modelDeadline(c *call, show func(deadline int64) int64) {
	e, had := c.find(c.args[1])
	switch {
	case !had:
		c.int(-2)
	case e.deadline == 0:
		c.int(-1)
	default:
		c.int(show(e.deadline))
	}
}

var databaseCommands = map[string]func(c *call){
	"SELECT": func(c *call) {
		*c.db = int(c.number(1))
		c.ok()
	},
	"KEYS":     modelKeys,
	"FLUSHDB":  func(c *call) { modelFlush(c, *c.db); c.ok() },
	"FLUSHALL": func(c *call) { modelFlush(c, 0, 1, 2, 3); c.ok() },
	"SWAPDB": func(c *call) {
		a, b := int(c.number(1)), int(c.number(2))
		c.st[a], c.st[b] = c.st[b], c.st[a]
		if a != b {
			c.whole[a], c.whole[b], c.wrote = true, true, true
		}
		c.ok()
	},
}

// modelKeys is KEYS * of the selected database.
func modelKeys(c *call) {
	c.whole[*c.db] = true
	var items []string
	for name, e := range c.st[*c.db] {
		if e.deadline != 0 && e.deadline <= c.now {
			c.gone = max(c.gone, e.deadline)
			continue
		}
		items = append(items, bulk(name))
	}
	slices.Sort(items)
	c.reply, c.unordered = array(items...), true
}

func modelFlush(c *call, dbs ...int) {
	for _, db := range dbs {
		c.whole[db] = true
		c.st[db] = nil
	}
	c.wrote = true
}
