package main

import (
	"fmt"
	"strconv"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupLarge = "Large values beside small ones"

const (
	largeClients = 8
	smallClients = 50
	largePrefix  = "large:"
	// largeTotal bounds what the large values take together.
	largeTotal = 256 << 20
)

type largeRow struct {
	bytes int
	get   bool
}

var largeRows = []largeRow{
	{1 << 10, true}, {1 << 10, false}, {64 << 10, true}, {64 << 10, false}, {4 << 20, true}, {4 << 20, false},
}

func (row largeRow) name() string {
	verb := "SET"
	if row.get {
		verb = "GET"
	}
	if row.bytes >= 1<<20 {
		return fmt.Sprintf("%s %d MB", verb, row.bytes>>20)
	}
	return fmt.Sprintf("%s %d KB", verb, row.bytes>>10)
}

func (row largeRow) keys() int { return min(10_000, largeTotal/row.bytes) }

// runLarge has some clients move large values in a loop, while others read
// small ones. The rate is that of the large, the latencies are the small ones'.
func runLarge(r *run) error {
	var wanted []largeRow
	for _, row := range largeRows {
		if r.wants(groupLarge, row.name()) {
			wanted = append(wanted, row)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		fewer := *r // the small ones are there to be waited for
		fewer.hotKeys = min(r.hotKeys, 100_000)
		for _, row := range wanted {
			if err := r.compare(servers, fewer.large(row)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *run) large(row largeRow) comparison {
	large, small := value(row.bytes), value(valueBytes)
	reads := 0
	if row.get {
		reads = 100
	}
	return comparison{
		group: groupLarge, name: row.name(), x: float64(row.bytes),
		note: fmt.Sprintf("%d clients move large values; %d clients GET %d bytes meanwhile. rate is that of the large ones, "+
			"small_rate and latencies are those of the small ones, cpu is all of it per large one; persistence off",
			largeClients, smallClients, valueBytes),
		params: map[string]string{"clients": strconv.Itoa(largeClients), "value": strconv.Itoa(row.bytes)},
		aims:   []Aim{atMost(metricP99, 1)},
		prepare: func(p *process) error {
			if err := p.flush(); err != nil {
				return err
			}
			if err := r.preload(p); err != nil {
				return err
			}
			return p.fill(row.keys(), func(b []byte, i int) []byte {
				return load.Bulk(load.Key(load.Bulk(load.Array(b, 3), "SET"), largePrefix, uint64(i)), large)
			})
		},
		once: func(p *process) (figures, error) {
			plan := r.plan(load.Group{Name: "small", Clients: smallClients, New: func(i int) load.Script {
				return load.NewStrings(keyPrefix, load.Uniform(r.hotKeys, uint64(i)), small, 100, uint64(i))
			}})
			plan.Duration = r.slowDuration()
			plan.Groups = append(plan.Groups, load.Group{Name: "large", Clients: largeClients, New: func(i int) load.Script {
				return load.NewStrings(largePrefix, load.Uniform(row.keys(), uint64(i)), large, reads, uint64(i))
			}})
			f, result, err := p.drive(plan)
			if err != nil {
				return nil, err
			}
			g := result.Group("large")
			f[metricCPU] *= float64(result.Requests()) / float64(max(g.Requests, 1))
			f[metricSmallRate], f[metricRate] = f[metricRate], g.Rate()
			return f, nil
		},
	}
}
