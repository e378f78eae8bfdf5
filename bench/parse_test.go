package main

import (
	"flag"
	"io"
	"reflect"
	"strings"
	"testing"
)

// TestParseBenchmark reads what redis-benchmark 7 prints with --csv, and
// refuses what has no figures.
func TestParseBenchmark(t *testing.T) {
	const text = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"SET","105042.02","0.241","0.080","0.239","0.311","0.367","1.231"
`
	got, err := parseBenchmark(text)
	if want := (figures{metricRate: 105042.02}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", text[:60], text + text, "\"test\",\"rps\"\n\"SET\",\"0\"\n"} {
		if got, err := parseBenchmark(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

// TestParseStat finds the times behind any name of a program.
func TestParseStat(t *testing.T) {
	for _, name := range []string{"hapax", "a b) c", "ld-linux) 1 2 ("} {
		text := "7 (" + name + ") S 1 7 7 0 -1 4194560 11 22 33 44 120 35 5 6 20 0 8 0 100 200 300"
		if got, err := parseStat(text); err != nil || got != 1_550_000 {
			t.Errorf("%q: %d µs, %v, want 155 hundredths", name, got, err)
		}
	}
	if _, err := parseStat("7 (x) S 1"); err == nil {
		t.Error("a short line was read")
	}
}

// TestTrace counts what waits for the disk: syncs, and writes to files that
// were opened so, whatever their descriptors were before, and not what only
// ends a call.
func TestTrace(t *testing.T) {
	const text = `12 openat(AT_FDCWD, "/d/wal-1", O_RDWR|O_CLOEXEC) = 7
12 pwrite64(7, "..."..., 4096, 0) = 4096
12 fdatasync(7) = 0
13 openat(AT_FDCWD, "/d/wal-1", O_RDWR|O_DIRECT|O_DSYNC <unfinished ...>
12 openat(AT_FDCWD, "/proc/self/x", O_RDONLY) = -1 ENOENT (No such file or directory)
13 <... openat resumed>)          = 8
13 pwrite64(8, "..."..., 4096, 0 <unfinished ...>
12 fsync(9 <unfinished ...>
13 <... pwrite64 resumed>)        = 4096
12 <... fsync resumed>)           = 0
13 pwritev2(7, [{iov_base="..."}], 1, 0, RWF_DSYNC) = 5
13 write(5, "fdatasync(7)", 12) = 12
13 openat(AT_FDCWD, "/d/wal-2", O_RDWR) = 8
13 pwrite64(8, "..."..., 4096, 0) = 4096
`
	r := traceReader{openings: map[string]bool{}, synced: map[string]bool{}}
	for line := range strings.Lines(text) {
		r.line(strings.TrimSuffix(line, "\n"))
	}
	if r.syncs != 4 {
		t.Errorf("%d syncs, want 4: fdatasync, the write to 8, fsync, the write with RWF_DSYNC", r.syncs)
	}
}

// TestQuick shortens all but what was chosen.
func TestQuick(t *testing.T) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	var o options
	o.flags(f)
	if err := f.Parse([]string{"-reps", "7", "-only", "x"}); err != nil {
		t.Fatal(err)
	}
	full := o
	o.quick(f)
	if o.reps != 7 || o.only != "x" || o.seconds >= full.seconds || o.keys >= full.keys || o.minutes >= full.minutes {
		t.Errorf("got %+v, from %+v", o, full)
	}
}

// TestWants matches group and row, in any case of letters.
func TestWants(t *testing.T) {
	for only, want := range map[string]bool{
		"": true, "get p16": true, "GET P16": true, "persistence off": true, "off: GET": true, "GET P64": false, "appendfsync": false,
	} {
		r := &run{options: options{only: only}}
		if got := r.wants(groupPlain, "GET P16"); got != want {
			t.Errorf("%q: %v, want %v", only, got, want)
		}
	}
}
