package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

// drive runs a load of our own against the server and measures both. Rate and
// latencies are those of the plan's first group.
func (p *process) drive(plan load.Plan) (figures, load.Result, error) {
	m := meter{p: p}
	plan.Addr, plan.Begin, plan.End = p.addr(), m.begin, m.end
	result, err := load.Run(plan)
	if err != nil {
		return nil, result, fmt.Errorf("load: %w", err)
	}
	f, err := m.figures(result.Requests())
	if err != nil {
		return nil, result, err
	}
	addLatencies(f, &result.Groups[0])
	return f, result, nil
}

func addLatencies(f figures, g *load.GroupResult) {
	f[metricRate] = g.Rate()
	f[metricP50], f[metricP99], f[metricP999] = g.Milli(0.5), g.Milli(0.99), g.Milli(0.999)
	f[metricMax] = g.MaxMilli()
}

// plan is a load of one group, for the length of a repetition.
func (r *run) plan(g load.Group) load.Plan {
	return load.Plan{Warmup: r.warmup(), Duration: r.duration(), Groups: []load.Group{g}}
}

// The load's keys and values.
const (
	keyPrefix  = "key:"
	valueBytes = 100
)

func value(bytes int) []byte { return []byte(strings.Repeat("x", bytes)) }

// preload writes every key that the load may choose, once for each server.
func (r *run) preload(p *process) error {
	v := value(valueBytes)
	return p.fill(r.hotKeys, func(b []byte, i int) []byte {
		return load.Bulk(load.Key(load.Bulk(load.Array(b, 3), "SET"), keyPrefix, uint64(i)), v)
	})
}

// fillTimeout is when a server that is filled counts as hung.
const fillTimeout = 10 * time.Minute

// fill pipelines n commands, each answered by one line that is no error, over
// one connection.
func (p *process) fill(n int, command func(b []byte, i int) []byte) error {
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(fillTimeout))
	written := make(chan error, 1)
	go func() { written <- writeAll(c, n, command) }()
	if err := readLines(c, n); err != nil {
		return fmt.Errorf("filling %s: %w", p.name, err)
	}
	return <-written
}

func writeAll(c net.Conn, n int, command func(b []byte, i int) []byte) error {
	var b []byte
	for i := range n {
		b = command(b, i)
		if len(b) > 1<<16 || i == n-1 {
			if _, err := c.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

func readLines(r io.Reader, n int) error {
	b := make([]byte, 1<<16)
	atStart := true
	for n > 0 {
		got, err := r.Read(b)
		for i, x := range b[:got] {
			if atStart && x == '-' {
				return fmt.Errorf("%q", b[i:got])
			}
			atStart = x == '\n'
			if atStart {
				n--
			}
		}
		if err != nil && n > 0 {
			return err
		}
	}
	return nil
}
