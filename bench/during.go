package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupDuring = "During a snapshot"

// duringRow runs with and without snapshots beside it.
type duringRow struct {
	name     string
	pipeline int
	get      bool
}

var duringRows = []duringRow{
	{"SET, 50 clients", 1, false},
	{"SET, 50 clients P16", 16, false},
	{"GET, 50 clients", 1, true},
}

// Metrics of this group alone.
const (
	metricQuietRate = "quiet_rate" // without a snapshot, just before
	metricQuietP99  = "quiet_p99"
	metricKept      = "kept" // the rate beside a snapshot over that
)

// runDuring compares each server with itself while snapshots run one after the
// other (BGSAVE), every write synced before its reply.
func runDuring(r *run) error {
	var wanted []duringRow
	for _, row := range duringRows {
		if r.wants(groupDuring, row.name) {
			wanted = append(wanted, row)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.withAll(true, func(servers []*process) error {
		saved := *r // its keys are those that the snapshots hold
		saved.hotKeys = max(r.keys*3/10, 1000)
		for _, p := range servers {
			if err := saved.preload(p); err != nil {
				return err
			}
		}
		for _, row := range wanted {
			if err := r.compare(servers, saved.during(row)); err != nil {
				return err
			}
		}
		return nil
	})
}

// during takes turns between without and with.
func (r *run) during(row duringRow) comparison {
	reads := 0
	if row.get {
		reads = 100
	}
	v := value(valueBytes)
	plan := r.plan(load.Group{Name: row.name, Clients: 50, Pipeline: row.pipeline, New: func(i int) load.Script {
		return load.NewStrings(keyPrefix, load.Uniform(r.hotKeys, uint64(i)), v, reads, uint64(i))
	}})
	return comparison{
		group: groupDuring, name: row.name,
		note: fmt.Sprintf("%d keys, appendfsync always; snapshots run one after the other and their number is what finished, "+
			"quiet is the same load without, kept is the rate beside them over the quiet one", r.hotKeys),
		params: map[string]string{"clients": "50", "pipeline": strconv.Itoa(row.pipeline)},
		once: func(p *process) (figures, error) {
			quiet, _, err := p.drive(plan)
			if err != nil {
				return nil, err
			}
			s := startSaving(p)
			f, _, err := p.drive(plan)
			finished, saveErr := s.stop()
			if err := errors.Join(err, saveErr); err != nil {
				return nil, err
			}
			f[metricSnapshots] = float64(finished)
			f[metricQuietRate], f[metricQuietP99] = quiet[metricRate], quiet[metricP99]
			f[metricKept] = f[metricRate] / quiet[metricRate]
			return f, nil
		},
	}
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
