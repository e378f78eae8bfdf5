package load

import (
	"math"
	"math/rand/v2"
)

// Keys chooses the number of the next key. The same seed chooses the same.
type Keys struct {
	n    uint64
	rnd  *rand.Rand
	ring []uint32 // drawn ahead; nil: all keys alike
	at   int
}

// Uniform chooses among n keys, all alike.
func Uniform(n int, seed uint64) *Keys {
	return &Keys{n: uint64(n), rnd: rand.New(rand.NewPCG(seed, 1))}
}

// Zipf is a popularity of keys: the k-th most popular is asked for as often as
// 1/k^s. It is drawn ahead, because a draw takes longer than a request.
type Zipf struct{ ring []uint32 }

// zipfDraws is how many draws are repeated.
const zipfDraws = 1 << 22

// NewZipf draws among n keys. Popular keys aren't neighbours.
func NewZipf(n int, s float64, seed uint64) *Zipf {
	z := &Zipf{ring: make([]uint32, zipfDraws)}
	d := newZipfDraw(n, s)
	rnd := rand.New(rand.NewPCG(seed, 2))
	place := rnd.Perm(n)
	for i := range z.ring {
		z.ring[i] = uint32(place[d.rank(rnd)-1])
	}
	return z
}

// Keys begins somewhere in the draws.
func (z *Zipf) Keys(seed uint64) *Keys {
	return &Keys{ring: z.ring, at: rand.New(rand.NewPCG(seed, 3)).IntN(len(z.ring))}
}

// Next is the number of a key, from 0.
func (k *Keys) Next() uint64 {
	if k.ring == nil {
		return k.rnd.Uint64N(k.n)
	}
	v := k.ring[k.at]
	if k.at++; k.at == len(k.ring) {
		k.at = 0
	}
	return uint64(v)
}

// zipfDraw draws ranks by rejection-inversion (Hörmann and Derflinger, 1996):
// a point under the integral of x^-s, rounded to the rank, and drawn again in
// the rare case that it lies above that rank's bar. Exact, any s > 0 but 1.
type zipfDraw struct {
	s                   float64
	n                   float64
	least, most, always float64
}

func newZipfDraw(n int, s float64) zipfDraw {
	d := zipfDraw{s: s, n: float64(n)}
	d.least = d.area(1.5) - 1
	d.most = d.area(d.n + 0.5)
	d.always = 2 - d.areaEnd(d.area(2.5)-math.Pow(2, -s))
	return d
}

// area is the integral of x^-s from 1 to x.
func (d zipfDraw) area(x float64) float64 { return (math.Pow(x, 1-d.s) - 1) / (1 - d.s) }

// areaEnd is the reverse of area.
func (d zipfDraw) areaEnd(a float64) float64 { return math.Pow(1+a*(1-d.s), 1/(1-d.s)) }

// rank is from 1 to n.
func (d zipfDraw) rank(rnd *rand.Rand) int {
	for {
		a := d.most + rnd.Float64()*(d.least-d.most)
		x := d.areaEnd(a)
		k := min(max(math.Floor(x+0.5), 1), d.n)
		if k-x <= d.always || a >= d.area(k+0.5)-math.Pow(k, -d.s) {
			return int(k)
		}
	}
}
