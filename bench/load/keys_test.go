package load

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestZipfDraw compares how often ranks are drawn with 1/k^s: single ranks
// where there are many draws of each, and the sums of all the others.
func TestZipfDraw(t *testing.T) {
	t.Parallel()
	const draws = 2_000_000
	for _, n := range []int{1, 2, 10, 10_000} {
		const s = 0.99
		d, rnd := newZipfDraw(n, s), rand.New(rand.NewPCG(1, uint64(n)))
		got := make([]int, n)
		for range draws {
			got[d.rank(rnd)-1]++
		}
		total := 0.0
		for k := 1; k <= n; k++ {
			total += math.Pow(float64(k), -s)
		}
		// Ranks in groups that double: 1, 2–3, 4–7, …
		for from := 1; from <= n; from *= 2 {
			count, share := 0, 0.0
			for k := from; k < min(2*from, n+1); k++ {
				count += got[k-1]
				share += math.Pow(float64(k), -s) / total
			}
			want := share * draws
			if off := math.Abs(float64(count) - want); off > 6*math.Sqrt(want) {
				t.Errorf("%d keys, ranks from %d: drawn %d times, want about %.0f", n, from, count, want)
			}
		}
	}
}

// TestZipfKeys are those of one popularity for all clients, from places of
// their own, and the same again with the same seeds.
func TestZipfKeys(t *testing.T) {
	t.Parallel()
	const n, draws = 1000, 20_000
	z := NewZipf(n, 0.99, 1)
	again := NewZipf(n, 0.99, 1)
	most := func(seed uint64) (key uint64) {
		counts := make([]int, n)
		k, same := z.Keys(seed), again.Keys(seed)
		for range draws {
			v := k.Next()
			if w := same.Next(); w != v {
				t.Fatalf("seed %d: %d, then %d", seed, v, w)
			}
			counts[v]++
		}
		for v := range counts {
			if counts[v] > counts[key] {
				key = uint64(v)
			}
		}
		return key
	}
	if a, b := most(1), most(2); a != b {
		t.Errorf("most popular are %d and %d", a, b)
	}
	if a, b := z.Keys(1).at, z.Keys(2).at; a == b {
		t.Errorf("both clients begin at %d", a)
	}
	end := z.Keys(1)
	end.at = zipfDraws - 1
	end.Next()
	if got := end.Next(); got != uint64(z.ring[0]) {
		t.Errorf("behind the last draw is %d, want the first, %d", got, z.ring[0])
	}
}

// TestUniform reaches every key, about as often.
func TestUniform(t *testing.T) {
	t.Parallel()
	const n, each = 50, 1000
	counts := make([]int, n)
	k := Uniform(n, 1)
	for range n * each {
		counts[k.Next()]++
	}
	for v, c := range counts {
		if off := math.Abs(float64(c - each)); off > 6*math.Sqrt(each) {
			t.Errorf("key %d came %d times, want about %d", v, c, each)
		}
	}
}
