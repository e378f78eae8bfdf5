package command

import (
	"math"
	"strconv"
)

// This file parses arguments as Redis does. Nothing here allocates for a
// well-formed argument of ordinary length.

// ParseInt reads a decimal int64 exactly as Redis's integers are written: an
// optional minus, no plus, no spaces, no leading zeros, nothing after it.
func ParseInt(b []byte) (int64, bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	if len(b) == 1 && b[0] == '0' {
		return 0, true
	}
	digits, negative := b, b[0] == '-'
	if negative {
		digits = b[1:]
	}
	if len(digits) == 0 || digits[0] < '1' || digits[0] > '9' {
		return 0, false // also "-0"
	}
	n, ok := parseDigits(digits)
	if !ok {
		return 0, false
	}
	if negative {
		if n > 1<<63 {
			return 0, false
		}
		return -int64(n), true // 1<<63 wraps to the smallest int64
	}
	return int64(n), n <= math.MaxInt64
}

// parseDigits reads digits and nothing else; false also when they do not fit.
func parseDigits(digits []byte) (n uint64, ok bool) {
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// IntArg is ParseInt with the error Redis answers.
func IntArg(b []byte) (int64, error) {
	n, ok := ParseInt(b)
	if !ok {
		return 0, ErrNotInteger
	}
	return n, nil
}

// ErrNotPositive is what counts and lengths below zero get.
var ErrNotPositive error = Error("ERR value is out of range, must be positive")

// RangeArg is an integer within lo..hi. outside is the error for one that is
// an integer but not within; nil picks Redis's "value is out of range" text.
func RangeArg(b []byte, lo, hi int64, outside error) (int64, error) {
	n, err := IntArg(b)
	if err != nil {
		return 0, err
	}
	if n >= lo && n <= hi {
		return n, nil
	}
	if outside != nil {
		return 0, outside
	}
	if lo == 0 && hi == math.MaxInt64 {
		return 0, ErrNotPositive
	}
	return 0, Error("ERR value is out of range, value must between " +
		strconv.FormatInt(lo, 10) + " and " + strconv.FormatInt(hi, 10))
}

// ParseFloat reads a float64 as C's strtod does when it must use up the whole
// argument: decimal or hexadecimal, inf and infinity, no spaces around, no
// NaN, no overflow.
func ParseFloat(b []byte) (float64, bool) {
	if !floatShape(b) {
		return 0, false
	}
	s := string(b)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && hexWithoutExponent(b) {
		f, err = strconv.ParseFloat(s+"p0", 64) // Go insists on an exponent, C doesn't
	}
	if err != nil || math.IsNaN(f) || f == 0 && underflowed(b) {
		return 0, false
	}
	return f, true
}

// underflowed says whether an argument that reads as zero isn't written as one.
func underflowed(b []byte) bool {
	hex := len(b) > 2 && b[len(b)-1] != 'x' && hexWithoutExponent(b)
	for i, c := range b {
		if c >= '1' && c <= '9' {
			return true
		}
		if !hex && i > 0 && lower(c) == 'e' {
			return false // the exponent's digits say nothing
		}
	}
	return false
}

// floatShape refuses what strconv takes and C doesn't: underscores.
func floatShape(b []byte) bool {
	if len(b) == 0 || len(b) > 5*1024 {
		return false
	}
	for _, c := range b {
		if c == '_' {
			return false
		}
	}
	return true
}

func hexWithoutExponent(b []byte) bool {
	if b[0] == '-' || b[0] == '+' {
		b = b[1:]
	}
	if len(b) < 3 || b[0] != '0' || b[1]|0x20 != 'x' {
		return false
	}
	for _, c := range b {
		if c|0x20 == 'p' {
			return false
		}
	}
	return true
}

// Is says whether arg is word in any case. word is written in lower case.
func Is(arg []byte, word string) bool {
	if len(arg) != len(word) {
		return false
	}
	for i, c := range arg {
		if lower(c) != word[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// lowered is arg in lower case, as a string of its own.
func lowered(arg []byte) string {
	b := make([]byte, len(arg))
	for i, c := range arg {
		b[i] = lower(c)
	}
	return string(b)
}
