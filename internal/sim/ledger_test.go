package sim

import (
	"fmt"
	"strings"
)

// ledger checks IDEM's rules from acknowledged replies alone, without the
// model: never two acquired whose validity overlaps, one result for good.
// Where another command wrote to a place, a new age of it begins, and only
// replies of one age are compared.
type ledger struct {
	claims map[place][]claim
	age    map[place]int
	ages   [databases]int
}

// claim is an acquired that was acknowledged.
type claim struct {
	age        int
	owner      string
	from, till int64
	result     string
	known      bool // result is known
}

func newLedger() ledger { return ledger{claims: map[place][]claim{}, age: map[place]int{}} }

// ran notes a command when it runs, acknowledged or not, and returns the age of
// the place that it speaks of.
func (l *ledger) ran(c *call) int {
	if c.wrote && c.args[0] != "IDEM" {
		for _, p := range c.written {
			l.age[p]++
		}
		for db, whole := range c.whole {
			if whole {
				l.ages[db]++
			}
		}
	}
	if len(c.looked) == 0 {
		return 0
	}
	p := c.looked[0]
	return l.age[p] + l.ages[p.db]
}

// lost begins a new age everywhere: acknowledged replies may be forgotten, as a
// power cut may under every appendfsync but always.
func (l *ledger) lost() {
	for db := range l.ages {
		l.ages[db]++
	}
}

// acknowledge looks at a reply that arrived. They come in another order than
// their commands ran when their clients differ, so times decide.
func (l *ledger) acknowledge(c *call, age int) error {
	if c.args[0] != "IDEM" {
		return nil
	}
	p := c.looked[0]
	switch {
	case strings.Contains(c.reply, "acquired\r\n"):
		return l.acquired(p, claim{age: age, owner: c.args[4], from: c.now, till: c.now + c.number(5)})
	case strings.Contains(c.reply, "completed\r\n"):
		return l.saw(p, age, c.now, strings.SplitN(c.reply, "completed\r\n", 2)[1])
	case c.args[2] == "COMPLETE" && c.reply == ":1\r\n":
		return l.saw(p, age, c.now, bulk(c.args[5]))
	}
	return nil
}

func (l *ledger) acquired(p place, c claim) error {
	for _, o := range l.claims[p] {
		if c.age == o.age && c.from < o.till && o.from < c.till {
			return fmt.Errorf("two acquired at once: %s from %d to %d, %s from %d to %d", o.owner, o.from, o.till, c.owner, c.from, c.till)
		}
	}
	l.claims[p] = append(l.claims[p], c)
	return nil
}

// saw notes the result that a reply at T showed.
func (l *ledger) saw(p place, age int, t int64, result string) error {
	for i := range l.claims[p] {
		o := &l.claims[p][i]
		if o.age != age || t < o.from || t >= o.till {
			continue
		}
		if o.known && o.result != result {
			return fmt.Errorf("a completed result changed from %q to %q", o.result, result)
		}
		o.known, o.result = true, result
	}
	return nil
}
