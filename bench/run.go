package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

// run is one run of the command: who is compared, and what came out so far.
type run struct {
	options
	growing   growing
	slowMicro int // what the slow disk's calls take longer
	all       []contender
	report    Report

	out      io.Writer // the tables, each when its group has ended
	progress io.Writer // a line for each load
	began    time.Time
}

func newRun(o options, out, progress io.Writer) (*run, error) {
	all, err := contenders(o)
	if err != nil {
		return nil, err
	}
	r := &run{growing: growingAll, slowMicro: slowDiskMicro, options: o, all: all, out: out, progress: progress, began: time.Now()}
	r.report = Report{
		Machine: thisMachine(), Commit: commit(), StartedAt: time.Now().UTC().Truncate(time.Second),
		Options: map[string]string{
			"repetitions": strconv.Itoa(o.reps), "seconds": fmt.Sprint(o.seconds),
			"keys": strconv.Itoa(o.keys), "hot keys": strconv.Itoa(o.hotKeys),
			optionLoad: loadAverage(),
		},
	}
	for _, c := range all {
		version, err := c.version()
		if err != nil {
			return nil, err
		}
		r.report.Servers = append(r.report.Servers, ServerInfo{c.name, version})
	}
	return r, nil
}

// wants says whether a row was asked for.
func (r *run) wants(group, row string) bool {
	return strings.Contains(strings.ToLower(group+": "+row), strings.ToLower(r.only))
}

// add puts the rows of one load, one for each server, into the report. Aims are
// judged here.
func (r *run) add(group, note string, rows ...Row) {
	if n := len(r.report.Groups); n == 0 || r.report.Groups[n-1].Name != group {
		r.report.Groups = append(r.report.Groups, Group{Name: group, Note: note})
	}
	g := &r.report.Groups[len(r.report.Groups)-1]
	for i := range rows {
		for a := range rows[i].Aims {
			rows[i].Aims[a] = rows[i].Aims[a].judge(rows[i], rows)
		}
	}
	g.Rows = append(g.Rows, rows...)
	if len(rows) > 0 {
		fmt.Fprintf(r.progress, "%6.0f s  %s: %s\n", time.Since(r.began).Seconds(), group, rows[0].Name)
	}
}

// start runs a contender in a directory of its own, with nothing on disk or
// with every write synced before its reply.
func (r *run) start(c contender, durable bool, args ...string) (*process, error) {
	mode := []string{"--appendonly", "no"}
	if durable {
		mode = []string{"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"}
	}
	dir, err := leftovers.tempDir()
	if err != nil {
		return nil, err
	}
	return startIn(c, dir, append(mode, args...)...)
}

// withAll starts every contender for f and ends them behind it.
func (r *run) withAll(durable bool, f func(servers []*process) error) error {
	var servers []*process
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	for _, c := range r.all {
		p, err := r.start(c, durable)
		if err != nil {
			return err
		}
		servers = append(servers, p)
		if err := p.loadScripts(); err != nil {
			return err
		}
	}
	return f(servers)
}

// inTurns asks every server once in each repetition, the first one another each
// time, so that a slow spell of the machine hits all alike.
func (r *run) inTurns(servers []*process, once func(p *process) (figures, error)) ([][]figures, error) {
	out := make([][]figures, len(servers))
	for rep := range r.reps {
		for i := range servers {
			n := (i + rep) % len(servers)
			f, err := once(servers[n])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", servers[n].name, err)
			}
			out[n] = append(out[n], f)
		}
	}
	return out, nil
}

// comparison is one load for all servers.
type comparison struct {
	group, note, name string
	x                 float64
	params            map[string]string
	aims              []Aim
	prepare           func(p *process) error // once for each server, its warm-up included; may be nil
	once              func(p *process) (figures, error)
	syncs             func(p *process) load.Group // the load whose syncs are counted, apart; may be nil
}

// compare runs a load against all servers in turns and adds its rows.
func (r *run) compare(servers []*process, c comparison) error {
	if c.prepare != nil {
		for _, p := range servers {
			if err := c.prepare(p); err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, p.name, err)
			}
		}
	}
	results, err := r.inTurns(servers, c.once)
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	var rows []Row
	for i, p := range servers {
		metrics := results[i]
		if c.syncs != nil {
			f, err := r.countSyncs(p.contender, c.syncs)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, p.name, err)
			}
			metrics = append(metrics, f)
		}
		row := Row{Name: c.name, Server: p.name, X: c.x, Params: c.params, Metrics: summarize(metrics)}
		if i == 0 {
			row.Aims = c.aims
		}
		rows = append(rows, row)
	}
	r.add(c.group, c.note, rows...)
	return nil
}

// duration is how long one repetition loads the server.
func (r *run) duration() time.Duration {
	return time.Duration(r.seconds * float64(time.Second))
}

// warmup goes before it.
func (r *run) warmup() time.Duration { return r.duration() / 5 }

// slowDuration is for loads of which few requests are answered in a repetition
// otherwise, or whose connections take long to be all served once.
func (r *run) slowDuration() time.Duration { return max(r.duration(), time.Second) }
