package main

import (
	"os/exec"
	"reflect"
	"testing"
)

// TestKeyCounts goes up by tens and stops at what was asked for.
func TestKeyCounts(t *testing.T) {
	for most, want := range map[int][]int{
		500: {500}, 10_000: {10_000}, 999_999: {10_000, 100_000}, 10_000_000: {10_000, 100_000, 1_000_000, 10_000_000},
	} {
		if got := keyCounts(most); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %v, want %v", most, got, want)
		}
	}
}

// TestBeginsOf: the connections share the operations without a rest, or their
// numbers would have gaps and some would not be deleted again.
func TestBeginsOf(t *testing.T) {
	for _, n := range []int{1, 10_000, 100_000, 10_000_000} {
		for _, pipeline := range []int{1, 16} {
			if got := beginsOf(n, pipeline); got < 10_000 || got%(growthClients*pipeline) != 0 {
				t.Errorf("%d keys, P%d: %d operations", n, pipeline, got)
			}
		}
	}
}

// TestKeysOfSize bounds what all values take, and the connections share them.
func TestKeysOfSize(t *testing.T) {
	for _, size := range growingAll.bytes {
		n := keysOfSize(size, 100_000)
		if n%(valueClients*fillPipeline(size)) != 0 || n < valueLeastKeys || n > 100_000 || n*size > valueTotal {
			t.Errorf("%d bytes: %d keys", size, n)
		}
	}
}

// TestShortly gives back what it shortens, and lengthens nothing.
func TestShortly(t *testing.T) {
	r := &run{options: options{reps: 50, seconds: 0.25, keys: 7}}
	before := r.options
	r.shortly(func() error {
		if r.reps != growthReps || r.seconds != 0.25 || r.keys != 7 {
			t.Errorf("it runs with %+v", r.options)
		}
		return nil
	})
	if r.options != before {
		t.Errorf("it left %+v of %+v", r.options, before)
	}
}

// TestAsks: the long groups run when something names them, and only then.
func TestAsks(t *testing.T) {
	for only, want := range map[string]bool{
		"": false, "GET P16": false, "growth": true, "Growth: keys": true, "growth: keys: GET P16": true, "growth: values": false, "keys": false,
	} {
		if got := (&run{options: options{only: only}}).asks(groupGrowthKeys); got != want {
			t.Errorf("%q: %v", only, got)
		}
	}
}

// TestGrowthSmoke runs one point of each kind of curve against real servers.
func TestGrowthSmoke(t *testing.T) {
	loaded := []string{metricCPU, metricRate, metricP50, metricP99, metricRSS}
	for _, test := range []struct {
		only    string
		xs      []float64
		metrics []string
	}{
		{"growth: keys: loaded", []float64{3000}, []string{metricBytes, metricRSS}},
		{"growth: keys: GET P16", []float64{3000}, loaded},
		{"growth: keys: IDEM BEGIN P16", []float64{3000}, loaded},
		{"growth: keys: SET, snapshots", []float64{3000}, append(loaded, metricSnapshots)},
		{"growth: connections: IDEM", []float64{1, 10}, loaded},
		{"growth: value size: GET", []float64{16, 1 << 10}, loaded},
		{"growth: value size: IDEM", []float64{16, 1 << 10}, loaded},
	} {
		t.Run(test.only, func(t *testing.T) {
			r := tiny(t, test.only)
			r.growing = growing{clients: []int{1, 10}, bytes: []int{16, 1 << 10}, valueKeys: 320}
			if err := r.runAll(); err != nil {
				t.Fatal(err)
			}
			g := r.report.Groups[0]
			for _, c := range r.all {
				for _, m := range test.metrics {
					name := g.Rows[0].Name
					if xs, _ := g.points(name, c.name, m); !reflect.DeepEqual(xs, test.xs) {
						t.Errorf("%s of %s is there for %v, want %v", m, c.name, xs, test.xs)
					}
				}
			}
		})
	}
}

// TestIdemLeavesNoKeys: what a repetition begins is forgotten, or the next
// point would be of more keys than it says.
func TestIdemLeavesNoKeys(t *testing.T) {
	r := tiny(t, "")
	for _, c := range r.all {
		p, err := r.start(c, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.stop)
		if err := p.loadScripts(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			f, err := p.beginAndDelete(curve{name: "IDEM", pipeline: 16, kind: beginning}, 1600)
			if err != nil || f[metricRate] == 0 {
				t.Fatalf("%s: %v, %v", c.name, f, err)
			}
			if err := p.mustAsk(":0", "DBSIZE"); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSlowDisk: who waits for a sync waits for what strace adds, on every
// server and in every place of the sync; who only reads beside a syncer
// doesn't need to.
func TestSlowDisk(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace")
	}
	r := tiny(t, groupSlowDisk)
	r.seconds, r.slowMicro = 0.5, 50_000 // more than a busy machine makes of it
	if err := r.runAll(); err != nil {
		t.Fatal(err)
	}
	rows := r.report.Groups[0].Rows
	if want := len(slowRows) * len(slowServers(r.all)); len(rows) != want {
		t.Fatalf("%d rows, want %d", len(rows), want)
	}
	for _, row := range rows {
		if got := row.Metrics[metricP50].Median; got < float64(r.slowMicro)/1000 {
			t.Errorf("%s of %s: half of the writes take less than %v ms", row.Name, row.Server, got)
		}
		_, hasReaders := row.Metrics[metricReaderP50]
		if hasReaders != (row.Params["readers"] != "0") {
			t.Errorf("%s of %s: readers are %v", row.Name, row.Server, hasReaders)
		}
		if place := row.Params["place"]; row.Server == hapax+" syncer" && place != "syncer" || row.Server == hapax+" loop" && place != "loop" {
			t.Errorf("%s of %s: the sync ran in the %q", row.Name, row.Server, place)
		}
	}
}

// TestSlowDiskWithout strace leaves the rows out and says so.
func TestSlowDiskWithout(t *testing.T) {
	r := tiny(t, groupSlowDisk)
	t.Setenv("PATH", t.TempDir())
	if err := runSlowDisk(r); err != nil || len(r.report.Groups) > 0 {
		t.Errorf("%d groups, %v", len(r.report.Groups), err)
	}
}
