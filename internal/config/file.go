package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxIncludeDepth and maxFiles keep files that include each other from
	// being read forever.
	maxIncludeDepth = 16
	maxFiles        = 1000
	maxFileBytes    = 16 << 20
)

// statementNames are what a file may hold besides directives.
var statementNames = []string{"include", "rename-command", "user", "loadmodule", "sentinel"}

// statement runs what is no directive, and says whether it was that.
func (l *loader) statement(where, name string, args []string) bool {
	switch name {
	case "include":
		l.include(where, args)
	case "rename-command":
		l.renameCommand(where, args)
	case "user":
		l.user(where, args)
	case "loadmodule":
		l.problem(where, "loadmodule: modules are not supported")
	case "sentinel":
		l.problem(where, "sentinel directive while not in sentinel mode")
	case "list-max-ziplist-entries", "list-max-ziplist-value", "lua-replicate-commands":
		// Redis accepts these old names and does nothing.
		if len(args) != 1 {
			l.problem(where, "%s: %s", name, errArguments)
		}
	default:
		return false
	}
	return true
}

// file reads one file and those it includes. includer is the place that names
// it, "" for the command line.
func (l *loader) file(includer, path string) {
	where, what := path, ""
	if includer != "" {
		where, what = includer, "include: "+path+": "
	}
	if len(l.within) == maxIncludeDepth || l.files == maxFiles || slices.Contains(l.within, path) {
		l.problem(where, "%sincluded too often: at most %d levels and %d files, and no file by itself", what, maxIncludeDepth, maxFiles)
		return
	}
	content, err := l.in.Read(path)
	if err != nil {
		l.problem(where, "%scan't read the configuration file: %s", what, cause(err))
		return
	}
	l.files++
	l.within = append(l.within, path)
	l.lines(path, content)
	l.within = l.within[:len(l.within)-1]
}

// stdin reads the configuration that is piped in.
func (l *loader) stdin() {
	content, err := io.ReadAll(io.LimitReader(l.in.Stdin, maxFileBytes+1))
	if err != nil {
		l.problem("standard input", "can't read the configuration: %s", err)
		return
	}
	l.within = append(l.within, filepath.Join(l.in.Dir, "standard input"))
	l.lines("standard input", content)
	l.within = l.within[:len(l.within)-1]
}

// lines reads what a file holds. Problems name file and line.
func (l *loader) lines(name string, content []byte) {
	if len(content) > maxFileBytes {
		l.problem(name, "larger than %d bytes, this is no configuration file", maxFileBytes)
		return
	}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, maxFileBytes+1)
	for number := 1; scanner.Scan(); number++ {
		l.line(fmt.Sprintf("%s:%d", l.shown(name), number), scanner.Text())
	}
}

func (l *loader) line(where, line string) {
	line = strings.Trim(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return
	}
	args, err := splitLine(line)
	if err != nil {
		l.problem(where, "%s", err)
		return
	}
	if len(args) == 0 {
		return
	}
	name := strings.ToLower(args[0])
	if !l.statement(where, name, args[1:]) {
		l.apply(where, name, args[1:])
	}
}

// shown is a path as messages name it: relative when it lies below the
// working directory.
func (l *loader) shown(path string) string {
	if rel, err := filepath.Rel(l.in.Dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// include reads other files. A relative path is looked for beside the file
// that names it, then, as Redis does, in the working directory. A pattern that
// matches nothing is fine, so that a directory of parts may be empty.
func (l *loader) include(where string, args []string) {
	if len(args) != 1 {
		l.problem(where, "include: %s", errArguments)
		return
	}
	beside := filepath.Dir(l.within[len(l.within)-1])
	if strings.ContainsAny(args[0], "*?[") {
		l.includePattern(where, args[0], beside)
		return
	}
	path := absolute(beside, args[0])
	if path != absolute(l.in.Dir, args[0]) {
		if _, err := l.in.Read(path); errors.Is(err, fs.ErrNotExist) {
			path = absolute(l.in.Dir, args[0])
		}
	}
	l.file(where, path)
}

func (l *loader) includePattern(where, pattern, beside string) {
	for _, dir := range []string{beside, l.in.Dir} {
		paths, err := l.in.Glob(absolute(dir, pattern))
		if err != nil {
			l.problem(where, "include: %s", err)
			return
		}
		for _, path := range paths {
			l.file(where, path)
		}
		if len(paths) > 0 {
			return
		}
	}
}

// absolute is path seen from dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func (l *loader) renameCommand(where string, args []string) {
	if len(args) != 2 {
		l.problem(where, "rename-command: %s", errArguments)
		return
	}
	if err := l.in.Rename(args[0], args[1]); err != nil {
		l.problem(where, "rename-command: %s", err)
	}
}

// user accepts the one line that CONFIG REWRITE of a Redis without access
// control writes: the default user may do everything without a password.
func (l *loader) user(where string, args []string) {
	harmless := []string{"on", "nopass", "sanitize-payload", "~*", "&*", "+@all"}
	if len(args) > 0 && args[0] == "default" {
		rest := slices.DeleteFunc(slices.Clone(args[1:]), func(a string) bool { return slices.Contains(harmless, a) })
		if len(rest) == 0 && slices.Contains(args, "+@all") && slices.Contains(args, "nopass") {
			return
		}
	}
	l.problem(where, "user: access control lists are not supported yet, use requirepass")
}

// cause is an error without the path that a PathError repeats.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
