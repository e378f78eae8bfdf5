// Command hapax-server is the daemon: it reads the configuration, opens the
// store, serves, and says with its exit code how that ended.
//
//	hapax-server [file] [--directive value…]
//	hapax-server check|dump|stat|repair|restore …
//
// The second form works on files and serves nobody; see docs/tools.md.
//
// The daemon ends with 0 after an orderly stop, with 1 when it could not start or had
// to give up, and with 130 when a second signal cut the stop short.
package main

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

// version is set by the linker.
var version = "unknown"

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitInterrupted = 130
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	// A log reader that goes away must not take the server with it.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	p := process{
		args:    os.Args[1:],
		env:     os.Environ(),
		dir:     dir,
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		signals: signals,
		exit:    os.Exit,
	}
	os.Exit(p.main())
}

// process is what the program is given; a test makes its own.
type process struct {
	args, env      []string
	dir            string // working directory, absolute
	stdin          io.Reader
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	exit           func(code int) // at once, when nothing else can end it
}

// programNames may stand before the arguments, as container commands have it.
var programNames = []string{"hapax-server", "redis-server"}

// main runs the program and returns its exit code.
func (p *process) main() int {
	if len(p.args) > 0 && slices.Contains(programNames, filepath.Base(p.args[0])) {
		p.args = p.args[1:]
	}
	if len(p.args) == 1 {
		switch p.args[0] {
		case "-v", "--version":
			printVersion(p.stdout)
			return exitOK
		case "-h", "--help":
			printHelp(p.stdout)
			return exitOK
		}
	}
	if s := findSubcommand(p.args); s != nil {
		return p.tool(s)
	}
	switch {
	case p.takeFlag("--check-config"):
		return p.checkConfig()
	case p.takeFlag("--healthcheck"):
		return p.healthCheck()
	}
	return p.daemon()
}

// takeFlag removes a flag of the program itself and says whether it was there.
func (p *process) takeFlag(name string) bool {
	i := slices.Index(p.args, name)
	if i < 0 {
		return false
	}
	p.args = slices.Delete(slices.Clone(p.args), i, i+1)
	return true
}
