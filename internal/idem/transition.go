package idem

import (
	"bytes"
	"crypto/subtle"
)

// Stored is what the keyspace holds under the key at T: nothing when the key
// is missing or expired.
type Stored struct {
	Live          bool
	Bytes         []byte
	DeadlineMilli int64 // 0 for none, which no record may have (I3)
}

// decode reads the live record into r.
func (s *Stored) decode(r *Record) error {
	if s.DeadlineMilli == 0 || !decode(s.Bytes, r) {
		return ErrBadRecord
	}
	return nil
}

// Begun is the outcome of BEGIN.
type Begun uint8

const (
	BeginAcquired  Begun = iota + 1 // the caller stores a pending record, and nobody else was told this
	BeginPending                    // same fingerprint, not completed: even for the same owner
	BeginConflict                   // another fingerprint
	BeginCompleted                  // same fingerprint: result is the saved one
)

// Begin decides BEGIN. result borrows from s.Bytes (I4) and is only given with
// BeginCompleted. Only BeginAcquired calls for a write.
func Begin(s *Stored, fingerprint []byte) (outcome Begun, result []byte, err error) {
	if !s.Live {
		return BeginAcquired, nil, nil
	}
	var r Record
	err = s.decode(&r)
	switch {
	case err != nil:
		return 0, nil, err
	case !bytes.Equal(r.Fingerprint, fingerprint):
		return BeginConflict, nil, nil
	case r.State == Pending:
		return BeginPending, nil, nil
	}
	return BeginCompleted, r.Result, nil
}

// Publication is the outcome of COMPLETE.
type Publication uint8

const (
	CompleteRefused   Publication = iota + 1 // no live record, another owner or fingerprint, or another result is there
	CompletePublished                        // the caller stores the completed record with the deadline it had
	CompleteRepeated                         // the same result is there already
)

// Complete decides COMPLETE. Only CompletePublished calls for a write.
func Complete(s *Stored, fingerprint, owner, result []byte) (Publication, error) {
	if !s.Live {
		return CompleteRefused, nil
	}
	var r Record
	err := s.decode(&r)
	switch {
	case err != nil:
		return 0, err
	case !bytes.Equal(r.Fingerprint, fingerprint) || !sameOwner(r.Owner, owner):
		return CompleteRefused, nil
	case r.State == Pending:
		return CompletePublished, nil
	case bytes.Equal(r.Result, result):
		return CompleteRepeated, nil
	}
	return CompleteRefused, nil
}

// sameOwner takes the same time wherever the two differ: an owner token is a
// secret, and the duration of a refusal must not help to guess it.
func sameOwner(stored, given []byte) bool {
	return subtle.ConstantTimeCompare(stored, given) == 1
}
