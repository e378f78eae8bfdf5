package main

import (
	"strconv"

	"github.com/hapaxkv/hapax/bench/load"
)

// resultBytes is the size of a saved result: a small HTTP response.
const resultBytes = 200

// replayKeys is how many completed operations the replays choose from.
const replayKeys = 100_000

// usual is a mix of operations: most are fresh, some come again when they are
// done or while they run, few with another request under the same key.
var usual = load.Mix{Replays: 15, Conflicts: 3, Pending: 2}

// idemRow is a load of whole operations, or of their replays.
type idemRow struct {
	name              string
	clients, pipeline int
	replay            bool
}

var plainIdemRows = []idemRow{
	{name: "IDEM full cycle", clients: 50, pipeline: 1},
	{name: "IDEM full cycle P16", clients: 50, pipeline: 16},
	{name: "IDEM replay", clients: 50, pipeline: 1, replay: true},
	{name: "IDEM replay P16", clients: 50, pipeline: 16, replay: true},
}

var durableIdemRows = []idemRow{
	{name: "IDEM full cycle, 1 client", clients: 1, pipeline: 1},
	{name: "IDEM full cycle, 50 clients", clients: 50, pipeline: 1},
	{name: "IDEM full cycle, 50 clients P16", clients: 50, pipeline: 16},
	{name: "IDEM replay, 50 clients P16", clients: 50, pipeline: 16, replay: true},
}

// idem is the row's load. Every reply is compared with what the state machine
// must answer, on every server.
func (r *run) idem(group string, row idemRow) comparison {
	c := comparison{group: group, name: row.name, params: map[string]string{
		"clients": strconv.Itoa(row.clients), "pipeline": strconv.Itoa(row.pipeline),
		"result": strconv.Itoa(resultBytes),
	}}
	result := value(resultBytes)
	if row.replay {
		c.prepare = func(p *process) error { return p.preloadOperations(result) }
		c.once = func(p *process) (figures, error) {
			f, _, err := p.drive(r.plan(load.Group{Name: row.name, Clients: row.clients, Pipeline: row.pipeline,
				New: func(i int) load.Script {
					return load.NewReplays(p.dialect(), load.Uniform(replayKeys, uint64(i)), resultBytes)
				}}))
			return f, err
		}
		return c
	}
	cycle := func(p *process) load.Group {
		first := p.operations()
		return load.Group{Name: row.name, Clients: row.clients, Pipeline: row.pipeline,
			New: func(i int) load.Script { return load.NewIdem(p.dialect(), usual, result, i, row.clients, first) }}
	}
	c.once = func(p *process) (figures, error) {
		if err := p.flush(); err != nil {
			return nil, err
		}
		f, _, err := p.drive(r.plan(cycle(p)))
		return f, err
	}
	c.syncs = cycle
	return c
}

// preloadOperations leaves operations 0 and up completed, unless they are.
func (p *process) preloadOperations(result []byte) error {
	if p.completed {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	const clients = 50
	_, err := load.Run(load.Plan{Addr: p.addr(), Groups: []load.Group{{
		Name: "preload", Clients: clients, Pipeline: 16, Requests: 2 * replayKeys,
		New: func(i int) load.Script { return load.Completes(p.dialect(), result, i, clients, 0) },
	}}})
	p.completed = err == nil
	return err
}
