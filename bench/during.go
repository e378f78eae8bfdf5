package main

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// duringRows run with and without snapshots beside them.
var duringRows = []row{
	{name: "SET, 50 clients", durable: true, clients: 50, pipeline: 1, requests: 300_000, args: test("set")},
	{name: "SET, 50 clients P16", durable: true, clients: 50, pipeline: 16, requests: 1_000_000, args: test("set")},
	{name: "GET, 50 clients", durable: true, clients: 50, pipeline: 1, requests: 400_000, args: test("get")},
}

// runDuring compares a server with itself while snapshots run one after the
// other (BGSAVE), every write synced before its reply.
func runDuring(o options, all []contender) error {
	if !strings.Contains("during a snapshot", o.only) {
		return nil
	}
	keys := o.keys * 3 / 10
	fmt.Printf("\n## During a snapshot, %d keys, appendfsync always\n\n"+
		"| | server | requests/s without | with | ratio | p99 ms without | with | snapshots finished |\n|---|---|---|---|---|---|---|---|\n", keys)
	for _, c := range all {
		p, err := startServer(c, true)
		if err != nil {
			return err
		}
		err = p.preload(keys)
		for _, r := range duringRows {
			if err == nil {
				err = runDuringRow(o, p, r)
			}
		}
		p.stop()
		if err != nil {
			return fmt.Errorf("during a snapshot: %s: %w", c.name, err)
		}
	}
	return nil
}

// runDuringRow takes turns between without and with.
func runDuringRow(o options, p *process, r row) error {
	var without, with []result
	requests := max(2000, int(float64(r.requests)*o.scale))
	finished := 0
	for range o.reps {
		one, err := measure(p, r, requests)
		if err != nil {
			return err
		}
		without = append(without, one)
		s := startSaving(p)
		one, err = measure(p, r, requests)
		n, saveErr := s.stop()
		if err != nil {
			return err
		}
		if saveErr != nil {
			return saveErr
		}
		with = append(with, one)
		finished += n
	}
	rate := func(x result) float64 { return x.rate }
	p99 := func(x result) float64 { return x.p99 }
	fmt.Printf("| %s | %s | %s | %s | %.2f | %s | %s | %d |\n", r.name, p.name,
		spread(without, rate, "%.0f"), spread(with, rate, "%.0f"), median(with, rate)/median(without, rate),
		spread(without, p99, "%.2f"), spread(with, p99, "%.2f"), finished)
	return nil
}

// saving keeps a snapshot running.
type saving struct {
	p        *process
	stopping chan struct{}
	done     sync.WaitGroup
	finished int
	err      error
}

func startSaving(p *process) *saving {
	s := &saving{p: p, stopping: make(chan struct{})}
	s.done.Go(func() {
		for s.err == nil {
			s.once()
			select {
			case <-s.stopping:
				return
			default:
			}
		}
	})
	return s
}

// stop ends it and waits until no snapshot runs any more.
func (s *saving) stop() (finished int, err error) {
	close(s.stopping)
	s.done.Wait()
	return s.finished, s.err
}

// once makes one snapshot.
func (s *saving) once() {
	if reply, err := s.p.ask("BGSAVE"); err != nil || !strings.HasPrefix(reply, "+") {
		s.err = fmt.Errorf("BGSAVE: %q, %v", reply, err)
		return
	}
	for {
		time.Sleep(10 * time.Millisecond)
		running, err := s.p.infoField("persistence", "rdb_bgsave_in_progress")
		if err != nil {
			s.err = err
			return
		}
		if running == "0" {
			break
		}
	}
	status, err := s.p.infoField("persistence", "rdb_last_bgsave_status")
	if err != nil || status != "ok" {
		s.err = fmt.Errorf("the snapshot ended with %q, %v", status, err)
		return
	}
	s.finished++
}
