package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/hapaxkv/hapax/bench/load"
)

// countSyncs loads a server of its own under strace and counts the system calls
// that wait for the disk. Without strace Hapax's own count is taken, and the
// others have none.
func (r *run) countSyncs(c contender, own func(p *process) load.Group) (figures, error) {
	strace, err := exec.LookPath("strace")
	if err != nil || r.withoutST {
		if c.name != hapax {
			return nil, nil
		}
		return r.countOwnSyncs(c, own)
	}
	dir, err := leftovers.tempDir()
	if err != nil {
		return nil, err
	}
	defer leftovers.remove(dir)
	trace := filepath.Join(dir, "trace")
	p, err := startUnder([]string{strace, "-f", "--seccomp-bpf", "-qq", "-e", "signal=none",
		"-e", "trace=" + tracedCalls, "-o", trace}, c, dir,
		"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0")
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if err := p.loadScripts(); err != nil {
		return nil, err
	}
	var counts [2]int64
	var countErr error
	look := func(i int) func() {
		return func() {
			if n, err := syncsIn(trace); err != nil {
				countErr = err
			} else {
				counts[i] = n
			}
		}
	}
	plan := r.plan(own(p))
	plan.Addr, plan.Begin, plan.End = p.addr(), look(0), look(1)
	result, err := load.Run(plan)
	if err != nil || countErr != nil {
		return nil, fmt.Errorf("under strace: %v, %v", err, countErr)
	}
	return figures{metricSyncs: float64(counts[1]-counts[0]) / float64(result.Requests())}, nil
}

// countOwnSyncs goes by log_syncs of INFO.
func (r *run) countOwnSyncs(c contender, own func(p *process) load.Group) (figures, error) {
	p, err := r.start(c, true)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	var counts [2]int64
	var countErr error
	look := func(i int) func() {
		return func() {
			text, err := p.infoField("hapax", "log_syncs")
			if err == nil {
				counts[i], err = strconv.ParseInt(text, 10, 64)
			}
			if err != nil {
				countErr = err
			}
		}
	}
	plan := r.plan(own(p))
	plan.Addr, plan.Begin, plan.End = p.addr(), look(0), look(1)
	result, err := load.Run(plan)
	if err != nil || countErr != nil {
		return nil, fmt.Errorf("counting syncs: %v, %v", err, countErr)
	}
	return figures{metricSyncs: float64(counts[1]-counts[0]) / float64(result.Requests())}, nil
}

// tracedCalls are those that may wait for the disk, and the ones that tell
// which files were opened so that a write does.
const tracedCalls = "fsync,fdatasync,sync_file_range,pwrite64,pwritev,pwritev2,write,writev,openat"

// syncsIn counts the syncs that strace has written down so far.
func syncsIn(trace string) (int64, error) {
	f, err := os.Open(trace)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	t := traceReader{openings: map[string]bool{}, synced: map[string]bool{}}
	s := bufio.NewScanner(f)
	s.Buffer(make([]byte, 1<<16), 1<<20)
	for s.Scan() {
		t.line(s.Text())
	}
	return t.syncs, s.Err()
}

// traceReader goes through the lines of strace -f.
type traceReader struct {
	syncs    int64
	openings map[string]bool // thread → its openat without an end asks for synced writes
	synced   map[string]bool // descriptor → its writes are
}

var (
	// "123 pwrite64(7, ...", with or without its end.
	callLine = regexp.MustCompile(`^(\d+) +(\w+)\((\d*)`)
	// The descriptor that an openat gave.
	openedLine = regexp.MustCompile(`\) += (\d+)$`)
	resumed    = regexp.MustCompile(`^(\d+) +<\.\.\. openat resumed>`)
)

func (t *traceReader) line(text string) {
	if m := resumed.FindStringSubmatch(text); m != nil {
		t.opened(text, t.openings[m[1]])
		return
	}
	m := callLine.FindStringSubmatch(text)
	if m == nil {
		return
	}
	switch thread, call, fd := m[1], m[2], m[3]; call {
	case "openat":
		wants := strings.Contains(text, "O_DSYNC") || strings.Contains(text, "O_SYNC")
		t.openings[thread] = wants
		t.opened(text, wants)
	case "fsync", "fdatasync", "sync_file_range":
		t.syncs++
	default: // a write
		if t.synced[fd] || strings.Contains(text, "RWF_DSYNC") || strings.Contains(text, "RWF_SYNC") {
			t.syncs++
		}
	}
}

// opened notes how the descriptor's writes behave. One that is opened again is
// another file's.
func (t *traceReader) opened(text string, synced bool) {
	if m := openedLine.FindStringSubmatch(text); m != nil {
		t.synced[m[1]] = synced
	}
}
