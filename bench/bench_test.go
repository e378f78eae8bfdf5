package main

import (
	"testing"
)

// TestParseBenchmark reads what redis-benchmark 7 prints with --csv, and
// refuses what has no figures.
func TestParseBenchmark(t *testing.T) {
	const text = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"SET","105042.02","0.241","0.080","0.239","0.311","0.367","1.231"
`
	got, err := parseBenchmark(text)
	if want := (result{rate: 105042.02, p50: 0.239, p99: 0.367}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", text[:60], text + text, "\"test\",\"rps\"\n\"SET\",\"0\"\n"} {
		if got, err := parseBenchmark(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
}

// TestMedian takes the middle, or the mean of the two middle ones.
func TestMedian(t *testing.T) {
	rate := func(r result) float64 { return r.rate }
	for _, test := range []struct {
		rates []float64
		want  float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		var results []result
		for _, r := range test.rates {
			results = append(results, result{rate: r})
		}
		if got := median(results, rate); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.rates, got, test.want)
		}
	}
}
