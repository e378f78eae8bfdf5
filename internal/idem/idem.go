// Package idem is the packed idempotency record and the pure BEGIN and
// COMPLETE transitions over it. It promises that a decision depends on nothing
// but the stored bytes, the stored deadline and the arguments. It assumes that
// an expired record is handed in as absent. It reads no clock, does no I/O,
// keeps nothing, and copies a stored result in no probe: results it returns
// borrow from the record.
package idem

import "errors"

// Bounds of the arguments.
const (
	MaxTokenBytes  = 128             // fingerprint and owner, each at least 1
	MaxResultBytes = 4 << 20         // result
	MinTTLMilli    = 1               // retention
	MaxTTLMilli    = 7 * 24 * 3600e3 // 604,800,000
)

// State of a record; numbers are part of the format.
type State uint8

const (
	Pending   State = 1
	Completed State = 2
)

// Record is a decoded record. Its slices borrow from the decoded bytes.
type Record struct {
	State       State
	Fingerprint []byte
	Owner       []byte
	Result      []byte // empty while pending
}

// ErrBadRecord says that stored bytes are no valid record, or that the record
// lost its deadline. Nothing may be decided from it: it must not become a new
// operation.
var ErrBadRecord = errors.New("malformed idempotency record")

// TokenOK says whether a fingerprint or an owner is within bounds.
func TokenOK(token []byte) bool { return len(token) >= 1 && len(token) <= MaxTokenBytes }

// Deadline is when a record begun at nowMilli with ttlMilli ends. The sum
// cannot overflow for a T before the year 292 million; ttlMilli is in bounds.
func Deadline(nowMilli, ttlMilli int64) int64 { return nowMilli + ttlMilli }
