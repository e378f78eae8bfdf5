package idem

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const someDeadlineMilli = 1_700_000_000_000

func live(r Record) Stored {
	return Stored{Live: true, Bytes: Append(nil, &r), DeadlineMilli: someDeadlineMilli}
}

func pending() Stored {
	return live(Record{State: Pending, Fingerprint: []byte("print"), Owner: []byte("owner")})
}

func completed(result string) Stored {
	return live(Record{State: Completed, Fingerprint: []byte("print"), Owner: []byte("owner"), Result: []byte(result)})
}

func TestBegin(t *testing.T) {
	t.Parallel()
	f := func(s Stored, fingerprint string, want Begun, wantResult string) {
		t.Helper()
		got, result, err := Begin(&s, []byte(fingerprint))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, wantResult, string(result))
	}
	f(Stored{}, "print", BeginAcquired, "")
	f(pending(), "print", BeginPending, "")
	f(pending(), "other", BeginConflict, "")
	f(pending(), "prin", BeginConflict, "")
	f(completed("result"), "print", BeginCompleted, "result")
	f(completed(""), "print", BeginCompleted, "")
	f(completed("result"), "other", BeginConflict, "") // the fingerprint counts for completed ones too
}

func TestComplete(t *testing.T) {
	t.Parallel()
	f := func(s Stored, fingerprint, owner, result string, want Publication) {
		t.Helper()
		got, err := Complete(&s, []byte(fingerprint), []byte(owner), []byte(result))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	f(Stored{}, "print", "owner", "result", CompleteRefused)
	f(pending(), "print", "owner", "result", CompletePublished)
	f(pending(), "print", "owner", "", CompletePublished)
	f(pending(), "other", "owner", "result", CompleteRefused)
	f(pending(), "print", "other", "result", CompleteRefused)
	f(pending(), "owner", "print", "result", CompleteRefused)
	f(completed("result"), "print", "owner", "result", CompleteRepeated)
	f(completed(""), "print", "owner", "", CompleteRepeated)
	f(completed("result"), "print", "owner", "another", CompleteRefused)
	f(completed("result"), "print", "owner", "", CompleteRefused)
	f(completed("result"), "other", "owner", "result", CompleteRefused)
	f(completed("result"), "print", "other", "result", CompleteRefused)
}

// A record without deadline, or a string that is none, decides nothing (I3).
func TestBadStored(t *testing.T) {
	t.Parallel()
	persisted := pending()
	persisted.DeadlineMilli = 0
	finished := completed("result")
	finished.DeadlineMilli = 0
	foreign := Stored{Live: true, Bytes: []byte("mine"), DeadlineMilli: someDeadlineMilli}
	for _, s := range []Stored{persisted, finished, foreign, {Live: true, DeadlineMilli: someDeadlineMilli}} {
		_, result, err := Begin(&s, []byte("print"))
		require.ErrorIs(t, err, ErrBadRecord)
		require.Nil(t, result)
		_, err = Complete(&s, []byte("print"), []byte("owner"), []byte("result"))
		require.ErrorIs(t, err, ErrBadRecord)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(1_700_604_800_000), Deadline(1_700_000_000_000, MaxTTLMilli))
	require.Equal(t, int64(1), Deadline(0, MinTTLMilli))
}

// Probes allocate nothing, and a completed BEGIN lends the stored bytes.
func TestProbesDoNotAllocate(t *testing.T) {
	waiting, done := pending(), completed("result")
	print, other := []byte("print"), []byte("other")
	owner, result := []byte("owner"), []byte("result")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_, _, _ = Begin(&waiting, print)
		_, _, _ = Begin(&waiting, other)
		_, _, _ = Begin(&done, print)
		_, _ = Complete(&done, print, owner, result)
		_, _ = Complete(&done, print, other, result)
	}))
	_, lent, err := Begin(&done, print)
	require.NoError(t, err)
	require.Same(t, &done.Bytes[len(done.Bytes)-len(result)], &lent[0])
}
