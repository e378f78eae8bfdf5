package lint

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// clockCalls read or wait on the machine's clock. Server time T comes from
// internal/clock alone (I10), and applying a record reads none (I2).
var clockCalls = map[string][]string{
	"time":                  {"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"},
	"golang.org/x/sys/unix": {"ClockGettime", "Gettimeofday", "Time"},
	"syscall":               {"Gettimeofday", "Time"},
	"context":               {"WithTimeout", "WithDeadline", "WithTimeoutCause", "WithDeadlineCause"},
}

// fileCalls open or change files. All go through internal/vfs, so that tests
// can make each of them fail or lose what was not synced.
var fileCalls = map[string][]string{
	"os": {"Open", "OpenFile", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir", "Rename",
		"Remove", "RemoveAll", "Mkdir", "MkdirAll", "MkdirTemp", "Truncate", "Link", "Symlink", "Chmod",
		"Chown", "Chtimes", "DirFS", "CopyFS", "Stat", "Lstat", "OpenRoot", "OpenInRoot"},
	"io/ioutil":             {"ReadFile", "WriteFile", "ReadDir", "TempFile", "TempDir"},
	"golang.org/x/sys/unix": {"Open", "Openat", "Creat", "Rename", "Unlink", "Mkdir", "Fsync", "Fdatasync", "Pwrite", "Pread", "Ftruncate", "Fallocate"},
	"syscall":               {"Open", "Creat", "Rename", "Unlink", "Mkdir", "Fsync", "Fdatasync", "Pwrite", "Pread", "Ftruncate", "Fallocate"},
}

// exempt names single calls that touch files which are not the store's.
var exempt = map[string]string{
	"internal/server/process_linux.go unix.Open": "memory figures from the proc file system, which is no storage",
}

func checkClock(t *tree) []finding {
	return checkCalls(t, clockCalls, "internal/clock", "T comes from internal/clock (I10)")
}

func checkFiles(t *tree) []finding {
	return checkCalls(t, fileCalls, "internal/vfs", "files are reached through internal/vfs")
}

// checkCalls finds uses of banned functions in production code below internal/,
// outside of the one package that may. Taking such a function as a value counts
// too: what is looked for is the selector, not the call.
func checkCalls(t *tree, banned map[string][]string, home, why string) []finding {
	var out []finding
	for _, s := range t.production() {
		if s.internalPackage() == "" || s.dir == home {
			continue
		}
		names := importNames(s.file)
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			ident, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			call := ident.Name + "." + sel.Sel.Name
			if slices.Contains(banned[names[ident.Name]], sel.Sel.Name) && exempt[s.path+" "+call] == "" {
				out = append(out, find(s.at(n.Pos()), "%s: %s", call, why))
			}
			return true
		})
	}
	return out
}

// importNames maps the name that a file uses for a package to its import path.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := target[strings.LastIndexByte(target, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = target
	}
	return names
}

// purePackages turn bytes into bytes. Replay runs through them (I2), so they
// can reach no clock, no randomness, no file and no network.
var purePackages = []string{"slot", "op", "idem", "resp"}

var impure = []string{"time", "math/rand", "math/rand/v2", "crypto/rand", "os", "net", "syscall", "golang.org/x/sys/unix"}

func checkPure(t *tree) []finding {
	var out []finding
	for _, s := range t.production() {
		if !slices.Contains(purePackages, s.internalPackage()) {
			continue
		}
		for _, spec := range s.file.Imports {
			target, err := strconv.Unquote(spec.Path.Value)
			if err == nil && slices.Contains(impure, target) {
				out = append(out, find(s.at(spec.Pos()), "internal/%s is pure and may not import %s (I2)", s.internalPackage(), target))
			}
		}
	}
	return out
}

func TestCallsBroken(t *testing.T) {
	provesBroken(t, checkClock, []broken{
		{"reads the clock", map[string]string{
			"internal/shard/a.go":      "package shard\nimport \"time\"\nvar t0 = time.Now()\n",
			"internal/shard/a_test.go": "package shard\nimport \"time\"\nvar t1 = time.Now()\n",
			"internal/clock/a.go":      "package clock\nimport \"time\"\nvar t0 = time.Now()\n",
			"cmd/server/a.go":          "package main\nimport \"time\"\nvar t0 = time.Now()\n",
		}, []string{"internal/shard/a.go:3: time.Now"}},
		{"under another name, as a value", map[string]string{
			"internal/wal/a.go": "package wal\nimport clk \"time\"\nvar now = clk.Now\nvar after = clk.NewTimer\n",
		}, []string{"internal/wal/a.go:3: clk.Now", "internal/wal/a.go:4: clk.NewTimer"}},
		{"a duration is no clock", map[string]string{
			"internal/wal/a.go": "package wal\nimport \"time\"\nconst second = time.Second\n",
		}, nil},
	})
	provesBroken(t, checkFiles, []broken{
		{"opens a file", map[string]string{
			"internal/wal/a.go": "package wal\nimport \"os\"\nfunc f() { os.Remove(\"x\") }\n",
			"internal/vfs/a.go": "package vfs\nimport \"os\"\nfunc f() { os.Remove(\"x\") }\n",
		}, []string{"internal/wal/a.go:3: os.Remove"}},
		{"by system call", map[string]string{
			"internal/engine/a.go": "package engine\nimport \"golang.org/x/sys/unix\"\nvar sync = unix.Fdatasync\n",
		}, []string{"internal/engine/a.go:3: unix.Fdatasync"}},
	})
	provesBroken(t, checkPure, []broken{
		{"randomness in replay", map[string]string{
			"internal/op/a.go":     "package op\nimport \"math/rand/v2\"\nvar x = rand.Int()\n",
			"internal/server/a.go": "package server\nimport \"math/rand/v2\"\nvar x = rand.Int()\n",
		}, []string{"internal/op/a.go:2: internal/op is pure"}},
	})
}
