package main

import (
	"fmt"
	"os/exec"
	"strconv"

	"github.com/hapaxkv/hapax/bench/load"
)

const groupSlowDisk = "Slow disk"

// slowDiskMicro is added to every call that waits for the disk.
const slowDiskMicro = 2000

// slowCalls are those that do, in any of the servers: Hapax's log is written
// and synced by one pwritev2, where it isn't by fdatasync like the others'.
const slowCalls = "fdatasync,fsync,pwritev2"

const (
	slowWriters = 50
	slowReaders = 50
	slowKeys    = 10_000
)

// slowServer is a contender, or Hapax with its sync in one place.
type slowServer struct {
	contender
	label string
	args  []string
}

// slowServers puts Hapax there once for each place.
func slowServers(all []contender) []slowServer {
	var servers []slowServer
	for _, c := range all {
		if c.name != hapax {
			servers = append(servers, slowServer{contender: c, label: c.name})
			continue
		}
		for _, place := range []string{"auto", "loop", "syncer"} {
			servers = append(servers, slowServer{c, c.name + " " + place, []string{"--sync-place", place}})
		}
	}
	return servers
}

type slowRow struct {
	name    string
	readers int
}

var slowRows = []slowRow{
	{"50 writers", 0},
	{"50 writers beside 50 readers", slowReaders},
}

// runSlowDisk has strace hold up every call that waits for the disk.
func runSlowDisk(r *run) error {
	var wanted []slowRow
	for _, row := range slowRows {
		if r.wants(groupSlowDisk, row.name) {
			wanted = append(wanted, row)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		fmt.Fprintf(r.progress, "no strace on the PATH: the rows of %q are left out\n", groupSlowDisk)
		return nil
	}
	variants := slowServers(r.all)
	var servers []*process
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	for _, v := range variants {
		p, err := r.startSlow(strace, v)
		if err != nil {
			return err
		}
		servers = append(servers, p)
	}
	for _, row := range wanted {
		if err := r.slow(row, variants, servers); err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
	}
	return nil
}

func (r *run) startSlow(strace string, v slowServer) (*process, error) {
	dir, err := leftovers.tempDir()
	if err != nil {
		return nil, err
	}
	under := []string{strace, "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "signal=none",
		"-e", "trace=" + slowCalls, "-e", fmt.Sprintf("inject=%s:delay_exit=%d", slowCalls, r.slowMicro)}
	args := append([]string{"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"}, v.args...)
	p, err := startUnder(under, v.contender, dir, args...)
	if err != nil {
		return nil, err
	}
	few := *r
	few.hotKeys = slowKeys
	if err := few.preload(p); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// slow runs one row on all of them.
func (r *run) slow(row slowRow, variants []slowServer, servers []*process) error {
	results, err := r.inTurns(servers, func(p *process) (figures, error) { return r.slowOnce(row, p) })
	if err != nil {
		return err
	}
	var rows []Row
	for i, v := range variants {
		params := map[string]string{"writers": strconv.Itoa(slowWriters), "readers": strconv.Itoa(row.readers)}
		if v.name == hapax {
			// Where the sync ran at the end, under this load.
			if params["place"], err = servers[i].infoField("hapax", "log_sync_place"); err != nil {
				return err
			}
		}
		rows = append(rows, Row{Name: row.name, Server: v.label, Params: params, Metrics: summarize(results[i])})
	}
	r.add(groupSlowDisk, fmt.Sprintf("appendfsync always; strace makes every %s take %d µs longer. "+
		"rate, p50 and p99 are the writers', no pipeline, %d-byte values", slowCalls, r.slowMicro, valueBytes), rows...)
	return nil
}

// slowOnce leaves out what the tracing itself costs: the server's CPU.
func (r *run) slowOnce(row slowRow, p *process) (figures, error) {
	script := func(reads int) func(int) load.Script {
		v := value(valueBytes)
		return func(i int) load.Script {
			seed := uint64(reads*1000 + i)
			return load.NewStrings(keyPrefix, load.Uniform(slowKeys, seed), v, reads, seed)
		}
	}
	plan := r.plan(load.Group{Name: "writers", Clients: slowWriters, New: script(0)})
	if row.readers > 0 {
		plan.Groups = append(plan.Groups, load.Group{Name: "readers", Clients: row.readers, New: script(100)})
	}
	f, result, err := p.drive(plan)
	if err != nil {
		return nil, err
	}
	delete(f, metricCPU)
	delete(f, metricGCShare)
	if g := result.Group("readers"); g != nil {
		f[metricReaderRate], f[metricReaderP50], f[metricReaderP99] = g.Rate(), g.Milli(0.5), g.Milli(0.99)
	}
	return f, nil
}
