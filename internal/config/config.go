// Package config reads redis.conf syntax, flags and environment into one set
// of values, and answers CONFIG GET, SET and REWRITE from it.
//
// It promises that every directive of Redis 7.2 is known, that a name it does
// not know is an error which says the one that was meant, if any is near, and that a value it accepts is
// within the directive's bounds. It assumes that its caller acts on the values
// and refuses what it cannot do. It opens no file and changes nothing outside
// of the Config it returns.
package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Config is one complete set of values. A loaded Config does not change; Set
// and With return changed copies, so that readers need no lock.
type Config struct {
	values []string // canonical, by directive.index
	from   []string // where each was set; "" for the default

	// File is the absolute path of the configuration file, "" when there is none.
	File string
	// Stdin says that standard input was read; Flags and Variables count what
	// the command line and the environment set.
	Stdin            bool
	Flags, Variables int
	// Warnings are for the log: what was accepted although it does nothing.
	Warnings []string
}

// Default is the configuration of a server started without any.
func Default() *Config {
	c := &Config{
		values: make([]string, len(directives)),
		from:   make([]string, len(directives)),
	}
	for i, d := range directives {
		c.values[i] = d.def
	}
	return c
}

func (c *Config) clone() *Config {
	d := *c
	d.values = slices.Clone(c.values)
	d.from = slices.Clone(c.from)
	d.Warnings = slices.Clone(c.Warnings)
	return &d
}

// Text is a directive's value as CONFIG GET shows it. Like all of these it
// panics on a name that is not in the table, which is a mistake of the program.
func (c *Config) Text(name string) string { return c.values[mustFind(name).index] }

// Bool is the value of a yes/no directive.
func (c *Config) Bool(name string) bool {
	mustBe(name, boolean)
	return c.Text(name) == "yes"
}

// Int is the value of a number, in bytes when it is a memory size.
func (c *Config) Int(name string) int64 {
	d := mustBe(name, integer, memory, octal)
	base := 10
	if d.kind == octal {
		base = 8
	}
	n, err := strconv.ParseInt(c.Text(name), base, 64)
	if err != nil {
		panic(fmt.Sprintf("config: %s holds %q: %v", name, c.Text(name), err))
	}
	return n
}

// List is the value of a directive of several words.
func (c *Config) List(name string) []string {
	mustBe(name, list, words)
	return strings.Fields(c.Text(name))
}

// With returns a copy in which the program itself changed a value, such as a
// limit that the system does not grant.
func (c *Config) With(name, value string) *Config {
	d := mustFind(name)
	canonical, err := d.parse(d.split(value), c.values[d.index])
	if err != nil {
		panic(fmt.Sprintf("config: %s %q: %v", name, value, err))
	}
	next := c.clone()
	next.values[d.index] = canonical
	return next
}

// OutputLimit is client-output-buffer-limit of one class of clients.
func (c *Config) OutputLimit(class string) (hardBytes, softBytes, softSec int64) {
	limits := parseOutputLimits(c.Text("client-output-buffer-limit"))
	l := limits[class]
	return l.hardBytes, l.softBytes, l.softSec
}

// SaveRule is one pair of save: a snapshot after so many seconds and changes.
type SaveRule struct{ Seconds, Changes int64 }

// SaveRules are the pairs of save.
func (c *Config) SaveRules() []SaveRule {
	var rules []SaveRule
	for pair := range slices.Chunk(c.List("save"), 2) {
		var r SaveRule
		if _, err := fmt.Sscan(pair[0]+" "+pair[1], &r.Seconds, &r.Changes); err != nil {
			panic(fmt.Sprintf("config: save holds %q: %v", c.Text("save"), err))
		}
		rules = append(rules, r)
	}
	return rules
}

func mustFind(name string) *directive {
	d, _ := find(name)
	if d == nil {
		panic("config: no directive " + name)
	}
	return d
}

func mustBe(name string, kinds ...kind) *directive {
	d := mustFind(name)
	if !slices.Contains(kinds, d.kind) {
		panic("config: " + name + " is of another kind")
	}
	return d
}
