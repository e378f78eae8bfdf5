package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupMemory = "Bytes per key"

// memoryRow is one way to fill a server.
type memoryRow struct {
	name  string
	value int
	ttl   bool
	aim   float64
}

var memoryRows = []memoryRow{
	{"14-byte keys, 107-byte values, deadline", 107, true, 0.64},
	{"14-byte keys, 32-byte values", 32, false, 0.60},
}

// runMemory fills a fresh server of each kind and divides what its resident
// memory grew by. Nothing else runs, so one repetition says it.
func runMemory(r *run) error {
	for _, row := range memoryRows {
		if !r.wants(groupMemory, row.name) {
			continue
		}
		var rows []Row
		for i, c := range r.all {
			f, err := r.bytesPerKey(c, row)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", row.name, c.name, err)
			}
			one := Row{Name: row.name, Server: c.name, X: float64(r.keys), Metrics: summarize([]figures{f})}
			if i == 0 {
				one.Aims = []Aim{atMost(metricBytes, row.aim)}
			}
			rows = append(rows, one)
		}
		r.add(groupMemory, fmt.Sprintf("what the resident memory grew by; %d keys, persistence off, filled once", r.keys), rows...)
	}
	return nil
}

func (r *run) bytesPerKey(c contender, row memoryRow) (figures, error) {
	p, err := r.start(c, false)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	before, err := p.residentBytes()
	if err != nil {
		return nil, err
	}
	if err := row.fill(p, r.keys); err != nil {
		return nil, err
	}
	after, err := p.residentBytes()
	f := figures{metricBytes: float64(after-before) / float64(r.keys), metricRSS: float64(after)}
	if c.name == hapax && err == nil {
		_, heap, gcErr := p.goRuntime()
		f[metricGoHeap], err = float64(heap), gcErr
	}
	return f, err
}

func (row memoryRow) fill(p *process, keys int) error {
	text := hexText()
	return p.fill(keys, func(b []byte, i int) []byte {
		at := i * 31 % (len(text) - row.value)
		arguments := 3
		if row.ttl {
			arguments = 5
		}
		b = load.Bulk(load.Bulk(load.Array(b, arguments), "SET"), memoryKey(i))
		b = load.Bulk(b, text[at:at+row.value])
		if row.ttl {
			b = load.Bulk(load.Bulk(b, "PX"), "86400000")
		}
		return b
	})
}

// memoryKey has 14 bytes.
func memoryKey(i int) string { return fmt.Sprintf("key:%010d", i) }

// hexText is what values are cut from: digests, as far as a server that
// compresses its dump can see.
func hexText() string {
	rnd := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = "0123456789abcdef"[rnd.IntN(16)]
	}
	return string(text)
}
