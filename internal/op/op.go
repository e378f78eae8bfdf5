// Package op is the append-only registry of WAL opcodes and their codec.
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
	DB2           int // SwapDB only
	Type          uint8
	Key           []byte
	Value         []byte
	Offset        int64 // Splice only
	DeadlineMilli int64 // absolute Unix milliseconds, 0 for none
}

// Append encodes o to dst.
func Append(dst []byte, o *Op) []byte { panic("unwritten") }

// Decode reads exactly one record; o borrows from b.
func Decode(b []byte, o *Op) error { panic("unwritten") }
