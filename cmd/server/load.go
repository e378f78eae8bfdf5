package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/config"
)

// load reads the configuration. Paths in it that are used later are made
// absolute, so that messages and CONFIG GET name them in full.
func (p *process) load() (*config.Config, *command.Renames, error) {
	cfg, err := config.Load(config.Input{
		Args:    p.args,
		Environ: p.env,
		Stdin:   p.stdin,
		Dir:     p.dir,
		Read:    os.ReadFile,
		Glob:    filepath.Glob,
	})
	if err != nil {
		return nil, nil, err
	}
	renames, err := command.PrepareRenames(cfg.Renames)
	if err != nil {
		return nil, nil, fmt.Errorf("rename-command: %w", err)
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

func printProblems(w io.Writer, err error) {
	fmt.Fprintf(w, "*** FATAL CONFIG ERROR (Hapax %s) ***\n%v\n", version, err)
}

// advice is what an operator should hear about values that go together badly.
func advice(cfg *config.Config) []string {
	var out []string
	if !cfg.Bool("appendonly") {
		out = append(out, "appendonly no: nothing is kept on disk, a restart begins empty")
	}
	if !cfg.Bool("protected-mode") && cfg.Text("requirepass") == "" {
		out = append(out, "protected-mode no and no requirepass: everybody who reaches the port may read and write")
	}
	if policy := cfg.Text("maxmemory-policy"); policy != "noeviction" && cfg.Int("maxmemory") > 0 {
		out = append(out, "maxmemory-policy "+policy+": evicting an IDEM record forgets that its operation ran")
	}
	return out
}
