// Command bench compares Hapax with redis-server, and with valkey-server where
// it is on the PATH, in one run on one machine: the same load from
// redis-benchmark, the servers in turns, medians of several repetitions with
// their range. It starts every server itself on a free loopback port and stops
// it again. Absolute numbers say little on another machine; ratios say more.
//
//	go run ./bench -hapax bin/hapax-server
//	BENCH_QUICK=1 make bench
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// options is what the command line and the environment chose.
type options struct {
	hapax   string
	only    string
	reps    int
	scale   float64 // requests per row, relative to the full run
	keys    int     // keys of the memory rows
	preload int
	minutes float64 // of overwrites for the disk's row
}

func main() {
	o := options{}
	flag.StringVar(&o.hapax, "hapax", "bin/hapax-server", "the server to compare")
	flag.StringVar(&o.only, "only", "", "run only rows whose name contains this")
	flag.IntVar(&o.reps, "reps", 5, "repetitions of each row")
	flag.Float64Var(&o.scale, "scale", 1, "requests per row, relative to the full run")
	flag.IntVar(&o.keys, "keys", 10_000_000, "keys of the memory and restart rows")
	flag.Float64Var(&o.minutes, "minutes", 1, "minutes of overwrites of the disk's row, for each server")
	flag.Parse()
	o.preload = keySpace
	if os.Getenv("BENCH_QUICK") != "" {
		o.reps, o.scale, o.keys = min(o.reps, 3), min(o.scale, 0.1), min(o.keys, 1_000_000)
		o.minutes = min(o.minutes, 0.25)
	}
	leftovers.onInterrupt()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// contender is a server to compare. The first one is Hapax, the second the
// reference of every ratio.
type contender struct {
	name   string
	binary string
}

func contenders(o options) ([]contender, error) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("nothing to compare with: %w", err)
	}
	all := []contender{{"hapax", o.hapax}, {"redis", redis}}
	if valkey, err := exec.LookPath("valkey-server"); err == nil {
		all = append(all, contender{"valkey", valkey})
	}
	return all, nil
}

func run(o options) error {
	all, err := contenders(o)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		return fmt.Errorf("redis-benchmark makes the load: %w", err)
	}
	fmt.Printf("%s/%s, %d CPUs, %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), cpuModel())
	for _, c := range all {
		out, err := exec.Command(c.binary, "--version").Output()
		if err != nil {
			return fmt.Errorf("%s --version: %w", c.binary, err)
		}
		fmt.Printf("%s: %s\n", c.name, strings.TrimSpace(string(out)))
	}
	fmt.Printf("medians of %d repetitions [least–greatest]; ratios against redis\n", o.reps)
	for _, durable := range []bool{false, true} {
		if err := runRows(o, all, durable); err != nil {
			return err
		}
	}
	for _, group := range []func(options, []contender) error{runMemory, runRestart, runDuring, runDisk} {
		if err := group(o, all); err != nil {
			return err
		}
	}
	return nil
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return "unknown CPU"
}
