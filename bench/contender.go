package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// contender is a server to compare. The first one is Hapax; reference is the
// one that ratios are against.
type contender struct {
	name   string
	binary string
}

const hapax = "hapax"

// contenders are Hapax and what is on the PATH.
func contenders(o options) ([]contender, error) {
	if _, err := os.Stat(o.hapax); err != nil {
		return nil, fmt.Errorf("no Hapax to compare (-hapax): %w", err)
	}
	all := []contender{{hapax, o.hapax}}
	for _, name := range []string{reference, "valkey"} {
		if path, err := exec.LookPath(name + "-server"); err == nil {
			all = append(all, contender{name, path})
		}
	}
	return all, nil
}

func (c contender) version() (string, error) {
	out, err := exec.Command(c.binary, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", c.binary, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func thisMachine() Machine {
	m := Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU()}
	m.Kernel = strings.TrimSpace(fileText("/proc/sys/kernel/osrelease"))
	m.CPU = strings.TrimLeft(lineOf("/proc/cpuinfo", "model name"), "\t :")
	kib, _ := strconv.ParseInt(strings.Trim(lineOf("/proc/meminfo", "MemTotal:"), " kB"), 10, 64)
	m.MemoryBytes = kib << 10
	return m
}

// fileText is what a file of the kernel's says; "" where there is none.
func fileText(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// lineOf is what follows a prefix in a file.
func lineOf(path, prefix string) string {
	for line := range strings.Lines(fileText(path)) {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// optionLoad is how busy the machine was when the run began.
const optionLoad = "load average"

// loadAverage is that of the last minute; "" where it isn't known.
func loadAverage() string {
	average, _, _ := strings.Cut(fileText("/proc/loadavg"), " ")
	return average
}

// commit is the tree's, with a mark when it has changes.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
