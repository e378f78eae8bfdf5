package idem

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference is the contract's reply table in its plainest form: strings, no
// codec, no shared code with the package.
type reference struct {
	there, done                bool
	fingerprint, owner, result string
	deadlineMilli              int64
}

func (m *reference) expire(nowMilli int64) {
	if m.there && nowMilli >= m.deadlineMilli {
		*m = reference{}
	}
}

func (m *reference) begin(nowMilli int64, fingerprint, owner string, ttlMilli int64) string {
	m.expire(nowMilli)
	switch {
	case !m.there:
		*m = reference{there: true, fingerprint: fingerprint, owner: owner, deadlineMilli: nowMilli + ttlMilli}
		return "acquired"
	case m.fingerprint != fingerprint:
		return "conflict"
	case !m.done:
		return "pending"
	}
	return "completed " + m.result
}

func (m *reference) complete(nowMilli int64, fingerprint, owner, result string) string {
	m.expire(nowMilli)
	switch {
	case !m.there || m.fingerprint != fingerprint || m.owner != owner:
		return "0"
	case m.done && m.result != result:
		return "0"
	}
	m.done, m.result = true, result
	return "1"
}

// register drives the package the way the command does: one key, a deadline
// that only BEGIN sets.
type register struct {
	stored Stored
	writes int
}

func (g *register) expire(nowMilli int64) {
	if g.stored.Live && nowMilli >= g.stored.DeadlineMilli {
		g.stored = Stored{}
	}
}

func (g *register) begin(nowMilli int64, fingerprint, owner string, ttlMilli int64) (string, error) {
	g.expire(nowMilli)
	outcome, result, err := Begin(&g.stored, []byte(fingerprint))
	switch outcome {
	case BeginAcquired:
		record := Append(nil, &Record{State: Pending, Fingerprint: []byte(fingerprint), Owner: []byte(owner)})
		g.stored = Stored{Live: true, Bytes: record, DeadlineMilli: Deadline(nowMilli, ttlMilli)}
		g.writes++
		return "acquired", err
	case BeginPending:
		return "pending", err
	case BeginConflict:
		return "conflict", err
	case BeginCompleted:
		return "completed " + string(result), err
	}
	return "", err
}

func (g *register) complete(nowMilli int64, fingerprint, owner, result string) (string, error) {
	g.expire(nowMilli)
	outcome, err := Complete(&g.stored, []byte(fingerprint), []byte(owner), []byte(result))
	switch outcome {
	case CompletePublished:
		g.stored.Bytes = Append(nil, &Record{State: Completed,
			Fingerprint: []byte(fingerprint), Owner: []byte(owner), Result: []byte(result)})
		g.writes++
		return "1", err
	case CompleteRepeated:
		return "1", err
	case CompleteRefused:
		return "0", err
	}
	return "", err
}

func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			pick := func(from ...string) string { return from[rnd.IntN(len(from))] }
			var want reference
			var got register
			nowMilli := int64(someDeadlineMilli)
			for range 100 {
				nowMilli += int64(rnd.IntN(4))
				before := want
				before.expire(nowMilli)
				fingerprint, owner := pick("f", "g"), pick("me", "you")
				writes := got.writes
				var wantReply, gotReply string
				var err error
				if rnd.IntN(2) == 0 {
					ttlMilli := 1 + int64(rnd.IntN(40))
					wantReply = want.begin(nowMilli, fingerprint, owner, ttlMilli)
					gotReply, err = got.begin(nowMilli, fingerprint, owner, ttlMilli)
				} else {
					result := pick("", "r", "s")
					wantReply = want.complete(nowMilli, fingerprint, owner, result)
					gotReply, err = got.complete(nowMilli, fingerprint, owner, result)
				}
				require.NoError(t, err)
				require.Equal(t, wantReply, gotReply)
				require.Equal(t, want.there, got.stored.Live)
				require.Equal(t, want.deadlineMilli, got.stored.DeadlineMilli)
				require.Equal(t, want != before, got.writes > writes, "a write exactly when the contract's state changed")
			}
		})
	}
}
