package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes random commands over few keys, so that they meet. All are
// well formed: what a server answers to the others is tested elsewhere.
type generator struct {
	rnd    *rand.Rand
	gentle bool // nothing but IDEM itself changes records of IDEM
	values int  // makes values distinct
}

func (g *generator) of(words ...string) string { return words[g.rnd.IntN(len(words))] }

// maybe is the words now and then, or nothing.
func (g *generator) maybe(words ...string) []string {
	if g.rnd.IntN(3) > 0 {
		return nil
	}
	return words
}

func cat(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// key is one of some that lie in different slots, of some in one slot, or of
// those that hold records.
func (g *generator) key() string {
	switch g.rnd.IntN(12) {
	case 0, 1, 2:
		return fmt.Sprintf("{t}%d", g.rnd.IntN(4))
	case 3:
		return g.of("i", "o", "l") + fmt.Sprint(g.rnd.IntN(4))
	}
	return fmt.Sprintf("k%d", g.rnd.IntN(6))
}

func (g *generator) keys() []string {
	out := []string{g.key()}
	for g.rnd.IntN(2) == 0 {
		out = append(out, g.key())
	}
	return out
}

func (g *generator) pairs() []string {
	var out []string
	for _, k := range g.keys() {
		out = append(out, k, g.value())
	}
	return out
}

func (g *generator) value() string {
	g.values++
	switch g.rnd.IntN(10) {
	case 0:
		return strings.Repeat("x", 1+g.rnd.IntN(3000))
	case 1:
		return ""
	case 2, 3:
		return fmt.Sprint(g.rnd.IntN(100))
	}
	return fmt.Sprintf("v%d", g.values)
}

func (g *generator) db() string { return fmt.Sprint(g.rnd.IntN(databases)) }

// milli are times to live that pass within a run, or do not.
func (g *generator) milli() string {
	if g.rnd.IntN(4) == 0 {
		return "1000000"
	}
	return fmt.Sprint(1 + g.rnd.IntN(3000))
}

func (g *generator) next() []string {
	kinds := []func() []string{g.stringCommand, g.stringCommand, g.native, g.native, g.keyCommand, g.expireCommand, g.databaseCommand}
	if g.gentle {
		kinds = []func() []string{g.native, g.native, g.native, g.private}
	}
	return kinds[g.rnd.IntN(len(kinds))]()
}

// private are commands on keys that hold no records.
func (g *generator) private() []string {
	k := "p" + g.key()
	switch g.rnd.IntN(5) {
	case 0:
		return []string{"GET", k}
	case 1:
		return []string{"INCR", "n" + k}
	case 2:
		return []string{"DEL", k}
	case 3:
		return []string{"SET", k, g.value(), "PX", g.milli()}
	}
	return []string{"SET", k, g.value()}
}

func (g *generator) stringCommand() []string {
	switch g.rnd.IntN(16) {
	case 0:
		return []string{"SETNX", g.key(), g.value()}
	case 1:
		return []string{g.of("GETSET", "APPEND"), g.key(), g.value()}
	case 2:
		return []string{"GETDEL", g.key()}
	case 3:
		return cat([]string{"GETEX", g.key()}, g.maybe("PX", g.milli()))
	case 4:
		return cat([]string{"MGET"}, g.keys())
	case 5, 6:
		return cat([]string{g.of("MSET", "MSET", "MSETNX")}, g.pairs())
	case 7:
		return []string{g.of("INCR", "DECR"), g.key()}
	case 8:
		return []string{"INCRBY", g.key(), fmt.Sprint(g.rnd.IntN(1000) - 500)}
	case 9:
		return []string{"SETRANGE", g.key(), fmt.Sprint(g.rnd.IntN(40)), g.value()}
	case 10:
		return []string{g.of("GET", "STRLEN"), g.key()}
	case 11, 12:
		return []string{"SET", g.key(), g.value(), g.of("NX", "XX")}
	case 13:
		return cat([]string{"SET", g.key(), g.value()}, g.maybe("GET"), g.maybe("KEEPTTL"))
	case 14:
		return []string{"SET", g.key(), g.value(), "PX", g.milli()}
	}
	return []string{"SET", g.key(), g.value()}
}

func (g *generator) keyCommand() []string {
	switch g.rnd.IntN(8) {
	case 0, 1:
		return cat([]string{g.of("DEL", "UNLINK")}, g.keys())
	case 2:
		return cat([]string{"EXISTS"}, g.keys())
	case 3:
		return []string{g.of("RENAME", "RENAMENX"), g.key(), g.key()}
	case 4:
		return []string{"MOVE", g.key(), g.db()}
	case 5:
		return cat([]string{"COPY", g.key(), g.key()}, g.maybe("DB", g.db()), g.maybe("REPLACE"))
	case 6:
		return []string{"COPY", g.key(), g.key(), "DB", g.db(), "REPLACE"}
	}
	return []string{"TYPE", g.key()}
}

func (g *generator) expireCommand() []string {
	switch g.rnd.IntN(6) {
	case 0:
		return cat([]string{"EXPIRE", g.key(), fmt.Sprint(g.rnd.IntN(4))}, g.maybe(g.of("NX", "XX", "GT", "LT")))
	case 1, 2:
		return cat([]string{"PEXPIRE", g.key(), g.milli()}, g.maybe(g.of("NX", "XX", "GT", "LT")))
	case 3:
		return []string{"PERSIST", g.key()}
	}
	return []string{g.of("PTTL", "PEXPIRETIME"), g.key()}
}

func (g *generator) databaseCommand() []string {
	switch g.rnd.IntN(12) {
	case 0:
		return []string{"FLUSHDB"}
	case 1:
		return []string{"FLUSHALL"}
	case 2, 3, 4:
		return []string{"SWAPDB", g.db(), g.db()}
	case 5, 6, 7:
		return []string{"KEYS", "*"}
	}
	return []string{"SELECT", g.db()}
}

func (g *generator) native() []string {
	n := g.rnd.IntN(4)
	switch g.rnd.IntN(8) {
	case 0, 1, 2:
		return []string{"IDEM", fmt.Sprintf("i%d", n), "BEGIN", g.of("f", "f", "f", "g"), g.of("a", "b", "c"), g.milli()}
	case 3, 4, 5:
		return []string{"IDEM", fmt.Sprintf("i%d", n), "COMPLETE", "f", g.of("a", "b", "c"), g.of("r", "r", "s", strings.Repeat("z", g.rnd.IntN(2000)))}
	case 6:
		return []string{"ONCE", fmt.Sprintf("o%d", n), g.milli()}
	}
	return []string{"LIMIT", fmt.Sprintf("l%d", n), g.of("3", "7"), g.of("500", "1000"), g.of("0", "1", "2", "9")}
}
