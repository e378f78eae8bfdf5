package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Section is a part of the table for people: the help text and
// docs/configuration.md are made of it.
type Section struct {
	Title, Intro string
	Idle         bool // nothing in it has an effect
	Rows         []Row
}

// Row is one directive.
type Row struct {
	Name, Alias, Default, Values string
	Runtime                      bool // CONFIG SET may change it
	Doc                          string
}

// Describe returns the table in the order of the documentation.
func Describe() []Section {
	var out []Section
	for _, g := range allGroups {
		s := Section{Title: g.title, Intro: g.intro, Idle: g.idle}
		for i := range g.rows {
			d := &g.rows[i]
			s.Rows = append(s.Rows, Row{
				Name: d.name, Alias: d.alias, Default: d.shownDefault(), Values: d.shownValues(),
				Runtime: !d.fixed && !d.starting && !d.protected, Doc: d.doc,
			})
		}
		out = append(out, s)
	}
	return out
}

// shownDefault is the default as a file would hold it.
func (d *directive) shownDefault() string {
	var out []string
	for _, line := range d.configLines(d.def) {
		out = append(out, strings.TrimPrefix(line, d.name+" "))
	}
	return strings.Join(out, ", ")
}

func (d *directive) shownValues() string {
	switch d.kind {
	case boolean:
		return "yes, no"
	case word:
		return strings.Join(d.choices, ", ")
	case words:
		return "some of " + strings.Join(d.choices, ", ")
	case integer:
		return bounds(strconv.FormatInt(d.min, 10), strconv.FormatInt(d.max, 10), d.max >= maxInt32)
	case memory:
		return bounds(formatMemory(max(d.min, 0)), formatMemory(d.max), d.max == maxInt64) + " bytes"
	case octal:
		return fmt.Sprintf("%o to %o, octal", d.min, d.max)
	case list:
		return "words"
	}
	return "text"
}

func bounds(lowest, highest string, open bool) string {
	if open {
		return "from " + lowest
	}
	return lowest + " to " + highest
}
