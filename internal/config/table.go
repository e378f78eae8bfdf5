package config

import (
	"math"
	"strings"
)

// group is a section of the table, of docs/configuration.md too.
type group struct {
	title string
	intro string
	idle  bool
	rows  []directive
}

// groups is the whole table in the order of the documentation.
func groups() []*group {
	return []*group{
		networkGroup(), generalGroup(), durabilityGroup(), memoryGroup(), clientsGroup(), securityGroup(), engineGroup(),
		idlePersistence(), idleReplication(), idleCluster(), idleTLS(), idleMemory(), idleValues(), idleProcess(), idleMonitoring(),
	}
}

// directives is every row, names every name and alias, byName finds a row.
var (
	allGroups  = groups()
	directives = flatten(allGroups)
	byName     = index(directives)
	names      = allNames(directives)
)

func flatten(groups []*group) []*directive {
	var out []*directive
	for _, g := range groups {
		for i := range g.rows {
			d := &g.rows[i]
			d.group, d.index = g, len(out)
			d.idle = d.idle || g.idle
			out = append(out, d)
		}
	}
	return out
}

func index(all []*directive) map[string]*directive {
	m := make(map[string]*directive, 2*len(all))
	for _, d := range all {
		for _, name := range d.names() {
			if m[name] != nil {
				panic("config: two directives named " + name)
			}
			m[name] = d
		}
	}
	return m
}

func allNames(all []*directive) []string {
	var out []string
	for _, d := range all {
		out = append(out, d.names()...)
	}
	return append(out, statementNames...)
}

func (d *directive) names() []string {
	if d.alias == "" {
		return []string{d.name}
	}
	return []string{d.name, d.alias}
}

// find looks a name up in any case, and tells by which of its names.
func find(name string) (d *directive, as string) {
	as = strings.ToLower(name)
	return byName[as], as
}

// What follows makes rows; each is named after what the value looks like.

func yesNo(name, def, doc string) directive {
	return directive{name: name, kind: boolean, def: def, doc: doc}
}

func number(name, def string, lowest, highest int64, doc string) directive {
	return directive{name: name, kind: integer, def: def, min: lowest, max: highest, doc: doc}
}

func size(name, def string, lowest, highest int64, doc string) directive {
	return directive{name: name, kind: memory, def: def, min: lowest, max: highest, doc: doc}
}

func choice(name, def, doc string, choices ...string) directive {
	return directive{name: name, kind: word, def: def, choices: choices, doc: doc}
}

func str(name, def, doc string) directive {
	return directive{name: name, kind: text, def: def, doc: doc}
}

func several(name, def, doc string, read func(args []string, before string) (string, error)) directive {
	return directive{name: name, kind: list, def: def, doc: doc, read: read}
}

func (d directive) was(alias string) directive             { d.alias = alias; return d }
func (d directive) immutable() directive                   { d.fixed = true; return d }
func (d directive) atStart() directive                     { d.starting = true; return d }
func (d directive) guarded() directive                     { d.protected = true; return d }
func (d directive) concealed() directive                   { d.hidden = true; return d }
func (d directive) adding() directive                      { d.merges = true; return d }
func (d directive) checked(f func(string) error) directive { d.check = f; return d }
func (d directive) without(why string) directive           { d.refuse = why; return d }
func (d directive) orShare() directive                     { d.percent = true; return d }

// Upper bounds that many rows share.
const (
	maxInt32  = math.MaxInt32
	maxUint32 = math.MaxUint32
	maxInt64  = math.MaxInt64
)
