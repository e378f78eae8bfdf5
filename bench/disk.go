package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupDisk = "Disk use"

const diskName = "overwrites"

// diskRate is the load of the disk's row, requests a second: below what either
// server can do, so that both get the same.
const diskRate = 50_000

// Metrics of this group alone.
const (
	metricDiskLargest = "disk_largest"
	metricDiskEnd     = "disk_end"
	metricWritten     = "written" // bytes of keys and values
)

// runDisk overwrites keys for some time, with the rules for rewriting the log
// as they are by default, and looks at the files all the while.
func runDisk(r *run) error {
	if r.minutes <= 0 || !r.wants(groupDisk, diskName) {
		return nil
	}
	var rows []Row
	for _, c := range r.all {
		f, err := r.diskOf(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rows = append(rows, Row{Name: diskName, Server: c.name, Metrics: summarize([]figures{f})})
	}
	r.add(groupDisk, fmt.Sprintf("%.2g minutes of overwrites at %d a second, %d keys, %d-byte values, appendfsync everysec; "+
		"disk is the mean, snapshots those made or logs rewritten", r.minutes, diskRate, r.hotKeys, valueBytes), rows...)
	return nil
}

func (r *run) diskOf(c contender) (figures, error) {
	dir, err := leftovers.tempDir()
	if err != nil {
		return nil, err
	}
	p, err := startIn(c, dir, "--appendonly", "yes", "--appendfsync", "everysec",
		"--auto-aof-rewrite-percentage", "100", "--auto-aof-rewrite-min-size", "64mb")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := r.preload(p); err != nil {
		return nil, err
	}
	w := watchDisk(p)
	sets, err := r.paced(p, time.Duration(r.minutes*float64(time.Minute)))
	f, diskErr := w.stop()
	if err != nil {
		return nil, err
	}
	if diskErr != nil {
		return nil, diskErr
	}
	rewrites, err := p.infoField("persistence", "aof_rewrites")
	if err != nil {
		return nil, err
	}
	f[metricSnapshots], err = strconv.ParseFloat(rewrites, 64)
	f[metricWritten] = float64(sets) * float64(len(keyPrefix)+12+valueBytes)
	return f, err
}

// paced sends a share of each half second's requests and waits for its end.
func (r *run) paced(p *process, d time.Duration) (sets int64, err error) {
	const batch = diskRate / 2
	v := value(valueBytes)
	for round, end := uint64(0), time.Now().Add(d); time.Now().Before(end); round++ {
		next := time.Now().Add(time.Second / 2)
		result, err := load.Run(load.Plan{Addr: p.addr(), Groups: []load.Group{{
			Name: diskName, Clients: 50, Pipeline: 16, Requests: batch,
			New: func(i int) load.Script {
				seed := round<<8 + uint64(i)
				return load.NewStrings(keyPrefix, load.Uniform(r.hotKeys, seed), v, 0, seed)
			},
		}}})
		if err != nil {
			return sets, err
		}
		sets += result.Requests()
		time.Sleep(time.Until(next))
	}
	return sets, nil
}

// diskWatch looks at a server's files while it works.
type diskWatch struct {
	stopping chan struct{}
	done     sync.WaitGroup
	p        *process
	all      []float64
	err      error
}

func watchDisk(p *process) *diskWatch {
	w := &diskWatch{p: p, stopping: make(chan struct{})}
	w.done.Go(func() {
		for {
			n, err := p.diskBytes()
			if err != nil {
				w.err = err
				return
			}
			w.all = append(w.all, float64(n))
			select {
			case <-w.stopping:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
	return w
}

func (w *diskWatch) stop() (figures, error) {
	close(w.stopping)
	w.done.Wait()
	if w.err != nil {
		return nil, w.err
	}
	var sum, most float64
	for _, n := range w.all {
		sum, most = sum+n, max(most, n)
	}
	return figures{metricDisk: sum / float64(len(w.all)), metricDiskLargest: most, metricDiskEnd: w.all[len(w.all)-1]}, nil
}
