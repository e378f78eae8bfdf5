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
type Renames struct{ index nameIndex }

// PrepareRenames carries out pairs of a command's name and the one it gets, in
// order; an empty one takes the command away. Nothing changes before Use.
func PrepareRenames(pairs [][2]string) (*Renames, error) {
	byName := make(map[string]*Command, len(rows))
	for _, c := range rows {
		byName[c.Name] = c
	}
	for _, p := range pairs {
		from, to := strings.ToLower(p[0]), strings.ToLower(p[1])
		c := byName[from]
		if c == nil {
			return nil, errors.New("no such command: " + p[0])
		}
		delete(byName, from)
		if to == "" {
			continue
		}
		if byName[to] != nil {
			return nil, errors.New("target command name already exists: " + p[1])
		}
		// A copy, so that errors which name the command say the new one.
		renamed := *c
		renamed.Name = to
		byName[to] = &renamed
	}
	return &Renames{newNameIndex(slices.Collect(maps.Values(byName)))}, nil
}

// Use makes Lookup and Resolve go by the new names; undo takes them back. Not
// while commands run.
func (r *Renames) Use() (undo func()) {
	old := names
	names = r.index
	return func() { names = old }
}
