package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hapaxkv/hapax/internal/inspect"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// exitUsage says that a subcommand was called in a wrong way.
const exitUsage = 2

// subcommand is a tool that works on files instead of serving.
type subcommand struct {
	name string
	args string // after the name, in the usage line
	does string // one line
	more string // paragraphs for --help, below the flags
	// setup declares flags and returns what runs once they are parsed.
	setup func(c *toolCall) func() error
}

var subcommands = []subcommand{checkCommand, dumpCommand, statCommand, repairCommand, restoreCommand}

// toolCall is one call of a subcommand.
type toolCall struct {
	p     *process
	flags *flag.FlagSet
	path  string // the argument, absolute
}

// errFailed says that a tool found what its exit code has to tell, and has
// said so.
var errFailed = errors.New("failed")

// usageError is a wrong call.
type usageError struct{ error }

// findSubcommand is the tool that the first argument names, nil for none. A
// configuration file of that name is read as ./check.
func findSubcommand(args []string) *subcommand {
	if len(args) == 0 {
		return nil
	}
	for i := range subcommands {
		if subcommands[i].name == args[0] {
			return &subcommands[i]
		}
	}
	return nil
}

// tool runs a subcommand and returns the exit code. A signal ends it at once:
// whatever it was writing is made for that.
func (p *process) tool(s *subcommand) int {
	code := make(chan int, 1)
	go func() { code <- p.runTool(s) }()
	for {
		select {
		case c := <-code:
			return c
		case sig := <-p.signals:
			if sig != syscall.SIGHUP {
				return exitInterrupted
			}
		}
	}
}

func (p *process) runTool(s *subcommand) int {
	c := &toolCall{p: p, flags: flag.NewFlagSet(s.name, flag.ContinueOnError)}
	c.flags.SetOutput(io.Discard)
	run := s.setup(c)
	err := c.parse(p.args[1:])
	if err == nil {
		err = run()
	}
	var usage usageError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // whoever reads has seen enough
		return exitOK
	case errors.Is(err, flag.ErrHelp):
		c.help(p.stdout, s)
		return exitOK
	case errors.Is(err, errFailed):
		return exitFailure
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "hapax-server %s: %v\n", s.name, err)
		c.help(p.stderr, s)
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "hapax-server %s: %v\n", s.name, err)
	return exitFailure
}

// parse reads flags before and behind the one argument.
func (c *toolCall) parse(args []string) error {
	var rest []string
	for {
		if err := c.flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return usageError{err}
		}
		if c.flags.NArg() == 0 {
			break
		}
		rest = append(rest, c.flags.Arg(0))
		args = c.flags.Args()[1:]
	}
	if len(rest) != 1 {
		return usageError{fmt.Errorf("it takes one path, not %d", len(rest))}
	}
	c.path = filepath.ToSlash(c.p.path(rest[0]))
	return nil
}

func (c *toolCall) help(w io.Writer, s *subcommand) {
	fmt.Fprintf(w, "Usage: hapax-server %s %s\n\n%s\n\n", s.name, s.args, s.does)
	c.flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		name := strings.TrimSpace("--" + f.Name + " " + value)
		fmt.Fprintf(w, "  %-18s %s\n", name, text)
	})
	fmt.Fprintf(w, "  %-18s %s\n", "--help", "print this")
	if s.more != "" {
		fmt.Fprintf(w, "\n%s\n", s.more)
	}
	fmt.Fprint(w, "\nExit code: 0 good, 1 damaged or failed, 2 called in a wrong way. docs/tools.md has examples.\n")
}

// target is what the argument names, on a file system that nothing changes.
func (c *toolCall) target() *inspect.Target {
	return &inspect.Target{FS: vfs.ReadOnly(), Path: c.path, PlaceOf: placeOf, Progress: c.p.progress()}
}

func placeOf(key []byte, secrets *[4]uint64) uint64 { return uint64(shard.PlaceOf(key, secrets)) }

// progressPeriod is how often long work says how far it is.
const progressPeriod = time.Second

// progress prints lines on standard error, nothing for work that is short.
func (p *process) progress() func(what string, done, total int64) {
	last := time.Now()
	return func(what string, done, total int64) {
		if time.Since(last) < progressPeriod || total <= 0 {
			return
		}
		last = time.Now()
		fmt.Fprintf(p.stderr, "%s: %d%% of %d MB\n", what, done*100/total, total>>20)
	}
}

// wrongPath makes the usual error of a path that does not exist readable.
func wrongPath(err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) && errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file or directory", pathError.Path)
	}
	return err
}
