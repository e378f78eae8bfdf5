package command

import (
	"strings"
	"testing"
)

// BenchmarkCommands runs one command at a time without server and log file:
// resolution, keys, lock, handler, record.
func BenchmarkCommands(b *testing.B) {
	value := strings.Repeat("v", 100)
	for _, request := range []string{
		"GET s", "SET s " + value, "SET s " + value + " PX 100000", "INCR n", "INCRBYFLOAT f 0.1",
		"IDEM pending BEGIN f o 60000", "IDEM done BEGIN f o 60000", "ONCE once 60000", "LIMIT allowed 1000000000 60000",
	} {
		b.Run(strings.ReplaceAll(request, value, "v"), func(b *testing.B) {
			h := newHarness(b)
			h.log.keep = false
			for _, before := range []string{
				"SET s " + value, "SET n 1", "SET f 1", "ONCE once 60000", "IDEM pending BEGIN f o 60000",
				"IDEM done BEGIN f o 60000", "IDEM done COMPLETE f o " + value,
			} {
				h.do(strings.Split(before, " ")...)
			}
			var args [][]byte
			for _, arg := range strings.Split(request, " ") {
				args = append(args, []byte(arg))
			}
			b.ReportAllocs()
			for b.Loop() {
				h.run(args)
			}
		})
	}
}

// BenchmarkLCS is the largest table that Redis allows at its default limit.
func BenchmarkLCS(b *testing.B) {
	x, y := make([]byte, 11_500), make([]byte, 11_500)
	for i := range x {
		x[i], y[i] = byte(i*i>>3), byte(i*7>>2)
	}
	b.ReportAllocs()
	for b.Loop() {
		newCommon(x, y, true).walk(func(span) {})
	}
}
