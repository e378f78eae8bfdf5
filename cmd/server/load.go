package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/config"
)

// load reads the configuration. Paths in it that are used later are made
// absolute, so that messages and CONFIG GET name them in full.
func (p *process) load() (*config.Config, *command.Renames, error) {
	renames := command.NewRenames()
	cfg, err := config.Load(config.Input{
		Args:    p.args,
		Environ: p.env,
		Stdin:   p.stdin,
		Dir:     p.dir,
		Read:    os.ReadFile,
		Glob:    filepath.Glob,
		Rename:  renames.Rename,
	})
	if err != nil {
		return nil, nil, configError{err, cfg.Warnings}
	}
	return cfg.With("dir", p.path(cfg.Text("dir"))), renames, nil
}

// path is a configured path, seen from the working directory.
func (p *process) path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.dir, path)
}

// checkConfig reads everything that a start would and prints what is wrong.
func (p *process) checkConfig() int {
	cfg, _, err := p.load()
	if err != nil {
		printProblems(p.stderr, err)
		return exitFailure
	}
	for _, w := range append(cfg.Warnings, advice(cfg)...) {
		fmt.Fprintf(p.stdout, "warning: %s\n", w)
	}
	fmt.Fprintln(p.stdout, "the configuration is valid")
	return exitOK
}

// configError is why a configuration can't be used, with what else there is to
// say about it.
type configError struct {
	error
	warnings []string
}

func printProblems(w io.Writer, err error) {
	fmt.Fprintf(w, "*** FATAL CONFIG ERROR (Hapax %s) ***\n%v\n", version, err)
	var found configError
	if errors.As(err, &found) {
		for _, warning := range found.warnings {
			fmt.Fprintf(w, "warning: %s\n", warning)
		}
	}
}

// sources tells where the values of cfg came from.
func sources(cfg *config.Config) string {
	from := "no file"
	if cfg.File != "" {
		from = "file " + cfg.File
	}
	if cfg.Stdin {
		from += ", standard input"
	}
	from += ", " + counted(cfg.Flags, "flag") + ", " + counted(cfg.Variables, "environment variable")
	if cfg.File == "" && !cfg.Stdin && cfg.Flags+cfg.Variables == 0 {
		from += ": all defaults, see hapax-server --help"
	}
	return from
}

// counted is "no flags", "1 flag", "2 flags".
func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// advice is what an operator should hear about values that go together badly.
func advice(cfg *config.Config) []string {
	var out []string
	if !cfg.Bool("appendonly") {
		out = append(out, "appendonly no: only snapshots are kept on disk, a restart begins with the newest one")
	}
	if !cfg.Bool("protected-mode") && cfg.Text("requirepass") == "" {
		out = append(out, "protected-mode no and no requirepass: everybody who reaches the port may read and write")
	}
	if policy := cfg.Text("maxmemory-policy"); policy != "noeviction" && cfg.Int("maxmemory") > 0 {
		out = append(out, "maxmemory-policy "+policy+": evicting an IDEM record forgets that its operation ran")
	}
	return out
}
