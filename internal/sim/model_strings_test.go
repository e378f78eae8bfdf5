package sim

import (
	"strconv"
)

var stringCommands = map[string]func(c *call){
	"GET":    func(c *call) { c.found(c.find(c.args[1])) },
	"SET":    modelSet,
	"SETNX":  modelSetNX,
	"GETSET": modelGetSet,
	"GETDEL": modelGetDel,
	"GETEX":  modelGetEx,
	"MGET":   modelMGet,
	"MSET":   modelMSet,
	"MSETNX": modelMSetNX,
	"APPEND": modelAppend,
	"SETRANGE": func(c *call) {
		e, _ := c.find(c.args[1])
		at, b := int(c.number(2)), c.args[3]
		if b == "" {
			c.int(int64(len(e.value)))
			return
		}
		v := []byte(e.value)
		for len(v) < at+len(b) {
			v = append(v, 0)
		}
		copy(v[at:], b)
		c.put(c.args[1], entry{string(v), e.deadline})
		c.int(int64(len(v)))
	},
	"STRLEN": func(c *call) {
		e, _ := c.find(c.args[1])
		c.int(int64(len(e.value)))
	},
	"INCR":   func(c *call) { modelAdd(c, 1) },
	"DECR":   func(c *call) { modelAdd(c, -1) },
	"INCRBY": func(c *call) { modelAdd(c, c.number(2)) },
	"DECRBY": func(c *call) { modelAdd(c, -c.number(2)) },
}

func modelSet(c *call) {
	name := c.args[1]
	old, had := c.find(name)
	deadline := c.deadlineOption()
	if c.has("KEEPTTL") {
		deadline = old.deadline
	}
	met := !(c.has("NX") && had) && !(c.has("XX") && !had)
	if met {
		c.write(name, c.args[2], deadline, had)
	}
	switch {
	case c.has("GET"):
		c.found(old, had)
	case met:
		c.ok()
	default:
		c.null()
	}
}

// write puts a value whose deadline may have passed already: then the key is
// gone.
func (c *call) write(name, value string, deadline int64, had bool) {
	if deadline == 0 || deadline > c.now {
		c.put(name, entry{value, deadline})
	} else if had {
		c.drop(name)
	}
}

func modelSetNX(c *call) {
	_, had := c.find(c.args[1])
	if !had {
		c.put(c.args[1], entry{value: c.args[2]})
	}
	c.flag(!had)
}

func modelGetSet(c *call) {
	c.found(c.find(c.args[1]))
	c.put(c.args[1], entry{value: c.args[2]})
}

func modelGetDel(c *call) {
	e, had := c.find(c.args[1])
	c.found(e, had)
	if had {
		c.drop(c.args[1])
	}
}

func modelGetEx(c *call) {
	e, had := c.find(c.args[1])
	c.found(e, had)
	if !had {
		return
	}
	deadline := c.deadlineOption()
	switch {
	case c.has("PERSIST"):
		deadline = 0
	case deadline == 0:
		return
	}
	if deadline != 0 && deadline <= c.now {
		c.drop(c.args[1])
	} else if deadline != e.deadline {
		c.put(c.args[1], entry{e.value, deadline})
	}
}

func modelMGet(c *call) {
	var items []string
	for _, name := range c.args[1:] {
		if e, ok := c.find(name); ok {
			items = append(items, bulk(e.value))
		} else {
			items = append(items, "$-1\r\n")
		}
	}
	c.reply = array(items...)
}

func modelMSet(c *call) {
	for i := 1; i < len(c.args); i += 2 {
		c.put(c.args[i], entry{value: c.args[i+1]})
	}
	c.ok()
}

func modelMSetNX(c *call) {
	any := false
	for i := 1; i < len(c.args); i += 2 {
		_, had := c.find(c.args[i])
		any = any || had
	}
	if !any {
		modelMSet(c)
	}
	c.flag(!any)
}

func modelAppend(c *call) {
	e, had := c.find(c.args[1])
	v := e.value + c.args[2]
	if !had || c.args[2] != "" {
		c.put(c.args[1], entry{v, e.deadline})
	}
	c.int(int64(len(v)))
}

func modelAdd(c *call, by int64) {
	e, had := c.find(c.args[1])
	n := int64(0)
	if had {
		var err error
		if n, err = strconv.ParseInt(e.value, 10, 64); err != nil || strconv.FormatInt(n, 10) != e.value {
			c.fail(errNotInteger)
			return
		}
	}
	if addOverflows(n, by) {
		c.fail(errOverflow)
		return
	}
	c.put(c.args[1], entry{strconv.FormatInt(n+by, 10), e.deadline})
	c.int(n + by)
}
