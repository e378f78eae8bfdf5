package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
)

// benchEntries are 2^16 entries as a store has them.
func benchEntries(valueBytes int, deadlineMilli int64) []op.Op {
	out := make([]op.Op, 1<<16)
	for i := range out {
		out[i] = put(0, fmt.Sprintf("key:%010d", i), strings.Repeat("v", valueBytes), deadlineMilli)
	}
	return out
}

// nullFile takes what is written and forgets it.
type nullFile struct{ bytesFile }

func (*nullFile) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// One iteration is one entry, written under a lock of a piece each 400.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		name     string
		bytes    int
		deadline int64
	}{{"107_deadline", 107, 1_893_456_000_000}, {"32", 32, 0}} {
		b.Run(c.name, func(b *testing.B) {
			entries := benchEntries(c.bytes, c.deadline)
			w := NewWriter(&nullFile{}, Header{})
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				w.Entry(&entries[n&(len(entries)-1)])
				if n++; n%400 == 0 {
					require.NoError(b, w.EndPiece(Piece{End: uint64(n)}))
				}
			}
			b.SetBytes(w.SizeBytes() / int64(n))
		})
	}
}

// One iteration is one entry: read, checked, decoded, given to a sink that
// does nothing.
func BenchmarkLoad(b *testing.B) {
	for _, c := range []struct {
		name     string
		bytes    int
		deadline int64
	}{{"107_deadline", 107, 1_893_456_000_000}, {"32", 32, 0}} {
		b.Run(c.name, func(b *testing.B) {
			entries := benchEntries(c.bytes, c.deadline)
			content := &content{}
			for i := 0; i < len(entries); i += 400 {
				content.pieces = append(content.pieces, piece{Piece{End: uint64(i) + 1}, entries[i:min(i+400, len(entries))]})
			}
			content.pieces[len(content.pieces)-1].End = PlaceEnd
			f := bytesFile{b: bytesOf(b, content)}
			r, err := Open(&f, "snap")
			require.NoError(b, err)
			b.ReportAllocs()
			b.SetBytes(int64(len(f.b) / len(entries)))
			for n := 0; n < b.N; n += len(entries) {
				require.NoError(b, r.Load(nullSink{}, LoadOptions{}))
			}
		})
	}
}
