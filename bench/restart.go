package main

import (
	"fmt"
	"time"
)

const groupRestart = "Restart"

// restartKind is where a start gets its keys from.
type restartKind struct {
	name string
	args func(c contender) []string
	save bool // a snapshot is made after the keys were written
}

var restartKinds = []restartKind{
	{"from snapshot (RDB)", func(c contender) []string {
		// Redis without a log loads its dump; with one it would load the log.
		// Hapax has both, and nothing in the log that the snapshot lacks.
		if c.name == hapax {
			return logged
		}
		return []string{"--appendonly", "no"}
	}, true},
	{"from log (AOF)", func(contender) []string { return logged }, false},
}

var logged = []string{"--appendonly", "yes", "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0"}

// restartAim is the design's ratio of load times.
const restartAim = 0.7

// restarts is how often each is measured, its files in the page cache.
const restarts = 3

// runRestart fills a server, stops it in order, and takes the time from the
// start of a process on its files to its first PONG.
func runRestart(r *run) error {
	for _, kind := range restartKinds {
		for _, row := range memoryRows {
			name := kind.name + ", " + row.name
			if !r.wants(groupRestart, name) {
				continue
			}
			var rows []Row
			for i, c := range r.all {
				metrics, err := r.restartTimes(c, kind, row)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", name, c.name, err)
				}
				one := Row{Name: name, Server: c.name, X: float64(r.keys), Metrics: summarize(metrics)}
				if i == 0 {
					one.Aims = []Aim{atMost(metricSeconds, restartAim)}
				}
				rows = append(rows, one)
			}
			r.add(groupRestart, fmt.Sprintf("from the start of the process to its first PONG; %d keys, files in the page cache, %d starts of each", r.keys, restarts), rows...)
		}
	}
	return nil
}

func (r *run) restartTimes(c contender, kind restartKind, row memoryRow) ([]figures, error) {
	dir, err := leftovers.tempDir()
	if err != nil {
		return nil, err
	}
	defer leftovers.remove(dir)
	p, err := startIn(c, dir, kind.args(c)...)
	if err != nil {
		return nil, err
	}
	defer func() { p.end() }() // the last one
	if err := row.fill(p, r.keys); err != nil {
		return nil, err
	}
	if kind.save {
		if err := p.mustAsk("+OK", "SAVE"); err != nil {
			return nil, err
		}
	}
	var out []figures
	for range restarts {
		p.end()
		sizeBytes, err := p.diskBytes()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		next, err := startIn(c, dir, kind.args(c)...)
		if err != nil {
			return nil, err
		}
		p = next
		out = append(out, figures{metricSeconds: time.Since(began).Seconds(), metricDisk: float64(sizeBytes)})
		if err := p.mustAsk(fmt.Sprintf(":%d", r.keys), "DBSIZE"); err != nil {
			return nil, err
		}
	}
	return out, nil
}
