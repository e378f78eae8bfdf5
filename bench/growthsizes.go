package main

import (
	"fmt"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

var clientCurves = []curve{
	{name: "GET", pipeline: 1, kind: reading},
	{name: "SET", pipeline: 1, kind: writing},
	{name: "IDEM BEGIN", pipeline: 1, kind: beginning},
}

// runGrowthClients loads with more and more connections, all of them busy.
func runGrowthClients(r *run) error {
	wanted := r.wantedCurves(groupGrowthClients, clientCurves)
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		return r.shortly(func() error {
			for _, c := range wanted {
				for _, n := range r.growing.clients {
					if err := r.compare(servers, r.clientsPoint(c, n)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

func (r *run) clientsPoint(c curve, n int) comparison {
	point := comparison{
		group: groupGrowthClients, name: c.name, x: float64(n), params: c.params(n),
		note: fmt.Sprintf("No pipeline, %d-byte values, %d keys, persistence off. IDEM BEGIN begins with no keys", valueBytes, r.hotKeys),
	}
	if c.kind == beginning {
		point.once = func(p *process) (figures, error) {
			if err := p.flush(); err != nil {
				return nil, err
			}
			return r.driveMany(p, c.begins(p, n))
		}
		return point
	}
	point.prepare = r.ensurePreload
	point.once = func(p *process) (figures, error) {
		return r.driveMany(p, c.strings(n, r.hotKeys, value(valueBytes)))
	}
	return point
}

// Thousands of connections take a while for one round of all of them, and some
// rounds until they are in step: so long for each.
const (
	warmupMicroEach   = 100
	countingMicroEach = 300
)

func (r *run) driveMany(p *process, g load.Group) (figures, error) {
	plan := r.plan(g)
	plan.Warmup = max(plan.Warmup, time.Duration(g.Clients)*warmupMicroEach*time.Microsecond)
	plan.Duration = max(plan.Duration, time.Duration(g.Clients)*countingMicroEach*time.Microsecond)
	f, _, err := p.drive(plan)
	return f, err
}

var valueCurves = []curve{
	{name: "GET", pipeline: 1, kind: reading},
	{name: "SET", pipeline: 1, kind: writing},
	{name: "IDEM replay", pipeline: 1, kind: replaying},
}

// Few connections, or their buffers alone would be most of what moves.
const (
	valueClients   = 10
	valueTotal     = 256 << 20 // bounds what all values take
	valueLeastKeys = 2 * valueClients
)

// runGrowthValues moves larger and larger values.
func runGrowthValues(r *run) error {
	wanted := r.wantedCurves(groupGrowthValues, valueCurves)
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		return r.shortly(func() error {
			for _, size := range r.growing.bytes {
				for _, c := range wanted {
					if err := r.compare(servers, r.valuesPoint(c, size)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// fillPipeline is how many small operations are completed at once.
func fillPipeline(bytes int) int {
	if bytes <= 1<<10 {
		return 16
	}
	return 1
}

// keysOfSize is a multiple of what the connections send at once.
func keysOfSize(bytes, most int) int {
	batch := valueClients * fillPipeline(bytes)
	return min(max(valueTotal/bytes, valueLeastKeys), most) / batch * batch
}

func (r *run) valuesPoint(c curve, size int) comparison {
	keys, v := keysOfSize(size, r.growing.valueKeys), value(size)
	point := comparison{
		group: groupGrowthValues, name: c.name, x: float64(size), params: c.params(valueClients),
		note: fmt.Sprintf("%d connections, no pipeline, up to %d keys that take up to %d MB, persistence off. "+
			"IDEM replay reads the result of a completed operation", valueClients, r.growing.valueKeys, valueTotal>>20),
	}
	if c.kind == replaying {
		point.prepare = func(p *process) error { return p.completeAll(keys, v) }
		point.once = func(p *process) (figures, error) {
			return r.driveGroup(p, load.Group{Name: c.name, Clients: valueClients, Pipeline: 1, New: func(i int) load.Script {
				return load.NewReplays(p.dialect(), load.Uniform(keys, uint64(i)), size)
			}})
		}
		return point
	}
	point.prepare = func(p *process) error {
		if err := p.flush(); err != nil {
			return err
		}
		return p.fill(keys, func(b []byte, i int) []byte {
			return load.Bulk(load.Key(load.Bulk(load.Array(b, 3), "SET"), keyPrefix, uint64(i)), v)
		})
	}
	point.once = func(p *process) (figures, error) {
		return r.driveGroup(p, c.strings(valueClients, keys, v))
	}
	return point
}

// completeAll leaves that many operations completed, from 0 on, and no other
// key.
func (p *process) completeAll(operations int, result []byte) error {
	if err := p.flush(); err != nil {
		return err
	}
	_, err := load.Run(load.Plan{Addr: p.addr(), Groups: []load.Group{{
		Name: "preload", Clients: valueClients, Pipeline: fillPipeline(len(result)), Requests: 2 * operations,
		New: func(i int) load.Script { return load.Completes(p.dialect(), result, i, valueClients, 0) },
	}}})
	return err
}
