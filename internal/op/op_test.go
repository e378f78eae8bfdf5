package op

import (
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixtures are frozen: a log written by any version must stay readable, so a
// line may be added here and none may change.
var fixtures = []struct {
	name string
	op   Op
	hex  string
}{
	{"put", Op{Code: Put, Key: []byte("k"), Value: []byte("v")},
		"01 00 00 00 01 6b 01 76"},
	{"put empty key and value", Op{Code: Put, DB: 15, Key: []byte{}, Value: []byte{}},
		"01 0f 00 00 00 00"},
	{"put with deadline", Op{Code: Put, DB: 3, Key: []byte("key"), Value: []byte("value"), DeadlineMilli: 1893456000000},
		"01 03 00 80 e8 96 d6 8d 37 03 6b 65 79 05 76 61 6c 75 65"},
	{"put raw", Op{Code: Put, DB: 200, Raw: true, Key: []byte("k"), Value: []byte("v")},
		"01 c8 01 08 00 01 6b 01 76"},
	{"put type 5 raw", Op{Code: Put, Type: 5, Raw: true, Key: []byte("k"), Value: []byte("v")},
		"01 00 0d 00 01 6b 01 76"},
	{"put before 1970", Op{Code: Put, Key: []byte("k"), Value: []byte("v"), DeadlineMilli: -1},
		"01 00 00 ff ff ff ff ff ff ff ff ff 01 01 6b 01 76"},
	{"delete", Op{Code: Delete, DB: 1, Key: []byte("gone")},
		"02 01 04 67 6f 6e 65"},
	{"set deadline", Op{Code: SetDeadline, Key: []byte("k"), DeadlineMilli: 253402300799999},
		"03 00 ff b7 ff 90 fd ce 39 01 6b"},
	{"remove deadline", Op{Code: SetDeadline, Key: []byte("k")},
		"03 00 00 01 6b"},
	{"splice", Op{Code: Splice, DB: 2, Key: []byte("k"), Value: []byte("abc"), Offset: 300},
		"04 02 ac 02 01 6b 03 61 62 63"},
	{"flush one", Op{Code: FlushDB, DB: 9}, "05 09"},
	{"flush all", Op{Code: FlushAll}, "06"},
	{"swap", Op{Code: SwapDB, DB: 1, DB2: 128}, "07 01 80 01"},
	{"tick", Op{Code: Tick}, "08"},
	{"idem", Op{Code: IdempotencyPut, DB: 1, Key: []byte("order:42"), Value: []byte{0xf1, 0x49, 0x44, 1, 1, 1, 1, 0, 0, 0, 0, 'f', 'o'}, DeadlineMilli: 1},
		"35 01 01 08 6f 72 64 65 72 3a 34 32 0d f1 49 44 01 01 01 01 00 00 00 00 66 6f"},
}

func unhex(t testing.TB, s string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestFixtures(t *testing.T) {
	for _, f := range fixtures {
		want := unhex(t, f.hex)
		require.Equal(t, want, Append(nil, &f.op), f.name)
		var got Op
		require.NoError(t, Decode(want, &got), f.name)
		require.Equal(t, normal(f.op), normal(got), f.name)
	}
}

// normal makes nil and empty the same: the encoding cannot tell them apart.
func normal(o Op) Op {
	o.Key = append([]byte{}, o.Key...)
	o.Value = append([]byte{}, o.Value...)
	return o
}

// Append goes on where dst ends and leaves what is there alone.
func TestAppendExtends(t *testing.T) {
	got := Append([]byte("before"), &Op{Code: Delete, Key: []byte("k")})
	require.Equal(t, append([]byte("before"), 2, 0, 1, 'k'), got)
}

// A record cut anywhere, or with a byte too many, is an error; never a
// shorter record that happens to parse.
func TestDecodeExactLength(t *testing.T) {
	for _, f := range fixtures {
		b := unhex(t, f.hex)
		var o Op
		for n := range len(b) {
			require.Error(t, Decode(b[:n], &o), "%s cut to %d bytes", f.name, n)
		}
		require.ErrorIs(t, Decode(append(b, 0), &o), errLong, f.name)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct {
		name, hex string
		want      error
	}{
		{"nothing", "", errEmpty},
		{"key longer than the record", "02 00 05 6b", errShort},
		{"key of 2^63 bytes", "02 00 80 80 80 80 80 80 80 80 80 01 6b", errShort},
		{"value of 2^64-1 bytes", "01 00 00 00 01 6b ff ff ff ff ff ff ff ff ff 01 76", errShort},
		{"number of more than 64 bits", "02 ff ff ff ff ff ff ff ff ff 7f 01 6b", errVarint},
		{"number with a needless byte", "02 80 00 01 6b", errVarint},
		{"database 2^31", "05 80 80 80 80 08", errDB},
		{"offset 2^62", "04 00 80 80 80 80 80 80 80 80 40 01 6b 00", errOffset},
		{"unknown flag", "01 00 10 00 01 6b 01 76", errMeta},
		{"idem without deadline", "35 00 00 01 6b 01 76", errDeadline},
	} {
		var o Op
		require.ErrorIs(t, Decode(unhex(t, c.hex), &o), c.want, c.name)
	}
}

// Every opcode outside the registry is named in an error of its own (I7).
func TestUnknownOpcode(t *testing.T) {
	known := map[Code]bool{}
	for _, f := range fixtures {
		known[f.op.Code] = true
	}
	require.Len(t, known, 9, "every opcode needs a fixture")
	for c := range math.MaxUint8 + 1 {
		code := Code(c)
		if known[code] {
			continue
		}
		var o Op
		err := Decode([]byte{byte(code), 0, 0, 0}, &o)
		var unknown *UnknownCodeError
		require.True(t, errors.As(err, &unknown), "opcode %d", c)
		require.Equal(t, code, unknown.Code)
		require.Panics(t, func() { Append(nil, &Op{Code: code}) }, "opcode %d", c)
	}
	err := Decode([]byte{200}, new(Op))
	require.EqualError(t, err, "op: unknown opcode 200: this log was written by a newer version of Hapax")
}

func TestNoAllocation(t *testing.T) {
	buf := make([]byte, 0, 4096)
	var o Op
	for _, f := range fixtures {
		encoded := unhex(t, f.hex)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			buf = Append(buf[:0], &f.op)
			if err := Decode(encoded, &o); err != nil {
				t.Fatal(err)
			}
		}), f.name)
	}
}

// What decodes, encodes to the same bytes; what is refused changes nothing
// outside o.
func FuzzDecode(f *testing.F) {
	for _, x := range fixtures {
		f.Add(unhex(f, x.hex))
	}
	f.Add([]byte{})
	f.Add([]byte{200, 1})
	f.Add([]byte{2, 0x80, 0, 1, 'k'})
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		var o Op
		err := Decode(b, &o)
		require.Equal(t, before, string(b))
		if err == nil {
			require.Equal(t, b, Append(nil, &o))
		}
	})
}

func BenchmarkAppendPut(b *testing.B) {
	o := Op{Code: Put, Key: []byte("key:0000012345"), Value: make([]byte, 107), DeadlineMilli: 1893456000000}
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf = Append(buf[:0], &o)
	}
}

func BenchmarkDecodePut(b *testing.B) {
	encoded := Append(nil, &Op{Code: Put, Key: []byte("key:0000012345"), Value: make([]byte, 107), DeadlineMilli: 1893456000000})
	var o Op
	for b.Loop() {
		if err := Decode(encoded, &o); err != nil {
			b.Fatal(err)
		}
	}
}
