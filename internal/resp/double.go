package resp

import (
	"math"
	"strconv"
)

// maxDoubleBytes is enough for any double: sign, 17 digits, point, up to six
// zeros after it, or exponent.
const maxDoubleBytes = 32

// maxExactInteger bounds the doubles that are printed as integers.
const maxExactInteger = 1 << 52

// A number is printed without an exponent while fewer than plainZeros zeros
// follow an integer's digits, fewer than plainZeros digits follow the point,
// or the first digit is fewer than plainPlaces places away from the point.
const (
	plainZeros  = 7
	plainPlaces = 4
)

// AppendDouble appends f as Redis 7.2 prints a double: the fewest digits that
// read back as f, integers without a point, an exponent only for the very
// large and very small, and the words inf, -inf and nan.
func AppendDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case f == math.Trunc(f) && math.Abs(f) < maxExactInteger:
		return strconv.AppendInt(dst, int64(f), 10)
	}

	// d.ddde±xx holds the shortest digits and the decimal exponent.
	var text [maxDoubleBytes]byte
	sci := strconv.AppendFloat(text[:0], math.Abs(f), 'e', -1, 64)
	digits, exponent := splitScientific(sci)
	if math.Signbit(f) {
		dst = append(dst, '-')
	}
	return appendDecimal(dst, digits, exponent)
}

// splitScientific takes d.ddde±xx apart in place: the digits without their
// point, and the power of ten of the first.
func splitScientific(sci []byte) (digits []byte, exponent int) {
	e := len(sci) - 1
	for sci[e] != 'e' {
		e--
	}
	for _, c := range sci[e+2:] {
		exponent = exponent*10 + int(c-'0')
	}
	if sci[e+1] == '-' {
		exponent = -exponent
	}
	digits = sci[:1]
	if e > 1 {
		digits = append(digits, sci[2:e]...)
	}
	return digits, exponent
}

// appendDecimal places digits whose first has the weight 10^exponent.
func appendDecimal(dst, digits []byte, exponent int) []byte {
	scale := exponent - (len(digits) - 1) // weight of the last digit
	switch {
	case scale >= 0 && exponent < len(digits)+plainZeros:
		dst = append(dst, digits...)
		return appendZeros(dst, scale)
	case scale < 0 && (scale > -plainZeros || -plainPlaces < exponent && exponent < plainPlaces):
		if exponent < 0 {
			dst = append(dst, "0."...)
			dst = appendZeros(dst, -exponent-1)
			return append(dst, digits...)
		}
		dst = append(dst, digits[:exponent+1]...)
		dst = append(dst, '.')
		return append(dst, digits[exponent+1:]...)
	}

	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	if exponent >= 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(exponent), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}
