// Command bench compares Hapax with redis-server, and with valkey-server where
// it is on the PATH, in one run on one machine: the same load against all, the
// servers in turns, medians of several repetitions with their range. It starts
// every server itself on a free loopback port and stops it again. Absolute
// numbers say little on another machine; ratios say more.
//
//	make bench
//	make bench ONLY='GET P16'
//	BENCH_QUICK=1 make bench JSON=results.json
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// options is what the command line and the environment chose.
type options struct {
	hapax     string
	only      string
	json      string
	reps      int
	seconds   float64 // of one repetition of most rows
	keys      int     // of the memory, restart and churn rows
	hotKeys   int     // that the load chooses from
	minutes   float64 // of overwrites for the disk's rows
	withoutST bool    // count no syncs by strace
}

func (o *options) flags(f *flag.FlagSet) {
	f.StringVar(&o.hapax, "hapax", "bin/hapax-server", "the server to compare")
	f.StringVar(&o.only, "only", "", "run only rows whose group or name contains this")
	f.StringVar(&o.json, "json", "", "write the report to this file")
	f.IntVar(&o.reps, "reps", 5, "repetitions of each row")
	f.Float64Var(&o.seconds, "seconds", 2, "seconds of a repetition")
	f.IntVar(&o.keys, "keys", 10_000_000, "keys of the memory, restart and churn rows")
	f.IntVar(&o.hotKeys, "hot-keys", 1_000_000, "keys that the load chooses from")
	f.Float64Var(&o.minutes, "minutes", 1, "minutes of overwrites of the disk's rows, for each server")
	f.BoolVar(&o.withoutST, "no-strace", false, "count syncs by what Hapax says, not by strace")
}

// quick shortens what was not chosen otherwise.
func (o *options) quick(f *flag.FlagSet) {
	chosen := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { chosen[fl.Name] = true })
	for name, shorten := range map[string]func(){
		"reps":    func() { o.reps = 3 },
		"seconds": func() { o.seconds = 0.5 },
		"keys":    func() { o.keys = 1_000_000 },
		"minutes": func() { o.minutes = 0.2 },
	} {
		if !chosen[name] {
			shorten()
		}
	}
}

// group is some rows that run together.
type group struct {
	name  string
	asked bool // runs only when -only names it
	run   func(*run) error
}

// groups in the order they run.
var groups = []group{
	{name: groupPlain, run: runPlain},
	{name: groupDurable, run: runDurable},
	{name: groupMixed, run: runMixed},
	{name: groupClients, run: runClients},
	{name: groupLarge, run: runLarge},
	{name: groupMemory, run: runMemory},
	{name: groupChurn, run: runChurn},
	{name: groupRestart, run: runRestart},
	{name: groupDuring, run: runDuring},
	{name: groupDisk, run: runDisk},
	{name: groupSlowDisk, asked: true, run: runSlowDisk},
	{name: groupGrowthKeys, asked: true, run: runGrowthKeys},
	{name: groupGrowthClients, asked: true, run: runGrowthClients},
	{name: groupGrowthValues, asked: true, run: runGrowthValues},
}

// mode is something else that the command does than running loads.
type mode struct {
	flag, help string
	run        func(argument string, f *flag.FlagSet) error
}

// modes are registered by the files they are in.
var modes []mode

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		leftovers.clear()
		os.Exit(1)
	}
}

func command() error {
	o := options{}
	o.flags(flag.CommandLine)
	arguments := make([]*string, len(modes))
	for i, m := range modes {
		arguments[i] = flag.String(m.flag, "", m.help)
	}
	flag.Parse()
	if os.Getenv("BENCH_QUICK") != "" {
		o.quick(flag.CommandLine)
	}
	for i, m := range modes {
		if *arguments[i] != "" {
			return m.run(*arguments[i], flag.CommandLine)
		}
	}
	leftovers.onInterrupt()
	r, err := newRun(o, os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	return r.runAll()
}

// runAll runs the groups that are wanted and prints each when it has ended.
func (r *run) runAll() error {
	fmt.Fprint(r.out, r.report.head())
	for _, g := range groups {
		if g.asked && !r.asks(g.name) {
			continue
		}
		before := len(r.report.Groups)
		err := g.run(r)
		for _, done := range r.report.Groups[before:] {
			fmt.Fprint(r.out, done.markdown())
		}
		if r.json != "" { // after each group: a run that is ended keeps the others
			err = errors.Join(err, r.report.writeJSON(r.json))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if len(r.report.Groups) == 0 {
		return fmt.Errorf("no row's group or name contains %q", r.only)
	}
	fmt.Fprint(r.out, r.report.verdict(time.Since(r.began)))
	return nil
}
