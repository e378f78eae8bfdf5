package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

const (
	groupPlain   = "Persistence off"
	groupDurable = "appendfsync always"
)

// classicRow is a load that redis-benchmark makes, for the rate and the CPU.
// Latencies are those of the same load made by us behind it: the tool prints no
// p999, and two tools' quantiles don't belong in one row.
type classicRow struct {
	name              string
	clients, pipeline int
	idem              bool // begins operations; else SET or GET
	get               bool
	aims              []Aim
}

func pipelined(cpu, rate float64) []Aim {
	return []Aim{atMost(metricCPU, cpu), atLeast(metricRate, rate)}
}

var plainRows = []classicRow{
	{name: "SET", clients: 50, pipeline: 1, aims: pipelined(0.92, 1)},
	{name: "GET", clients: 50, pipeline: 1, get: true, aims: pipelined(0.92, 1)},
	{name: "SET P16", clients: 50, pipeline: 16, aims: pipelined(0.50, 1.7)},
	{name: "GET P16", clients: 50, pipeline: 16, get: true, aims: pipelined(0.50, 1.7)},
	{name: "GET P64", clients: 50, pipeline: 64, get: true, aims: pipelined(0.30, 3)},
	{name: "IDEM BEGIN", clients: 50, pipeline: 1, idem: true},
	{name: "IDEM BEGIN P16", clients: 50, pipeline: 16, idem: true, aims: pipelined(0.15, 5)},
}

func faster(rate float64) []Aim { return []Aim{atLeast(metricRate, rate)} }

var durableRows = []classicRow{
	{name: "SET, 1 client", clients: 1, pipeline: 1, aims: append(faster(1.2), atMost(metricP99, 1))},
	{name: "SET, 50 clients", clients: 50, pipeline: 1, aims: append(faster(1.3), atMost(metricP99, 1))},
	{name: "SET, 50 clients P16", clients: 50, pipeline: 16, aims: append(faster(1.5), atMost(metricP99, 1))},
	{name: "IDEM BEGIN, 1 client", clients: 1, pipeline: 1, idem: true, aims: faster(1.2)},
	{name: "IDEM BEGIN, 50 clients", clients: 50, pipeline: 1, idem: true, aims: faster(1.3)},
	{name: "IDEM BEGIN, 50 clients P16", clients: 50, pipeline: 16, idem: true, aims: faster(1.5)},
}

// runPlain and runDurable keep the servers up for all their rows.
func runPlain(r *run) error {
	return r.runClassic(groupPlain, false, plainRows, plainIdemRows)
}

func runDurable(r *run) error {
	return r.runClassic(groupDurable, true, durableRows, durableIdemRows)
}

func (r *run) runClassic(group string, durable bool, rows []classicRow, idem []idemRow) error {
	var wanted []comparison
	for _, row := range rows {
		if r.wants(group, row.name) {
			wanted = append(wanted, r.classic(group, row))
		}
	}
	for _, row := range idem {
		if r.wants(group, row.name) {
			wanted = append(wanted, r.idem(group, row))
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(durable, func(servers []*process) error {
		for _, c := range wanted {
			c.note = fmt.Sprintf("%d-byte values, %d random keys; the client has the same machine. %s", valueBytes, r.hotKeys, whoseLoad())
			if !durable {
				c.syncs = nil
			}
			if err := r.compare(servers, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// tokens that an HTTP gateway would send: a hex digest and a random owner.
var (
	toolDigest = strings.Repeat("0123456789abcdef", 4)
	toolOwner  = strings.Repeat("fedcba98", 4)
)

// args are the tool's for the row.
func (row classicRow) args(p *process) []string {
	switch {
	case row.idem && p.name == hapax:
		return []string{"IDEM", "order:__rand_int__", "BEGIN", toolDigest, toolOwner, load.Retention}
	case row.idem:
		return []string{"EVALSHA", p.begin, "1", "order:__rand_int__", toolDigest, toolOwner, load.Retention}
	case row.get:
		return []string{"-t", "get", "-d", strconv.Itoa(valueBytes)}
	}
	return []string{"-t", "set", "-d", strconv.Itoa(valueBytes)}
}

// own is nearly the same load of ours: it begins operations that are not there
// yet, where the tool's numbers come again.
func (r *run) own(row classicRow, p *process) load.Group {
	g := load.Group{Name: row.name, Clients: row.clients, Pipeline: row.pipeline}
	if row.idem {
		first := p.operations()
		g.New = func(i int) load.Script { return load.NewBegins(p.dialect(), i, row.clients, first) }
		return g
	}
	reads := 0
	if row.get {
		reads = 100
	}
	v := value(valueBytes)
	g.New = func(i int) load.Script {
		return load.NewStrings(keyPrefix, load.Uniform(r.hotKeys, uint64(i)), v, reads, uint64(i))
	}
	return g
}

// classic is the row's load, warmed up by a little of it.
func (r *run) classic(group string, row classicRow) comparison {
	c := comparison{group: group, name: row.name, aims: row.aims, params: map[string]string{
		"clients": strconv.Itoa(row.clients), "pipeline": strconv.Itoa(row.pipeline),
	}}
	tool := benchmarkTool()
	toolLoad := classic{row.clients, row.pipeline, r.hotKeys, row.args}
	reset := func(p *process) error { return nil }
	if row.idem {
		reset = func(p *process) error { return p.flush() }
	}
	c.prepare = func(p *process) error {
		prepare := reset
		if !row.idem {
			prepare = r.ensurePreload
		}
		if err := prepare(p); err != nil || tool == "" {
			return err
		}
		p.rate = 0
		if _, err := p.runTool(tool, toolLoad, 0); err != nil { // how fast it is
			return err
		}
		_, err := p.runTool(tool, toolLoad, r.warmup())
		return err
	}
	c.once = func(p *process) (figures, error) {
		if err := reset(p); err != nil {
			return nil, err
		}
		var tooled figures
		if tool != "" {
			f, err := p.runTool(tool, toolLoad, r.duration())
			if err != nil {
				return nil, err
			}
			tooled = f
		}
		if err := reset(p); err != nil {
			return nil, err
		}
		own := r.plan(r.own(row, p))
		if tool != "" {
			own.Duration = max(own.Duration/2, 200*time.Millisecond)
		}
		f, _, err := p.drive(own)
		if err != nil {
			return nil, err
		}
		if tool != "" {
			f[metricCPU], f[metricRate] = tooled[metricCPU], tooled[metricRate]
		}
		return f, nil
	}
	c.syncs = func(p *process) load.Group { return r.own(row, p) }
	return c
}

// operations hands out numbers that no load has had since the last flush.
func (p *process) operations() uint64 {
	p.lastOperation += 1_000_000_000
	return p.lastOperation
}

// ensurePreload writes the load's keys unless they are all there.
func (r *run) ensurePreload(p *process) error {
	if n, err := p.ask("DBSIZE"); err == nil && n == fmt.Sprintf(":%d", r.hotKeys) {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return r.preload(p)
}

// whoseLoad says where the figures of these groups come from.
func whoseLoad() string {
	if tool := benchmarkTool(); tool != "" {
		return "SET, GET and BEGIN: cpu and rate under " + filepath.Base(tool) + ", latencies under our own load; the rest is our own"
	}
	return "All of it our own load: redis-benchmark is not on the PATH"
}
