package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The model is what the documents say a server holds and answers: databases of
// keys, each a string with or without a deadline. It shares no code with the
// server; what IDEM, ONCE and LIMIT keep is packed here a second time
// (model_native_test.go).

const databases = 4

// entry is what a key holds. deadline 0 is none.
type entry struct {
	value    string
	deadline int64
}

// place is a key of a database.
type place struct {
	db   int
	name string
}

// state is a whole store. Its maps are never edited once they are in one: a
// change makes a new map, so that a state can be kept as it was.
type state [databases]map[string]entry

func (s *state) set(p place, e entry) {
	db := maps.Clone(s[p.db])
	if db == nil {
		db = map[string]entry{}
	}
	db[p.name] = e
	s[p.db] = db
}

func (s *state) drop(p place) {
	db := maps.Clone(s[p.db])
	delete(db, p.name)
	s[p.db] = db
}

// lines is what is alive at now, one line a key, sorted.
func (s *state) lines(now int64) []string {
	var out []string
	for db := range s {
		for name, e := range s[db] {
			if e.deadline == 0 || e.deadline > now {
				out = append(out, line(db, name, e.value, e.deadline))
			}
		}
	}
	slices.Sort(out)
	return out
}

func line(db int, name, value string, deadline int64) string {
	if len(value) > 40 {
		value = fmt.Sprintf("%s..(%d)", value[:40], len(value))
	}
	return fmt.Sprintf("%d %s %d %q", db, name, deadline, value)
}

// equal says whether two states are the same, expired keys included.
func (s *state) equal(o *state) bool {
	for db := range s {
		if !maps.Equal(s[db], o[db]) {
			return false
		}
	}
	return true
}

// call is one command while the model runs it, and then what came of it.
type call struct {
	st   *state // changed in place: maps are replaced
	now  int64
	db   *int // of the client, SELECT changes it
	args []string

	reply     string
	unordered bool    // an array whose order is free
	looked    []place // what the reply speaks of
	written   []place
	whole     [databases]bool // databases that it speaks of as a whole
	gone      int64           // the latest deadline that it took for passed
	wrote     bool
}

// run executes args. now is T.
func run(st *state, now int64, db *int, args []string) *call {
	c := &call{st: st, now: now, db: db, args: args}
	f, ok := commands[args[0]]
	if !ok {
		panic("the model knows no " + args[0])
	}
	f(c)
	return c
}

var commands = map[string]func(c *call){}

func init() {
	for _, family := range []map[string]func(c *call){stringCommands, keyCommands, databaseCommands, nativeCommands} {
		maps.Copy(commands, family)
	}
}

// find looks a key of the selected database up, as the server would at now.
func (c *call) find(name string) (entry, bool) { return c.findIn(*c.db, name) }

func (c *call) findIn(db int, name string) (entry, bool) {
	c.looked = append(c.looked, place{db, name})
	e, ok := c.st[db][name]
	if ok && e.deadline != 0 && e.deadline <= c.now {
		c.gone = max(c.gone, e.deadline)
		return entry{}, false
	}
	return e, ok
}

func (c *call) put(name string, e entry) { c.putIn(*c.db, name, e) }

func (c *call) putIn(db int, name string, e entry) {
	at := place{db, name}
	c.looked, c.written = append(c.looked, at), append(c.written, at)
	c.st.set(at, e)
	c.wrote = true
}

func (c *call) drop(name string) {
	at := place{*c.db, name}
	c.written = append(c.written, at)
	c.st.drop(at)
	c.wrote = true
}

func (c *call) ok()               { c.reply = "+OK\r\n" }
func (c *call) null()             { c.reply = "$-1\r\n" }
func (c *call) int(n int64)       { c.reply = ":" + strconv.FormatInt(n, 10) + "\r\n" }
func (c *call) fail(text string)  { c.reply = "-" + text + "\r\n" }
func (c *call) bulk(value string) { c.reply = bulk(value) }
func (c *call) flag(yes bool) {
	if yes {
		c.int(1)
	} else {
		c.int(0)
	}
}

// found answers a value or null.
func (c *call) found(e entry, ok bool) {
	if ok {
		c.bulk(e.value)
	} else {
		c.null()
	}
}

func bulk(value string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value) }

func array(items ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(items), strings.Join(items, ""))
}

func (c *call) number(i int) int64 {
	n, err := strconv.ParseInt(c.args[i], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("the model is given %q", c.args))
	}
	return n
}

// has says whether a word is among the options.
func (c *call) has(word string) bool { return slices.Contains(c.args[2:], word) }

// option is the argument behind a word, 0 without it.
func (c *call) option(word string) (int64, bool) {
	i := slices.Index(c.args, word)
	if i < 0 {
		return 0, false
	}
	return c.number(i + 1), true
}

// deadlineOption is EX, PX, EXAT or PXAT as a moment, 0 without one.
func (c *call) deadlineOption() int64 {
	for word, unit := range map[string]int64{"EX": 1000, "PX": 1, "EXAT": 1000, "PXAT": 1} {
		n, ok := c.option(word)
		switch {
		case !ok:
		case strings.HasSuffix(word, "AT"):
			return n * unit
		default:
			return c.now + n*unit
		}
	}
	return 0
}

const (
	errNotInteger = "ERR value is not an integer or out of range"
	errOverflow   = "ERR increment or decrement would overflow"
	errNoSuchKey  = "ERR no such key"
	errSame       = "ERR source and destination objects are the same"
)

// addOverflows says whether a+b leaves 64 bits.
func addOverflows(a, b int64) bool {
	return b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b
}
