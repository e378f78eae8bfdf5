package resp_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/resp"
)

// Every method in both protocols: what clients parse is fixed here.
func TestWriterGolden(t *testing.T) {
	for _, c := range []struct {
		name         string
		write        func(w *resp.Writer)
		resp2, resp3 string
	}{
		{"simple", func(w *resp.Writer) { w.Simple("OK") }, "+OK\r\n", "+OK\r\n"},
		{"simple with a break", func(w *resp.Writer) { w.Simple("a\r\nb") }, "+a  b\r\n", "+a  b\r\n"},
		{"error", func(w *resp.Writer) { w.Error("ERR no") }, "-ERR no\r\n", "-ERR no\r\n"},
		{"error with breaks", func(w *resp.Writer) { w.Error("ERR a\nb\rc\r\n") }, "-ERR a b c\r\n", "-ERR a b c\r\n"},
		{"error with bytes", func(w *resp.Writer) { w.Error("ERR \xff\n\x00") }, "-ERR \xff \x00\r\n", "-ERR \xff \x00\r\n"},
		{"int", func(w *resp.Writer) { w.Int(7) }, ":7\r\n", ":7\r\n"},
		{"int min", func(w *resp.Writer) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"bulk", func(w *resp.Writer) { w.Bulk([]byte("a\r\nb")) }, "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"},
		{"bulk nil", func(w *resp.Writer) { w.Bulk(nil) }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"bulk string", func(w *resp.Writer) { w.BulkString("0123456789") }, "$10\r\n0123456789\r\n", "$10\r\n0123456789\r\n"},
		{"null", func(w *resp.Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"null array", func(w *resp.Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"array", func(w *resp.Writer) { w.Array(12) }, "*12\r\n", "*12\r\n"},
		{"map", func(w *resp.Writer) { w.Map(3) }, "*6\r\n", "%3\r\n"},
		{"set", func(w *resp.Writer) { w.Set(3) }, "*3\r\n", "~3\r\n"},
		{"push", func(w *resp.Writer) { w.Push(3) }, "*3\r\n", ">3\r\n"},
		{"double", func(w *resp.Writer) { w.Double(1.5) }, "$3\r\n1.5\r\n", ",1.5\r\n"},
		{"double inf", func(w *resp.Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-inf\r\n", ",-inf\r\n"},
		{"true", func(w *resp.Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"false", func(w *resp.Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"verbatim", func(w *resp.Writer) { w.Verbatim("txt", "a\nb") }, "$3\r\na\nb\r\n", "=7\r\ntxt:a\nb\r\n"},
		{"raw", func(w *resp.Writer) { w.Raw([]byte(":1\r\n")) }, ":1\r\n", ":1\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for proto, want := range map[int]string{0: c.resp2, 2: c.resp2, 3: c.resp3} {
				w := resp.Writer{Buf: []byte("before"), Proto: proto}
				c.write(&w)
				require.Equal(t, "before"+want, string(w.Buf), "RESP%d", proto)
			}
		})
	}
}

func TestDoubleGolden(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{1, "1"},
		{-1, "-1"},
		{3.25, "3.25"},
		{0.1, "0.1"},
		{-0.001, "-0.001"},
		{0.000001, "0.000001"},
		{0.0000001, "1e-7"},
		{0.0012345678, "0.0012345678"},
		{0.00012345678, "1.2345678e-4"},
		{0.000012345678, "1.2345678e-5"},
		{123456.789, "123456.789"},
		{1 << 52, "4503599627370496"},
		{1e15, "1000000000000000"},
		{1e17, "1e+17"},
		{1.5e300, "1.5e+300"},
		{123456789012345680000, "123456789012345680000"},
		{-5e-324, "-5e-324"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.Inf(1), "inf"},
		{math.Inf(-1), "-inf"},
		{math.NaN(), "nan"},
	} {
		require.Equal(t, c.want, string(resp.AppendDouble(nil, c.f)))
	}
}

// However it is laid out, what is printed reads back as the same number.
func FuzzDoubleReadsBack(f *testing.F) {
	for _, v := range []float64{0, 1.5, -1e-7, 1e21, 123456.789, 5e-324, 1 << 53} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		got, err := strconv.ParseFloat(string(resp.AppendDouble(nil, v)), 64)
		require.NoError(t, err)
		if v != v {
			require.True(t, got != got)
			return
		}
		require.Equal(t, math.Float64bits(v), math.Float64bits(got))
	})
}

func TestWriterAllocatesNothing(t *testing.T) {
	w := resp.Writer{Buf: make([]byte, 0, 1024), Proto: 3}
	value := []byte("value")
	allocs := testing.AllocsPerRun(100, func() {
		w.Buf = w.Buf[:0]
		w.Simple("OK")
		w.Error("ERR no")
		w.Int(123456)
		w.Bulk(value)
		w.Null()
		w.Map(2)
		w.Double(0.25)
		w.Verbatim("txt", "x")
	})
	require.Zero(t, allocs)
}
