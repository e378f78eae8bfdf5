package main

import (
	"fmt"
	"strconv"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupMixed = "Reads and writes mixed"

// zipfExponent makes the most popular of a million keys 7% of all requests.
const zipfExponent = 0.99

type mixedRow struct {
	reads    int // of 100
	zipf     bool
	pipeline int
}

var mixedRows = []mixedRow{
	{90, true, 1}, {50, true, 1}, {90, false, 1}, {50, false, 1},
	{90, true, 16}, {50, true, 16},
}

func (row mixedRow) name() string {
	name := fmt.Sprintf("GET %d%%, SET %d%%, uniform", row.reads, 100-row.reads)
	if row.zipf {
		name = fmt.Sprintf("GET %d%%, SET %d%%, Zipf", row.reads, 100-row.reads)
	}
	if row.pipeline > 1 {
		name += fmt.Sprintf(" P%d", row.pipeline)
	}
	return name
}

func runMixed(r *run) error {
	var wanted []mixedRow
	for _, row := range mixedRows {
		if r.wants(groupMixed, row.name()) {
			wanted = append(wanted, row)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		zipf := load.NewZipf(r.hotKeys, zipfExponent, 1)
		v := value(valueBytes)
		for _, row := range wanted {
			keys := func(i int) *load.Keys {
				if row.zipf {
					return zipf.Keys(uint64(i))
				}
				return load.Uniform(r.hotKeys, uint64(i))
			}
			const clients = 50
			err := r.compare(servers, comparison{
				group: groupMixed, name: row.name(),
				note: fmt.Sprintf("%d clients, %d-byte values, %d keys, persistence off; Zipf with s = %v", clients, valueBytes, r.hotKeys, zipfExponent),
				params: map[string]string{"clients": strconv.Itoa(clients), "pipeline": strconv.Itoa(row.pipeline),
					"reads": strconv.Itoa(row.reads)},
				prepare: r.ensurePreload,
				once: func(p *process) (figures, error) {
					f, _, err := p.drive(r.plan(load.Group{Name: row.name(), Clients: clients, Pipeline: row.pipeline,
						New: func(i int) load.Script {
							return load.NewStrings(keyPrefix, keys(i), v, row.reads, uint64(i))
						}}))
					return f, err
				},
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
