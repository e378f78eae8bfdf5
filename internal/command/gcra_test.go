package command

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactBucket is GCRA over rationals, written from its definition. Only a
// change of limit rounds, up to the unit of the new limit.
type exactBucket struct {
	at   *big.Rat // arrival time
	unit int64    // limit of the last spending
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func ceilRat(x *big.Rat) *big.Int {
	n := new(big.Int).Add(x.Num(), x.Denom())
	n.Sub(n, big.NewInt(1))
	return n.Div(n, x.Denom())
}

func (e *exactBucket) decide(nowMilli, limit, windowMilli, cost int64) decision {
	at := e.at
	if at == nil || at.Cmp(rat(nowMilli)) < 0 {
		at = rat(nowMilli)
	} else if e.unit != limit {
		at = new(big.Rat).Mul(at, rat(limit))
		at.SetFrac(ceilRat(at), big.NewInt(limit))
	}
	interval := big.NewRat(windowMilli, limit)
	end := rat(nowMilli + windowMilli)
	next := new(big.Rat).Add(at, new(big.Rat).Mul(interval, rat(cost)))
	d := decision{allowed: cost <= limit && next.Cmp(end) <= 0}
	switch {
	case d.allowed && cost > 0:
		e.at, e.unit, at = next, limit, next
	case d.allowed:
	case cost > limit:
		d.retryMilli = -1
	default:
		d.retryMilli = ceilRat(new(big.Rat).Sub(next, end)).Int64()
	}
	if room := new(big.Rat).Sub(end, at); room.Sign() > 0 {
		room.Quo(room, interval)
		d.remaining = new(big.Int).Div(room.Num(), room.Denom()).Int64()
	}
	d.resetMilli = ceilRat(new(big.Rat).Sub(at, rat(nowMilli))).Int64()
	return d
}

// spender drives the arithmetic as LIMIT does, through the record's bytes.
type spender struct {
	record        []byte
	deadlineMilli int64
}

func (s *spender) decide(t *testing.T, nowMilli, limit, windowMilli, cost int64) decision {
	b := bucket{limit: uint64(limit), windowMilli: uint64(windowMilli)}
	present := arrival{milli: nowMilli}
	if s.record != nil && nowMilli < s.deadlineMilli {
		unit, a, ok := decodeLimitRecord(s.record)
		require.True(t, ok)
		if a.milli >= nowMilli {
			present = a.rescale(unit, b.limit)
		}
	}
	next, d := b.decide(present, nowMilli, uint64(cost))
	if d.allowed && cost > 0 {
		s.record, s.deadlineMilli = appendLimitRecord(nil, b.limit, next), next.ceil()
		require.Greater(t, s.deadlineMilli, nowMilli)
	} else {
		require.Equal(t, present, next, "what is denied changes nothing")
	}
	return d
}

// randomUpTo is 1..most, small as often as large.
func randomUpTo(rnd *rand.Rand, most int64) int64 {
	n := 1 + rnd.Int64N(most)
	for range rnd.IntN(4) {
		n = 1 + rnd.Int64N(n)
	}
	return n
}

func TestLimitAgainstExactArithmetic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			var want exactBucket
			var got spender
			nowMilli := int64(1_700_000_000_000)
			limit, windowMilli := randomUpTo(rnd, maxLimit), randomUpTo(rnd, maxNativeTTLMilli)
			if seed%3 == 0 {
				limit, windowMilli = 1+rnd.Int64N(20), 1+rnd.Int64N(100)
			}
			for range 100 {
				if rnd.IntN(20) == 0 {
					limit = max(1, min(maxLimit, limit+rnd.Int64N(5)-2))
				}
				if rnd.IntN(20) == 0 {
					windowMilli = randomUpTo(rnd, windowMilli+1)
				}
				cost := randomUpTo(rnd, min(maxCost, limit+2)) - rnd.Int64N(2)
				if rnd.IntN(2) == 0 {
					nowMilli += rnd.Int64N(windowMilli/4 + 2)
				}
				wantReply := want.decide(nowMilli, limit, windowMilli, cost)
				gotReply := got.decide(t, nowMilli, limit, windowMilli, cost)
				require.Equal(t, wantReply, gotReply)
			}
		})
	}
}

// retry is exact: a millisecond earlier the same call is still denied.
func TestRetryIsTheFirstMoment(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 9))
	denied := 0
	for range 500 {
		limit, windowMilli := 1+rnd.Int64N(50), 1+rnd.Int64N(1000)
		var s spender
		nowMilli := int64(1_000_000)
		for range 30 {
			cost := 1 + rnd.Int64N(limit)
			d := s.decide(t, nowMilli, limit, windowMilli, cost)
			if d.allowed {
				continue
			}
			denied++
			early, late := s, s
			if d.retryMilli > 1 {
				require.False(t, early.decide(t, nowMilli+d.retryMilli-1, limit, windowMilli, cost).allowed)
			}
			require.True(t, late.decide(t, nowMilli+d.retryMilli, limit, windowMilli, cost).allowed)
			full := s.decide(t, nowMilli+d.resetMilli, limit, windowMilli, 0)
			require.Equal(t, limit, full.remaining)
			require.Zero(t, full.resetMilli)
			nowMilli += rnd.Int64N(windowMilli)
		}
	}
	require.Positive(t, denied)
}

// What is admitted within any stretch of time is at most the limit and what
// flows back in that time.
func TestLimitIsKept(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 100 {
		limit, windowMilli := 1+rnd.Int64N(30), 1+rnd.Int64N(200)
		var s spender
		type spent struct{ atMilli, cost int64 }
		var admitted []spent
		nowMilli := int64(1_000_000)
		for range 200 {
			nowMilli += rnd.Int64N(windowMilli/5 + 2)
			cost := 1 + rnd.Int64N(limit)
			if s.decide(t, nowMilli, limit, windowMilli, cost).allowed {
				admitted = append(admitted, spent{nowMilli, cost})
			}
		}
		for i := range admitted {
			total := int64(0)
			for _, a := range admitted[i:] {
				total += a.cost
				stretch := a.atMilli - admitted[i].atMilli
				require.LessOrEqual(t, (total-limit)*windowMilli, stretch*limit)
			}
		}
	}
}

func TestLimitBounds(t *testing.T) {
	t.Parallel()
	const nowMilli = 1_700_000_000_000
	for _, limit := range []int64{1, 2, maxLimit - 1, maxLimit} {
		for _, windowMilli := range []int64{1, 2, maxNativeTTLMilli - 1, maxNativeTTLMilli} {
			for _, cost := range []int64{0, 1, limit, maxCost} {
				var want exactBucket
				var got spender
				for range 3 {
					require.Equal(t, want.decide(nowMilli, limit, windowMilli, cost),
						got.decide(t, nowMilli, limit, windowMilli, cost))
				}
			}
		}
	}
}

func TestLimitRecord(t *testing.T) {
	t.Parallel()
	a := arrival{milli: 0x0102030405060708, part: 0x11121314}
	b := appendLimitRecord(nil, 0x21222324, a)
	require.Equal(t, "\xf1LM\x01\x24\x23\x22\x21\x14\x13\x12\x11\x08\x07\x06\x05\x04\x03\x02\x01", string(b))
	limit, decoded, ok := decodeLimitRecord(b)
	require.True(t, ok)
	require.Equal(t, uint64(0x21222324), limit)
	require.Equal(t, a, decoded)

	good := func() []byte { return appendLimitRecord(nil, 10, arrival{milli: 1_700_000_000_000, part: 9}) }
	bad := map[string][]byte{"empty": nil, "short": good()[:19], "long": append(good(), 0)}
	for name, edit := range map[string]struct {
		at    int
		value byte
	}{
		"magic": {0, 'x'}, "version": {3, 2}, "no limit": {4, 0}, "limit": {7, 0xff},
		"part": {8, 10}, "milli beyond": {19, 0x40}, "milli negative": {19, 0xff},
	} {
		b := good()
		b[edit.at] = edit.value
		bad[name] = b
	}
	for name, b := range bad {
		_, _, ok := decodeLimitRecord(b)
		require.False(t, ok, name)
	}
	_, _, ok = decodeLimitRecord(good())
	require.True(t, ok)
}

// The latest arrival time that a record may state, under the largest bucket,
// overflows nothing.
func TestForgedArrival(t *testing.T) {
	t.Parallel()
	b := bucket{limit: maxLimit, windowMilli: maxNativeTTLMilli}
	_, d := b.decide(arrival{milli: maxArrivalMilli, part: maxLimit - 1}, 0, maxCost)
	require.False(t, d.allowed)
	require.Zero(t, d.remaining)
	require.Positive(t, d.retryMilli)
	require.Positive(t, d.resetMilli)
}
