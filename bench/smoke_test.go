package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// workDir holds what the tests of a run share: the built binaries.
var workDir string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if workDir, err = os.MkdirTemp("", "hapax-bench-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(workDir)
		return m.Run()
	}())
}

// built builds the server and this command once. HAPAX_SERVER_BIN names a
// server to test with instead.
var built = sync.OnceValues(func() (binaries [2]string, err error) {
	for i, dir := range []string{"..", "."} {
		if bin := os.Getenv("HAPAX_SERVER_BIN"); i == 0 && bin != "" {
			binaries[0] = bin
			continue
		}
		binaries[i] = filepath.Join(workDir, []string{"hapax-server", "bench"}[i])
		cmd := exec.Command("go", "build", "-o", binaries[i], []string{"./cmd/server", "."}[i])
		cmd.Dir = dir
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return binaries, err
		}
	}
	return binaries, nil
})

func tiny(t *testing.T, only string) *run {
	t.Helper()
	binaries, err := built()
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(options{hapax: binaries[0], only: only, reps: 1, seconds: 0.05, keys: 3000, hotKeys: 2000, minutes: 0.01},
		&bytes.Buffer{}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSmoke runs a little of every group against the real server, and against
// the others where they are. It looks for every figure, and for no value.
func TestSmoke(t *testing.T) {
	latencies := []string{metricRate, metricP50, metricP99, metricP999, metricMax}
	loaded := append([]string{metricCPU, metricRSS}, latencies...)
	own := []string{metricGoHeap, metricGCShare}
	for _, test := range []struct {
		only    string
		rows    int      // for each server
		metrics []string // that every server has
		hapax   []string // that Hapax has beside
	}{
		{"GET P16", 1, loaded, own},
		{"off: IDEM BEGIN P16", 1, loaded, own},
		{"off: IDEM full cycle P16", 1, loaded, own},
		{"off: IDEM replay P16", 1, loaded, own},
		{"always: IDEM full cycle, 50 clients P16", 1, loaded, append(own, metricSyncs)},
		{"always: IDEM BEGIN, 50 clients P16", 1, loaded, append(own, metricSyncs)},
		{"Zipf P16", 2, loaded, own},
		{"500 connections", 1, loaded, own},
		{"GET 1 KB", 1, append(loaded, metricSmallRate), own},
		{"key: 14-byte keys, 32-byte", 1, []string{metricBytes, metricRSS}, []string{metricGoHeap}},
		{"(RDB), 14-byte keys, 32-byte", 1, []string{metricSeconds, metricDisk}, nil},
		{"(AOF), 14-byte keys, 107-byte", 1, []string{metricSeconds, metricDisk}, nil},
		{"snapshot: GET", 1, append(loaded, metricSnapshots, metricQuietRate, metricQuietP99, metricKept), own},
		{groupDisk, 1, []string{metricDisk, metricDiskLargest, metricDiskEnd, metricWritten, metricSnapshots}, nil},
	} {
		t.Run(test.only, func(t *testing.T) {
			r := tiny(t, test.only)
			if err := r.runAll(); err != nil {
				t.Fatal(err)
			}
			if len(r.report.Groups) != 1 {
				t.Fatalf("%d groups ran", len(r.report.Groups))
			}
			rows := r.report.Groups[0].Rows
			if len(rows) != test.rows*len(r.all) {
				t.Fatalf("%d rows for %d servers", len(rows), len(r.all))
			}
			for _, row := range rows {
				wanted := test.metrics
				if row.Server == hapax {
					wanted = append(append([]string{}, wanted...), test.hapax...)
				}
				for _, m := range wanted {
					if s, ok := row.Metrics[m]; !ok || s.Unit != units[m] || len(s.All) == 0 {
						t.Errorf("%s of %s: %s is %+v", row.Name, row.Server, m, s)
					}
				}
			}
		})
	}
	leftovers.mu.Lock()
	defer leftovers.mu.Unlock()
	if len(leftovers.running) > 0 || len(leftovers.dirs) > 0 {
		t.Errorf("%d processes and %q are left", len(leftovers.running), leftovers.dirs)
	}
}

// TestNothingWanted is an error: a word that matches no row measures nothing.
func TestNothingWanted(t *testing.T) {
	if err := tiny(t, "no such row").runAll(); err == nil {
		t.Error("it passed")
	}
}

// TestInterrupt: who ends the command in the middle of a row finds no server
// and no file of it.
func TestInterrupt(t *testing.T) {
	binaries, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(binaries[1], "-hapax", binaries[0], "-only", "Persistence off: ", "-reps", "1", "-seconds", "0.3", "-hot-keys", "1000")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first row is through: servers run, and the next one has begun.
	if line, err := bufio.NewReader(progress).ReadString('\n'); err != nil || !strings.Contains(line, ": SET") {
		t.Errorf("%q, %v", line, err)
	}
	before := processesIn(t, dir)
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	if before == 0 {
		t.Error("no server ran")
	}
	if n := processesIn(t, dir); n > 0 {
		t.Errorf("%d servers still run", n)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// processesIn counts those that have the directory on their command line and
// are not just being buried.
func processesIn(t *testing.T, dir string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Skip("no /proc")
	}
	n := 0
	for _, path := range lines {
		if strings.Contains(fileText(path), dir) {
			n++
		}
	}
	return n
}
