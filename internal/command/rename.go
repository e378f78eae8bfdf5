package command

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// Renames is the table's index of names with rename-command statements
// carried out. The rows themselves stay: counters, documentation and COMMAND
// LIST know a command by its own name.
type Renames struct {
	byName  map[string]*Command
	changed bool
}

// NewRenames is the table's index as it is. Nothing of it changes before Use.
func NewRenames() *Renames {
	r := &Renames{byName: make(map[string]*Command, len(rows))}
	for _, c := range rows {
		r.byName[c.Name] = c
	}
	return r
}

// Rename gives a command another name; an empty one takes the command away.
// With an error nothing has changed.
func (r *Renames) Rename(command, name string) error {
	from, to := strings.ToLower(command), strings.ToLower(name)
	c := r.byName[from]
	switch {
	case c == nil:
		return errors.New("no such command: " + command)
	case to != "" && to != from && r.byName[to] != nil:
		return errors.New("target command name already exists: " + name)
	}
	r.changed = true
	delete(r.byName, from)
	if to == "" {
		return nil
	}
	// A copy, so that errors which name the command say the new one.
	renamed := *c
	renamed.Name = to
	r.byName[to] = &renamed
	return nil
}

// Any says whether a command was renamed or taken away.
func (r *Renames) Any() bool { return r.changed }

// Use makes Lookup and Resolve go by the new names; undo takes them back. Not
// while commands run.
func (r *Renames) Use() (undo func()) {
	old := names
	names = newNameIndex(slices.Collect(maps.Values(r.byName)))
	return func() { names = old }
}
