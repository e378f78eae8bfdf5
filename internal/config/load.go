package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// Input is where a configuration comes from. Files are read through it, so
// that this package opens none.
type Input struct {
	Args    []string // without the program's name
	Environ []string // as os.Environ
	Stdin   io.Reader
	Dir     string // working directory, absolute
	Read    func(path string) ([]byte, error)
	Glob    func(pattern string) ([]string, error)
	// Rename carries out one rename-command: a command's name and the one it
	// gets, "" to take it away.
	Rename func(command, name string) error
}

// Problem is something that keeps a configuration from being used.
type Problem struct {
	Where string // file:line, flag or variable
	Text  string
}

// Problems is every problem that was found; an error.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Where + ": " + one.Text
	}
	return strings.Join(lines, "\n")
}

// Load reads defaults, then the file, the environment and the flags, of which
// a later one wins. The error is Problems: all of them, not only the first.
// With an error the Config is there for its Warnings alone.
func Load(in Input) (*Config, error) {
	l := &loader{in: in, cfg: Default()}
	flags := l.splitFlags()

	l.nextSource()
	if l.cfg.File != "" {
		l.file("", l.cfg.File)
	}
	if l.cfg.Stdin = flags.stdin; flags.stdin {
		l.stdin()
	}
	l.nextSource()
	l.environment()
	l.nextSource()
	l.cfg.Flags = len(flags.settings)
	for _, f := range flags.settings {
		l.apply(f.where, f.name, f.args)
	}

	l.warnIdle()
	if len(l.problems) > 0 {
		return l.cfg, l.problems
	}
	return l.cfg, nil
}

// loader collects a Config while its sources are read.
type loader struct {
	in       Input
	cfg      *Config
	problems Problems

	seen   map[*directive]bool // by the present source; lines that add up begin anew
	within []string            // the files being read, outermost first
	files  int                 // files read in all
}

func (l *loader) nextSource() { l.seen = map[*directive]bool{} }

func (l *loader) problem(where, format string, args ...any) {
	l.problems = append(l.problems, Problem{printable(where), printable(fmt.Sprintf(format, args...))})
}

// printable keeps a message on one line, whatever names and paths it repeats.
func printable(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

func (l *loader) warn(format string, args ...any) {
	l.cfg.Warnings = append(l.cfg.Warnings, printable(fmt.Sprintf(format, args...)))
}

// apply sets one directive.
func (l *loader) apply(where, name string, args []string) {
	d, as := find(name)
	if d == nil {
		guess := ""
		if near, _ := nearest(as); near != "" {
			guess = ", did you mean '" + near + "'?"
		}
		l.problem(where, "unknown directive '%s'%s", name, guess)
		return
	}
	// A list may come as one word with spaces, from the environment or a flag.
	if len(args) == 1 && strings.Contains(args[0], " ") {
		args = d.split(args[0])
	}
	before := l.cfg.values[d.index]
	if d.merges && !l.seen[d] {
		before = ""
	}
	value, err := d.parse(args, before)
	if err != nil {
		l.problem(where, "%s: %s", as, err)
		return
	}
	if d.refuse != "" && value != d.def {
		l.problem(where, "%s: %s", as, d.refuse)
		return
	}
	l.seen[d] = true
	l.cfg.values[d.index], l.cfg.from[d.index] = value, where
}

// warnIdle tells, in one line, what was set although it does nothing here,
// and apart from it what somebody might rely on.
func (l *loader) warnIdle() {
	var idle []string
	for i, d := range directives {
		if from := l.cfg.from[i]; d.idle && from != "" {
			idle = append(idle, d.name+" ("+from+")")
		}
	}
	if len(idle) > 0 {
		l.warn("accepted, but without effect here: %s", strings.Join(idle, ", "))
	}
	for _, w := range consequences {
		if l.cfg.Text(w.name) != w.unless {
			l.warn("%s", w.text)
		}
	}
}

// consequences are values that do not do what they promise elsewhere.
var consequences = []struct{ name, unless, text string }{
	{"daemonize", "no", "daemonize yes: the server stays in the foreground; let a supervisor run it in the background"},
	{"supervised", "no", "supervised: the supervisor is not told when the server is ready; it answers LOADING until it is"},
	{"tls-port", "0", "tls-port: TLS is not supported yet, nothing listens on that port"},
	{"cluster-enabled", "no", "cluster-enabled yes: clustering is not supported yet, the server runs alone"},
	{"syslog-enabled", "no", "syslog-enabled yes: messages go to logfile or standard output only"},
}
