package load

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run counted.
type Result struct {
	Groups []GroupResult // as in the plan
}

// GroupResult is what one group did while it was counted.
type GroupResult struct {
	Name     string
	Requests int64 // replies that came
	Seconds  float64
	Latency  *hdrhistogram.Histogram // nanoseconds, from sending the batch to reading the reply
}

// Latencies are kept from 100 ns to two minutes, to three digits. One such
// histogram takes 200 KB, so connections of a group share one for each loop.
const (
	leastNano  = 100
	mostNano   = int64(2 * time.Minute)
	histDigits = 3
)

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(leastNano, mostNano, histDigits)
}

// merge adds what another loop counted for the same group. The loops run side
// by side, so seconds don't add up.
func (g *GroupResult) merge(other *GroupResult) {
	g.Requests += other.Requests
	g.Seconds = max(g.Seconds, other.Seconds)
	g.Latency.Merge(other.Latency)
}

// Rate is requests a second.
func (g *GroupResult) Rate() float64 {
	if g.Seconds == 0 {
		return 0
	}
	return float64(g.Requests) / g.Seconds
}

// Milli is the latency at a quantile from 0 to 1, in milliseconds; NaN when
// nothing came back.
func (g *GroupResult) Milli(quantile float64) float64 {
	if g.Latency.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(g.Latency.ValueAtQuantile(quantile*100)) / 1e6
}

// MaxMilli is the greatest latency.
func (g *GroupResult) MaxMilli() float64 { return float64(g.Latency.Max()) / 1e6 }

// Requests is the sum over all groups.
func (r *Result) Requests() int64 {
	var sum int64
	for i := range r.Groups {
		sum += r.Groups[i].Requests
	}
	return sum
}

// Group finds a group's result by its name.
func (r *Result) Group(name string) *GroupResult {
	for i := range r.Groups {
		if r.Groups[i].Name == name {
			return &r.Groups[i]
		}
	}
	return nil
}
