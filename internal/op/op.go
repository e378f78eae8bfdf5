// Package op is the append-only registry of WAL opcodes and their codec.
//
// It promises one encoding per record: what Decode accepts, Append gives back
// byte for byte. Decode takes nothing on trust: exact length, known opcode,
// every bound checked, and nothing reserved on the word of a declared length.
// It assumes that the caller knows where a record begins and ends (the log's
// frames say so). It never interprets keys or values.
//
// The layout is fixed in docs/format/records.md.
package op

// Code is one opcode. Codes are never renumbered and never reused (I7).
type Code uint8

const (
	Put            Code = 1  // whole value with its deadline
	Delete         Code = 2  // key removed (DEL, eviction, RENAME source ...)
	SetDeadline    Code = 3  // deadline of an existing key replaced; 0 removes it
	Splice         Code = 4  // bytes written into an existing value at an offset (APPEND, SETRANGE); deadline kept
	FlushDB        Code = 5  // one database emptied
	FlushAll       Code = 6  // every database emptied
	SwapDB         Code = 7  // two databases exchanged
	Tick           Code = 8  // nothing but its frame's T: an expiry was observed that no logged T covers yet
	IdempotencyPut Code = 53 // whole IDEM record with its deadline
)

// Op is one decoded record. Key and Value borrow from the decoded bytes.
type Op struct {
	Code          Code
	DB            int
	DB2           int   // SwapDB only
	Type          uint8 // Put only, 0..7
	Raw           bool  // Put only: the value was built by APPEND or SETRANGE
	Key           []byte
	Value         []byte
	Offset        int64 // Splice only
	DeadlineMilli int64 // absolute Unix milliseconds, 0 for none
}

// Bounds that Decode enforces and Append relies on.
const (
	maxDB     = 1<<31 - 1
	maxOffset = 1<<62 - 1
)
