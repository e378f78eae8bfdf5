package main

import (
	"fmt"

	"github.com/hapaxkv/hapax/bench/load"
)

const growthClients = 50

// loadedName is the row that says what the keys take before anything runs.
const loadedName = "loaded"

var keyCurves = []curve{
	{name: "GET", pipeline: 1, kind: reading},
	{name: "GET P16", pipeline: 16, kind: reading},
	{name: "SET", pipeline: 1, kind: writing},
	{name: "SET P16", pipeline: 16, kind: writing},
	{name: "IDEM BEGIN", pipeline: 1, kind: beginning},
	{name: "IDEM BEGIN P16", pipeline: 16, kind: beginning},
	{name: "GET, snapshots", pipeline: 1, kind: reading, saving: true},
	{name: "SET, snapshots", pipeline: 1, kind: writing, saving: true},
}

// keyCounts go up by tens to the most that was asked for.
func keyCounts(most int) []int {
	const least = 10_000
	if most < least {
		return []int{most}
	}
	var counts []int
	for n := least; n <= most; n *= 10 {
		counts = append(counts, n)
	}
	return counts
}

// runGrowthKeys fills servers further and further: some to see what they take,
// others to load.
func runGrowthKeys(r *run) error {
	if r.wants(groupGrowthKeys, loadedName) {
		if err := r.weighKeys(); err != nil {
			return err
		}
	}
	wanted := r.wantedCurves(groupGrowthKeys, keyCurves)
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(false, func(servers []*process) error {
		return r.shortly(func() error {
			filled := 0
			for _, n := range keyCounts(r.keys) {
				for _, p := range servers {
					if err := p.growTo(filled, n); err != nil {
						return err
					}
				}
				filled = n
				for _, c := range wanted {
					if err := r.compare(servers, r.keysPoint(c, n)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
}

// weighKeys adds rows of what keys take where nothing else has ever run.
func (r *run) weighKeys() error {
	return r.withAll(false, func(servers []*process) error {
		empty := make([]int64, len(servers))
		for i, p := range servers {
			rss, err := p.residentBytes()
			if err != nil {
				return err
			}
			empty[i] = rss
		}
		filled := 0
		for _, n := range keyCounts(r.keys) {
			var rows []Row
			for i, p := range servers {
				if err := p.growTo(filled, n); err != nil {
					return err
				}
				rss, err := p.residentBytes()
				if err != nil {
					return err
				}
				f := figures{metricRSS: float64(rss), metricBytes: float64(rss-empty[i]) / float64(n)}
				rows = append(rows, Row{Name: loadedName, Server: p.name, X: float64(n), Metrics: summarize([]figures{f})})
			}
			r.add(groupGrowthKeys, r.growthKeysNote(), rows...)
			filled = n
		}
		return nil
	})
}

// growTo adds the keys from filled to n.
func (p *process) growTo(filled, n int) error {
	v := value(valueBytes)
	return p.fill(n-filled, func(b []byte, i int) []byte {
		return load.Bulk(load.Key(load.Bulk(load.Array(b, 3), "SET"), keyPrefix, uint64(filled+i)), v)
	})
}

func (r *run) growthKeysNote() string {
	return fmt.Sprintf("%d connections, %d-byte values, persistence off. loaded: the keys and nothing else. IDEM BEGIN adds operations to as many other keys, "+
		"which are deleted again after each repetition. snapshots: BGSAVE one after the other while the load runs", growthClients, valueBytes)
}

func (r *run) keysPoint(c curve, n int) comparison {
	v := value(valueBytes)
	point := comparison{group: groupGrowthKeys, note: r.growthKeysNote(), name: c.name, x: float64(n), params: c.params(growthClients)}
	switch {
	case c.kind == beginning:
		point.once = func(p *process) (figures, error) { return p.beginAndDelete(c, beginsOf(n, c.pipeline)) }
	case c.saving:
		point.once = func(p *process) (figures, error) { return r.driveSaving(p, c.strings(growthClients, n, v)) }
	default:
		point.once = func(p *process) (figures, error) { return r.driveGroup(p, c.strings(growthClients, n, v)) }
	}
	return point
}

// beginsOf is how many operations begin beside n keys: few enough to leave n
// what it is as far as that can be, enough to measure. It's a multiple of what
// the connections send at once, so that their numbers leave no gap.
func beginsOf(n, pipeline int) int {
	batch := growthClients * pipeline
	return min(max(n/2, 20_000), 50_000*min(pipeline, 2)) / batch * batch
}

// beginAndDelete begins so many operations, and forgets them.
func (p *process) beginAndDelete(c curve, operations int) (figures, error) {
	g := c.begins(p, growthClients)
	g.Requests = operations
	f, _, err := p.drive(load.Plan{Groups: []load.Group{g}})
	if err != nil {
		return nil, err
	}
	first := p.lastOperation
	err = p.fill(operations, func(b []byte, i int) []byte {
		return load.Command(b, "DEL", load.OperationKey(first+uint64(i)))
	})
	return f, err
}
