package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// restartKind is where a start gets its keys from.
type restartKind struct {
	name string
	args func(c contender) []string
	save bool // a snapshot is made after the keys were written
}

var restartKinds = []restartKind{
	{"snapshot (RDB)", func(c contender) []string {
		// Redis without a log loads its dump; with one it would load the log.
		// Hapax has both, and nothing in the log that the snapshot lacks.
		if c.name == "hapax" {
			return logged
		}
		return []string{"--appendonly", "no"}
	}, true},
	{"log (AOF)", func(contender) []string { return logged }, false},
}

var logged = []string{"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"}

// restartAim is the design's ratio of load times.
const restartAim = 0.7

// restarts is how often each is measured, its files in the page cache.
const restarts = 3

// runRestart fills a server, stops it in order, and takes the time from the
// start of a process on its files to its first PONG.
func runRestart(o options, all []contender) error {
	head := false
	for _, kind := range restartKinds {
		for _, r := range memoryRows {
			if !strings.Contains("restart from "+kind.name+", "+r.name, o.only) {
				continue
			}
			if !head {
				fmt.Printf("\n## Restart with %d keys, files in the page cache, %d starts of each\n\n| | server | seconds | ratio | files MB | aim |\n|---|---|---|---|---|---|\n", o.keys, restarts)
				head = true
			}
			if err := runRestartRow(o, all, kind, r); err != nil {
				return fmt.Errorf("restart from %s: %w", kind.name, err)
			}
		}
	}
	return nil
}

func runRestartRow(o options, all []contender, kind restartKind, r memoryRow) error {
	took := make([][]float64, len(all))
	megabytes := make([]int64, len(all))
	reference := 0
	for i, c := range all {
		if c.name == "redis" {
			reference = i
		}
		var err error
		if took[i], megabytes[i], err = restartTimes(c, kind, r, o.keys); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	middle := func(i int) float64 { return took[i][len(took[i])/2] }
	for i, c := range all {
		aim := ""
		if i == 0 {
			aim = fmt.Sprintf("≤ %.2f", restartAim)
		}
		fmt.Printf("| %s, %s | %s | %.2f [%.2f–%.2f] | %.2f | %d | %s |\n", kind.name, r.name, c.name,
			middle(i), took[i][0], took[i][len(took[i])-1], middle(i)/middle(reference), megabytes[i], aim)
	}
	return nil
}

// restartTimes returns the seconds of some starts, sorted.
func restartTimes(c contender, kind restartKind, r memoryRow, keys int) (seconds []float64, megabytes int64, err error) {
	dir, err := tempDir()
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	p, err := startIn(c, dir, kind.args(c)...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { p.end() }() // the last one
	if err := r.fill(p, keys); err != nil {
		return nil, 0, err
	}
	if kind.save {
		if reply, err := p.ask("SAVE"); err != nil || reply != "+OK" {
			return nil, 0, fmt.Errorf("SAVE: %q, %v", reply, err)
		}
	}
	for range restarts {
		p.end()
		sizeBytes, err := p.diskBytes()
		if err != nil {
			return nil, 0, err
		}
		megabytes = sizeBytes >> 20
		began := time.Now()
		next, err := startIn(c, dir, kind.args(c)...)
		if err != nil {
			return nil, 0, err
		}
		seconds = append(seconds, time.Since(began).Seconds())
		p = next
		if n, err := p.ask("DBSIZE"); err != nil || n != fmt.Sprintf(":%d", keys) {
			return nil, 0, fmt.Errorf("%q keys after the restart (%v), want %d", n, err, keys)
		}
	}
	slices.Sort(seconds)
	return seconds, megabytes, nil
}
