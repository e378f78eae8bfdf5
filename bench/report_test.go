package main

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestSample takes the middle, or the mean of the two middle ones, and keeps
// the order that the figures came in.
func TestSample(t *testing.T) {
	for _, test := range []struct {
		all                 []float64
		median, least, most float64
	}{{[]float64{3}, 3, 3, 3}, {[]float64{9, 1, 2}, 2, 1, 9}, {[]float64{4, 1, 3, 2}, 2.5, 1, 4}} {
		got := newSample("ms", test.all...)
		want := Sample{Median: test.median, Min: test.least, Max: test.most, All: test.all, Unit: "ms"}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %+v, want %+v", test.all, got, want)
		}
	}
}

// TestSummarize keeps what only some repetitions measured.
func TestSummarize(t *testing.T) {
	got := summarize([]figures{{metricRate: 10, metricP99: 1}, {metricRate: 30}, {metricRate: 20, metricP99: 3}})
	want := map[string]Sample{
		metricRate: {Median: 20, Min: 10, Max: 30, All: []float64{10, 30, 20}, Unit: "/s"},
		metricP99:  {Median: 2, Min: 1, Max: 3, All: []float64{1, 3}, Unit: "ms"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// sampleReport has a row that two servers share.
func sampleReport() *Report {
	row := func(server string, cpu, rate float64) Row {
		return Row{Name: "GET P16", Server: server, Params: map[string]string{"clients": "50"},
			Metrics: map[string]Sample{metricCPU: newSample("µs", cpu), metricRate: newSample("/s", rate)}}
	}
	return &Report{
		Machine:   Machine{OS: "linux", CPU: "one", CPUs: 2, MemoryBytes: 1 << 30},
		Servers:   []ServerInfo{{"hapax", "1"}, {"redis", "7"}},
		Commit:    "abc",
		StartedAt: time.Unix(1_700_000_000, 0).UTC(),
		Groups:    []Group{{Name: "Persistence off", Rows: []Row{row("hapax", 1, 300), row("redis", 2, 100)}}},
	}
}

// TestJSON is what the plots are made from: nothing is lost on the way.
func TestJSON(t *testing.T) {
	want := sampleReport()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := want.writeJSON(path); err != nil {
		t.Fatal(err)
	}
	got, err := readReport(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

// TestAims judges on both sides of the bound, and only against the reference.
func TestAims(t *testing.T) {
	rows := sampleReport().Groups[0].Rows
	for _, test := range []struct {
		aim  Aim
		met  bool
		text string
	}{
		{atMost(metricCPU, 0.5), true, "cpu ≤ 0.50: met"},
		{atMost(metricCPU, 0.49), false, "cpu ≤ 0.49: missed"},
		{atLeast(metricRate, 3), true, "rate ≥ 3.00: met"},
		{atLeast(metricRate, 3.1), false, "rate ≥ 3.10: missed"},
		{atLeast(metricP99, 1), false, "p99 ≥ 1.00: not compared"},
		{Aim{Metric: metricRate, Against: "valkey", AtLeast: 1}, false, "rate ≥ 1.00: not compared"},
	} {
		got := test.aim.judge(rows[0], rows)
		if got.Met != test.met || got.String() != test.text {
			t.Errorf("got %q, met %v; want %q, %v", got, got.Met, test.text, test.met)
		}
	}
}
