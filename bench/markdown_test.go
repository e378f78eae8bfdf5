package main

import (
	"strings"
	"testing"
	"time"
)

// judged is a report whose aims were looked at, as add does it.
func judged() *Report {
	r := sampleReport()
	rows := r.Groups[0].Rows
	valkey := Row{Name: rows[0].Name, Server: "valkey", Metrics: map[string]Sample{metricRate: newSample("/s", 100, 150, 200)}}
	rows = append(rows, valkey)
	rows[0].Metrics[metricRSS] = newSample("B", 3<<20)
	for _, a := range []Aim{atMost(metricCPU, 0.4), atLeast(metricRate, 3)} {
		rows[0].Aims = append(rows[0].Aims, a.judge(rows[0], rows))
	}
	r.Groups[0].Rows, r.Groups[0].Note = rows, "what holds"
	return r
}

// TestMarkdown has a line for each server, a dash for what it lacks, and
// ratios.
func TestMarkdown(t *testing.T) {
	const want = `
## Persistence off

what holds.

|  | server | cpu µs/req | rate /s | rss MB | cpu × | rate × | aim |
| --- | --- | --- | --- | --- | --- | --- | --- |
| GET P16 | hapax | 1.00 | 300 | 3.00 | 0.50 | 3.00 (2.00v) | cpu ≤ 0.40: missed, rate ≥ 3.00: met |
| GET P16 | redis | 2.00 | 100 | – | 1 | 1 |  |
| GET P16 | valkey | – | 150 [100–200] | – | – | 1.50 |  |
`
	if got := judged().Groups[0].markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestVerdict names what was missed, and by how much.
func TestVerdict(t *testing.T) {
	const want = `
1 aims met, 1 missed, in 1m5s.
- Persistence off: GET P16: cpu ≤ 0.40: missed, it is 0.50
`
	if got := judged().verdict(65 * time.Second); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestHead says on what it was measured.
func TestHead(t *testing.T) {
	head := judged().head()
	for _, want := range []string{"linux", "2 CPUs", "1024 MB", "commit abc", "2023-11-14", "- redis: 7"} {
		if !strings.Contains(head, want) {
			t.Errorf("no %q in:\n%s", want, head)
		}
	}
}

// TestNumber has as many digits as say something.
func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.00123: "0.0012", 0.123: "0.12", 1.234: "1.23", 12.34: "12.3", 1234.6: "1235", -1.5: "-1.50"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
