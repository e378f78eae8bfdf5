package inspect

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// codeNames are the opcodes in words, in the order of their numbers.
var codeNames = []struct {
	code op.Code
	name string
}{
	{op.Put, "put"},
	{op.Delete, "delete"},
	{op.SetDeadline, "set-deadline"},
	{op.Splice, "splice"},
	{op.FlushDB, "flush-db"},
	{op.FlushAll, "flush-all"},
	{op.SwapDB, "swap-db"},
	{op.Tick, "tick"},
	{op.IdempotencyPut, "idempotency-put"},
}

// CodeName is an opcode in words.
func CodeName(c op.Code) string {
	for _, n := range codeNames {
		if n.code == c {
			return n.name
		}
	}
	return "opcode-" + strconv.Itoa(int(c))
}

// ParseCode reads an opcode's name or number.
func ParseCode(s string) (op.Code, error) {
	number, err := strconv.ParseUint(s, 10, 8)
	var known []string
	for _, n := range codeNames {
		if strings.EqualFold(s, n.name) || err == nil && op.Code(number) == n.code {
			return n.code, nil
		}
		known = append(known, n.name)
	}
	return 0, fmt.Errorf("unknown opcode %q, there are %s", s, strings.Join(known, ", "))
}

// Filter chooses records; the zero value takes all.
type Filter struct {
	Key   []byte                // nil for any
	Match func(key []byte) bool // nil for any
	Codes []op.Code             // none for any
	// FirstLSN and LastLSN bound what is shown, both included; 0 does not. A
	// snapshot's entries have no LSN, so a bound leaves them out.
	FirstLSN, LastLSN wal.LSN
	DB                int // -1 for any
}

// entry says whether what a snapshot holds under a key is shown.
func (f *Filter) entry(o *op.Op) bool {
	return f.FirstLSN == 0 && f.LastLSN == 0 && f.takes(o)
}

func (f *Filter) record(lsn wal.LSN, o *op.Op) bool {
	return lsn >= f.FirstLSN && (f.LastLSN == 0 || lsn <= f.LastLSN) && f.takes(o)
}

func (f *Filter) takes(o *op.Op) bool {
	if len(f.Codes) > 0 && !slices.Contains(f.Codes, o.Code) {
		return false
	}
	switch o.Code {
	case op.Tick:
		return f.Key == nil && f.Match == nil && f.DB < 0
	case op.FlushAll:
		return true // it concerns every key
	case op.SwapDB:
		return f.DB < 0 || f.DB == o.DB || f.DB == o.DB2
	}
	if f.DB >= 0 && f.DB != o.DB {
		return false
	}
	if o.Code == op.FlushDB {
		return true
	}
	return (f.Key == nil || bytes.Equal(f.Key, o.Key)) && (f.Match == nil || f.Match(o.Key))
}
