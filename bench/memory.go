package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// memoryRow is one way to fill a server, for its bytes per key.
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
func runMemory(o options, all []contender) error {
	head := false
	for _, r := range memoryRows {
		if !strings.Contains("bytes per key", o.only) && !strings.Contains(r.name, o.only) {
			continue
		}
		if !head {
			fmt.Printf("\n## Bytes per key, %d keys, persistence off\n\n| | server | bytes | ratio | aim |\n|---|---|---|---|---|\n", o.keys)
			head = true
		}
		var reference float64
		perKey := make([]float64, len(all))
		for i, c := range all {
			n, err := bytesPerKey(c, r, o.keys)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			perKey[i] = n
			if c.name == "redis" {
				reference = n
			}
		}
		for i, c := range all {
			aim := ""
			if i == 0 {
				aim = fmt.Sprintf("≤ %.2f", r.aim)
			}
			fmt.Printf("| %s | %s | %.1f | %.2f | %s |\n", r.name, c.name, perKey[i], perKey[i]/reference, aim)
		}
	}
	return nil
}

func bytesPerKey(c contender, r memoryRow, keys int) (float64, error) {
	p, err := startServer(c, false)
	if err != nil {
		return 0, err
	}
	defer p.stop()
	before, err := p.residentBytes()
	if err != nil {
		return 0, err
	}
	if err := r.fill(p, keys); err != nil {
		return 0, err
	}
	after, err := p.residentBytes()
	return float64(after-before) / float64(keys), err
}

func (r memoryRow) fill(p *process, keys int) error {
	text := hexText()
	return p.fill(keys, func(b []byte, i int) []byte {
		key := fmt.Sprintf("key:%010d", i)
		at := i * 31 % (len(text) - r.value)
		value := text[at : at+r.value]
		if r.ttl {
			return appendCommand(b, "SET", key, value, "PX", "86400000")
		}
		return appendCommand(b, "SET", key, value)
	})
}

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
