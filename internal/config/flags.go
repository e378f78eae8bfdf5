package config

import (
	"path/filepath"
	"strings"
)

// flagSet is what the command line says.
type flagSet struct {
	stdin    bool
	settings []setting
}

// setting is one directive with where it was given.
type setting struct {
	where string
	name  string
	args  []string
}

// splitFlags takes the command line apart as Redis does: first a file, - for
// standard input first or last, then --name and its values up to the next
// --name. The first value may itself begin with --. It also takes --name=value.
func (l *loader) splitFlags() flagSet {
	var out flagSet
	args := l.in.Args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		l.cfg.File = absolute(l.in.Dir, filepath.FromSlash(args[0]))
		args = args[1:]
	}
	wantsValue := false
	for i, a := range args {
		last := i == len(args)-1
		switch {
		case a == "-" && (i == 0 || last) && !wantsValue:
			out.stdin = true
		case strings.HasPrefix(a, "--") && !wantsValue:
			s := splitFlag(a)
			wantsValue = s.args == nil
			// An empty list may be given by its name alone.
			if s.name == "save" && wantsValue && (last || strings.HasPrefix(args[i+1], "--")) {
				s.args, wantsValue = []string{""}, false
			}
			out.settings = append(out.settings, s)
		case len(out.settings) == 0:
			l.problem("command line", "'%s' belongs to no option", a)
		default:
			s := &out.settings[len(out.settings)-1]
			s.args = append(s.args, a)
			wantsValue = false
		}
	}
	return out
}

// splitFlag reads --name, --name=value, or --name and values in one argument.
// args is nil when there is no value yet.
func splitFlag(arg string) setting {
	body := arg[len("--"):]
	if name, value, ok := strings.Cut(body, "="); ok && !strings.ContainsAny(name, " \t") {
		return setting{where: "--" + name, name: strings.ToLower(name), args: []string{value}}
	}
	fields, err := splitLine(body)
	if err != nil || len(fields) < 2 {
		name := strings.TrimSpace(body)
		return setting{where: "--" + name, name: strings.ToLower(name)}
	}
	return setting{where: "--" + fields[0], name: strings.ToLower(fields[0]), args: fields[1:]}
}
