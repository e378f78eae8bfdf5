package config

import (
	"fmt"
	"strings"
)

// SetError is the reply to a CONFIG SET that failed; it changed nothing.
type SetError string

func (e SetError) Error() string { return string(e) }

// failed is the reply about one argument; why may be empty.
func failed(name, why string) error {
	reply := fmt.Sprintf("ERR CONFIG SET failed (possibly related to argument '%s')", name)
	if why != "" {
		reply += " - " + why
	}
	return SetError(reply)
}

// Failed is the reply when the server cannot do what a valid value asks for.
func Failed(name, why string) error { return failed(name, why) }

// errImmutable is the reason for what is fixed at start.
const errImmutable = "can't set immutable config"

// Set returns a copy with the pairs' values, or an error whose text is the
// reply: all or none.
func (c *Config) Set(pairs [][2]string) (*Config, error) {
	if err := c.maySet(pairs); err != nil {
		return nil, err
	}
	next := c.clone()
	for _, p := range pairs {
		d, as := find(p[0])
		now := c.values[d.index]
		before := now
		if d.merges {
			before = ""
		}
		value, err := d.parse(d.split(p[1]), before)
		switch {
		case err != nil:
			return nil, failed(as, err.Error())
		case value == now:
			continue
		case d.starting:
			return nil, failed(as, errImmutable)
		case d.refuse != "" && value != d.def:
			return nil, failed(as, d.refuse)
		}
		next.values[d.index], next.from[d.index] = value, "CONFIG SET"
	}
	return next, nil
}

// maySet refuses what no value could make right: the first pair whose name is
// unknown, may not be set, or came before. Two names of one directive are not
// the same, as in Redis; the later wins.
func (c *Config) maySet(pairs [][2]string) error {
	seen := map[string]bool{}
	for _, p := range pairs {
		d, as := find(p[0])
		switch {
		case d == nil:
			return SetError(fmt.Sprintf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", p[0]))
		case d.fixed:
			return failed(p[0], errImmutable)
		case d.protected && c.Text("enable-protected-configs") != "yes":
			return failed(p[0], "can't set protected config")
		case seen[as]:
			return failed(p[0], "duplicate parameter")
		}
		seen[as] = true
	}
	return nil
}

// Get answers CONFIG GET: names and values, each name once, in table order. A
// plain name is answered under the name that was asked for. match compares a
// pattern with a name in any case.
func (c *Config) Get(patterns []string, match func(pattern, name string) bool) [][2]string {
	var out [][2]string
	told := map[string]bool{}
	tell := func(name string, d *directive) {
		if key := strings.ToLower(name); !told[key] {
			told[key] = true
			out = append(out, [2]string{name, c.values[d.index]})
		}
	}
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, "[*?") {
			if d, _ := find(pattern); d != nil {
				tell(pattern, d)
			}
			continue
		}
		for _, d := range directives {
			for _, name := range d.names() {
				if !d.hidden && match(pattern, name) {
					tell(name, d)
				}
			}
		}
	}
	return out
}
