package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupClients = "Connections"

// manyClients take long to be served once each, so they are warmed up longer.
const manyClients = 500

var clientCounts = []int{1, 50, 500, 5000}

// runClients reads with more and more connections, all of them busy.
func runClients(r *run) error {
	var wanted []int
	for _, n := range clientCounts {
		if r.wants(groupClients, clientsName(n)) {
			wanted = append(wanted, n)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		v := value(valueBytes)
		for _, n := range wanted {
			err := r.compare(servers, comparison{
				group: groupClients, name: clientsName(n), x: float64(n),
				note:    fmt.Sprintf("GET without pipeline, %d-byte values, %d keys, persistence off", valueBytes, r.hotKeys),
				params:  map[string]string{"clients": strconv.Itoa(n), "pipeline": "1"},
				prepare: r.ensurePreload,
				once: func(p *process) (figures, error) {
					plan := r.plan(load.Group{Name: "GET", Clients: n, New: func(i int) load.Script {
						return load.NewStrings(keyPrefix, load.Uniform(r.hotKeys, uint64(i)), v, 100, uint64(i))
					}})
					if n >= manyClients {
						plan.Warmup, plan.Duration = time.Second, r.slowDuration()
					}
					f, _, err := p.drive(plan)
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

func clientsName(n int) string { return fmt.Sprintf("GET, %d connections", n) }
