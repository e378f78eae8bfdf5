package load

import (
	"math"
	"testing"
)

// TestMerge: two loops' counts are as if one had counted all.
func TestMerge(t *testing.T) {
	group := []Group{{Name: "g"}}
	one, two, all := newTally(group), newTally(group), newTally(group)
	for i := range int64(1000) {
		nano := (i + 1) * 1_000_000
		all.count(0, 1, nano)
		if i%3 == 0 {
			one.count(0, 1, nano)
		} else {
			two.count(0, 1, nano)
		}
	}
	one.stop(2e9)
	two.stop(3e9)
	all.stop(3e9)
	got, want := one.groups[0], all.groups[0]
	got.merge(&two.groups[0])
	if got.Requests != 1000 || got.Seconds != 3 || got.Rate() != want.Rate() {
		t.Errorf("%d requests in %v s, want 1000 in 3", got.Requests, got.Seconds)
	}
	for _, q := range []float64{0.5, 0.99, 0.999} {
		if got.Milli(q) != want.Milli(q) {
			t.Errorf("quantile %v is %v ms, want %v", q, got.Milli(q), want.Milli(q))
		}
		if exact := q * 1000; math.Abs(got.Milli(q)-exact) > exact/500 {
			t.Errorf("quantile %v is %v ms, want %v within two thousandths", q, got.Milli(q), exact)
		}
	}
	if m := got.MaxMilli(); m < 1000 || m > 1001 {
		t.Errorf("the greatest is %v ms, want 1000", m)
	}
}

// TestTally forgets what came before the counting and after it, and has a place for what is
// out of the histogram's range.
func TestTally(t *testing.T) {
	tl := newTally([]Group{{Name: "a"}, {Name: "b"}})
	tl.count(1, 5, 1e6)
	tl.start(10e9)
	tl.count(1, 2, 3*mostNano)
	tl.count(1, 1, 0)
	tl.stop(12e9)
	tl.count(1, 9, 1e6)
	tl.stop(20e9)
	b := tl.groups[1]
	if b.Requests != 3 || b.Latency.TotalCount() != 3 || b.Seconds != 2 || b.Rate() != 1.5 {
		t.Errorf("%d requests, %d latencies, %v s", b.Requests, b.Latency.TotalCount(), b.Seconds)
	}
	if a := tl.groups[0]; a.Requests != 0 || !math.IsNaN(a.Milli(0.5)) {
		t.Errorf("a group without replies: %d, %v ms", a.Requests, a.Milli(0.5))
	}
}
