package load

import (
	"fmt"
	"math/rand/v2"
)

// Strings is a script of GET and SET.
type Strings struct {
	Prefix string
	Keys   *Keys
	Value  []byte // what SET writes and, when it is there, GET reads
	Reads  int    // of 100 requests

	rnd  *rand.Rand
	sent fifo[bool] // whether it was a GET
}

// NewStrings makes a script; seed decides which requests read.
func NewStrings(prefix string, keys *Keys, value []byte, reads int, seed uint64) *Strings {
	return &Strings{Prefix: prefix, Keys: keys, Value: value, Reads: reads, rnd: rand.New(rand.NewPCG(seed, 4))}
}

// Append implements Script.
func (s *Strings) Append(b []byte) []byte {
	read := s.Reads == 100 || s.Reads > 0 && s.rnd.IntN(100) < s.Reads
	s.sent.push(read)
	if read {
		return Key(Bulk(Array(b, 2), "GET"), s.Prefix, s.Keys.Next())
	}
	b = Key(Bulk(Array(b, 3), "SET"), s.Prefix, s.Keys.Next())
	return Bulk(b, s.Value)
}

// Reply implements Script: a value that isn't there or has another length than
// all have is no answer to a GET of this load.
func (s *Strings) Reply(r *Reply) error {
	if s.sent.pop() {
		if r.Kind != '$' || r.Head == nil || r.Bytes != len(s.Value) {
			return fmt.Errorf("GET: %c %q, %d bytes, want %d", r.Kind, r.Head, r.Bytes, len(s.Value))
		}
		return nil
	}
	if string(r.Head) != "OK" {
		return fmt.Errorf("SET: %c%s", r.Kind, r.Head)
	}
	return nil
}

// fifo is a queue that keeps its memory.
type fifo[T any] struct {
	items []T
	first int
}

func (f *fifo[T]) push(v T) { f.items = append(f.items, v) }

func (f *fifo[T]) len() int { return len(f.items) - f.first }

func (f *fifo[T]) pop() T {
	v := f.items[f.first]
	if f.first++; f.first == len(f.items) {
		f.items, f.first = f.items[:0], 0
	} else if f.first >= 1024 {
		f.items = f.items[:copy(f.items, f.items[f.first:])]
		f.first = 0
	}
	return v
}
