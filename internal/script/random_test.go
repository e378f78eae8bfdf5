package script

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes random commands over a small keyspace, so that they meet:
// mostly sensible ones, some with options that exclude each other, values out
// of range or a wrong number of arguments.
type generator struct {
	rnd *rand.Rand
	// floats picks between INCRBYFLOAT and OBJECT ENCODING. Redis calls the
	// result of the former embstr even when it is an integer; Hapax calls any
	// integer int, so the two never run on the same keys.
	floats bool
}

func newGenerator(seed uint64) *generator {
	return &generator{rnd: rand.New(rand.NewPCG(seed, 1)), floats: seed%2 == 0}
}

func (g *generator) of(words ...string) string { return words[g.rnd.IntN(len(words))] }

// maybe is the words now and then, nothing otherwise.
func (g *generator) maybe(words ...string) []string {
	if g.rnd.IntN(3) > 0 {
		return nil
	}
	return words
}

func (g *generator) key() string { return fmt.Sprintf("k%d", g.rnd.IntN(6)) }

func (g *generator) keys() []string {
	out := []string{g.key()}
	for g.rnd.IntN(3) == 0 {
		out = append(out, g.key())
	}
	return out
}

func (g *generator) int() string {
	return g.of("0", "1", "-1", "7", "100", "-100", "9223372036854775807", "-9223372036854775808",
		"9223372036854775806", "4611686018427387904", "01", "+1", "1.0", "", "x", " 1", "9223372036854775808")
}

func (g *generator) smallInt() string {
	return g.of("0", "1", "2", "3", "5", "10", "-1", "-2", "-5", "-10", "100", "x")
}

func (g *generator) value() string {
	return g.of("", "a", "hello", "12", "-7", "10000", "9223372036854775807", "3.25", "1e3", "0", "007",
		"\x00\xff\r\n", strings.Repeat("v", 44), strings.Repeat("w", 45), strings.Repeat("z", 700))
}

func (g *generator) db() string { return g.of("0", "0", "1", "2", "16", "-1", "x") }

// Relative times are far off or past, never near, and never twice the same:
// the two servers' clocks differ a little, which must not decide an EXPIRE GT.
func (g *generator) seconds() string {
	return g.of(g.far(""), g.far(""), g.far(""), g.far(""), "0", "-1", "9223372036854775", "9223372036854775807", "x", "1.5")
}

func (g *generator) milli() string {
	return g.of(g.far("000"), g.far("000"), g.far("000"), "0", "-1", "9223372036854775807", "x")
}

// far is a number of seconds, with the zeros that make it milliseconds.
func (g *generator) far(zeros string) string {
	return fmt.Sprintf("%d%s", 1000+2*clockToleranceMilli/1000*g.rnd.IntN(50_000_000), zeros)
}

func (g *generator) atSeconds() string {
	return g.of("33177117420", "33177117420", "33177117421", "40000000000", "1", "0", "-1", "9223372036854776", "x")
}

func (g *generator) atMilli() string {
	return g.of("33177117420000", "33177117420000", "33177117420500", "40000000000000", "1", "0", "-5", "9223372036854775807", "x")
}

// mangle changes the shape of a command now and then.
func (g *generator) mangle(args []string) []string {
	switch g.rnd.IntN(40) {
	case 0:
		return args[:1+g.rnd.IntN(len(args))]
	case 1:
		return append(args, g.of("x", "NX", "GET", "1"))
	case 2:
		args[0] = strings.ToLower(args[0])
	}
	return args
}

// next is one command.
func (g *generator) next() []string {
	switch g.rnd.IntN(10) {
	case 0, 1, 2:
		return g.mangle(g.keysCommand())
	case 3:
		return g.mangle(g.expireCommand())
	case 4:
		return g.mangle(g.databaseCommand())
	default:
		return g.mangle(g.stringCommand())
	}
}

func cat(parts ...[]string) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func (g *generator) keysCommand() []string {
	switch g.rnd.IntN(12) {
	case 0:
		return cat([]string{g.of("DEL", "UNLINK")}, g.keys())
	case 1:
		return cat([]string{g.of("EXISTS", "TOUCH")}, g.keys())
	case 2:
		return []string{"TYPE", g.key()}
	case 3, 4:
		return []string{g.of("RENAME", "RENAMENX"), g.key(), g.key()}
	case 5, 6:
		return cat([]string{"COPY", g.key(), g.key()}, g.maybe("DB", g.db()), g.maybe("REPLACE"), g.maybe("DB", g.db()))
	case 7:
		return []string{"MOVE", g.key(), g.db()}
	case 8:
		return []string{"KEYS", g.of("*", "k?", "k[0-3]", "k[^0-3]", "nosuch", "k1", "\\k2", "k*[135]")}
	case 9:
		return cat([]string{"SCAN", "0", "COUNT", g.of("100", "1000", "100", "0", "x")},
			g.maybe("MATCH", g.of("*", "k?", "k[2-9]")), g.maybe("TYPE", g.of("string", "list", "STRING")))
	case 10:
		// Not REFCOUNT: whether Redis shares a small integer depends on the
		// command that made it.
		if g.floats {
			return []string{"OBJECT", "IDLETIME", "nosuch"}
		}
		return []string{"OBJECT", "ENCODING", g.key()}
	default:
		// Not DBSIZE: when a key that has expired stops counting is up to
		// each server. Asking for every key makes both forget it.
		return []string{"EXISTS", "k0", "k1", "k2", "k3", "k4", "k5"}
	}
}

func (g *generator) expireCommand() []string {
	options := cat(g.maybe(g.of("NX", "XX", "GT", "LT")), g.maybe(g.of("NX", "XX", "gt", "lt", "ZZ")))
	switch g.rnd.IntN(9) {
	case 0, 1:
		return cat([]string{"EXPIRE", g.key(), g.seconds()}, options)
	case 2:
		return cat([]string{"PEXPIRE", g.key(), g.milli()}, options)
	case 3:
		return cat([]string{"EXPIREAT", g.key(), g.atSeconds()}, options)
	case 4, 5:
		return cat([]string{"PEXPIREAT", g.key(), g.atMilli()}, options)
	case 6:
		return []string{"PERSIST", g.key()}
	default:
		return []string{g.of("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), g.key()}
	}
}

func (g *generator) databaseCommand() []string {
	switch g.rnd.IntN(24) {
	case 0:
		return cat([]string{g.of("FLUSHDB", "FLUSHALL")}, g.maybe(g.of("ASYNC", "SYNC", "NOW")))
	case 1, 2, 3:
		return []string{"SWAPDB", g.db(), g.db()}
	case 4, 5, 6, 7, 8, 9:
		return []string{"SELECT", g.db()}
	default:
		return []string{"GET", g.key()}
	}
}

func (g *generator) stringCommand() []string {
	switch g.rnd.IntN(20) {
	case 0, 1, 2:
		return g.setCommand()
	case 3:
		return []string{"GET", g.key()}
	case 4:
		return []string{"SETNX", g.key(), g.value()}
	case 5:
		return g.ofTwo([]string{"SETEX", g.key(), g.seconds(), g.value()}, []string{"PSETEX", g.key(), g.milli(), g.value()})
	case 6:
		return g.ofTwo([]string{"GETSET", g.key(), g.value()}, []string{"GETDEL", g.key()})
	case 7:
		return g.getexCommand()
	case 8:
		return cat([]string{"MGET"}, g.keys())
	case 9, 10:
		out := []string{g.of("MSET", "MSETNX")}
		for _, k := range g.keys() {
			out = append(out, k, g.value())
		}
		return out
	case 11, 12:
		return []string{"APPEND", g.key(), g.value()}
	case 13:
		return []string{"STRLEN", g.key()}
	case 14:
		return []string{g.of("GETRANGE", "SUBSTR"), g.key(), g.smallInt(), g.smallInt()}
	case 15:
		return []string{"SETRANGE", g.key(), g.smallInt(), g.value()}
	case 16, 17:
		return g.ofTwo([]string{g.of("INCR", "DECR"), g.key()}, []string{g.of("INCRBY", "DECRBY"), g.key(), g.int()})
	case 18:
		if !g.floats {
			return []string{"GET", g.key()}
		}
		return []string{"INCRBYFLOAT", g.key(), g.of("0.1", "0.25", "-3.5", "1e2", "5", "x", "", "1e-3", "inf", "nan")}
	default:
		return cat([]string{"LCS", g.key(), g.key()}, g.maybe("LEN"), g.maybe("IDX"), g.maybe("MINMATCHLEN", g.smallInt()), g.maybe("WITHMATCHLEN"))
	}
}

func (g *generator) ofTwo(a, b []string) []string {
	if g.rnd.IntN(2) == 0 {
		return a
	}
	return b
}

func (g *generator) setCommand() []string {
	out := cat([]string{"SET", g.key(), g.value()}, g.maybe(g.of("NX", "XX", "xx", "ZZ")), g.maybe("GET"))
	switch g.rnd.IntN(8) {
	case 0:
		out = append(out, "EX", g.seconds())
	case 1:
		out = append(out, "px", g.milli())
	case 2:
		out = append(out, "EXAT", g.atSeconds())
	case 3:
		out = append(out, "PXAT", g.atMilli())
	case 4:
		out = append(out, "KEEPTTL")
	case 5:
		out = append(out, "KEEPTTL", "EX", g.seconds())
	}
	return out
}

func (g *generator) getexCommand() []string {
	out := []string{"GETEX", g.key()}
	switch g.rnd.IntN(7) {
	case 0:
		return append(out, "EX", g.seconds())
	case 1:
		return append(out, "PX", g.milli())
	case 2:
		return append(out, "EXAT", g.atSeconds())
	case 3:
		return append(out, "PXAT", g.atMilli())
	case 4:
		return append(out, "PERSIST")
	case 5:
		return append(out, "PERSIST", "EX", g.seconds())
	}
	return out
}
