package command

import "math/big"

// This file is x86-64's extended precision, which Redis's INCRBYFLOAT computes
// in: 64 bits of mantissa, 15 of exponent. Numbers that C would hold as
// denormals keep all their bits here; they are below 10^-4931 and print as 0.

const (
	extendedBits         = 64
	extendedMaxExponent  = 16384  // x < 2^16384
	extendedTinyExponent = -16445 // what rounds to zero in C lies at or below 2^-16446
	extendedDecimals     = 17     // printed at most

	maxExtendedText    = 5*1024 - 1 // longest text that Redis reads
	decimalMaxExponent = 4933       // 10^4933 is beyond the largest number
	decimalMinExponent = -4960      // 10^-4960 is beneath the smallest
)

// parseExtended reads all of b as C's strtold does: decimal, hexadecimal or
// infinite, with a sign; no space, no NaN, nothing that overflows or vanishes.
// The result is rounded once, to the nearest, ties to even.
func parseExtended(b []byte) (*big.Float, bool) {
	if len(b) == 0 || len(b) > maxExtendedText {
		return nil, false
	}
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	x, ok := parseMagnitude(b)
	if ok && negative {
		x.Neg(x)
	}
	return x, ok
}

func parseMagnitude(b []byte) (*big.Float, bool) {
	switch {
	case Is(b, "inf") || Is(b, "infinity"):
		return newExtended().SetInf(false), true
	case len(b) > 2 && b[0] == '0' && lower(b[1]) == 'x':
		return parseHex(b[2:])
	}
	return parseDecimal(b)
}

func newExtended() *big.Float { return new(big.Float).SetPrec(extendedBits) }

// numeral is a number as written: digits times base to the power of exponent.
type numeral struct {
	digits   []byte // without point and without zeros in front
	exponent int    // of the base that the exponent part is written for
	some     bool   // there was a digit
}

// readNumeral reads digits with at most one point and an exponent behind mark.
// A digit behind the point counts for perDigit in the exponent.
func readNumeral(b []byte, isDigit func(byte) bool, mark byte, perDigit int) (n numeral, ok bool) {
	n.digits = make([]byte, 0, len(b))
	pointed := false
	for i, c := range b {
		switch {
		case isDigit(c):
			n.some = true
			if c != '0' || len(n.digits) > 0 {
				n.digits = append(n.digits, c)
			}
			if pointed {
				n.exponent -= perDigit
			}
		case c == '.' && !pointed:
			pointed = true
		case lower(c) == mark && n.some:
			written, ok := readExponent(b[i+1:])
			n.exponent += written
			return n, ok
		default:
			return n, false
		}
	}
	return n, n.some
}

// exponentLimit is where a written exponent stops to count: with at most
// maxExtendedText digits in front of it, any beyond overflows or vanishes.
const exponentLimit = 1 << 20

func readExponent(b []byte) (int, bool) {
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	n := 0
	for _, c := range b {
		if !isDecimal(c) {
			return 0, false
		}
		n = min(n*10+int(c-'0'), exponentLimit)
	}
	return sign * n, len(b) > 0
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDecimal(c) || lower(c) >= 'a' && lower(c) <= 'f' }

func parseDecimal(b []byte) (*big.Float, bool) {
	n, ok := readNumeral(b, isDecimal, 'e', 1)
	if !ok {
		return nil, false
	}
	if len(n.digits) == 0 {
		return newExtended(), true
	}
	// Out of range by far, before any power of ten is computed.
	if places := len(n.digits) + n.exponent; places > decimalMaxExponent || places < decimalMinExponent {
		return nil, false
	}
	digits, _ := new(big.Int).SetString(string(n.digits), 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n.exponent, -n.exponent))), nil)
	x := newExtended()
	if n.exponent >= 0 {
		x.SetInt(digits.Mul(digits, power))
	} else {
		x.Quo(new(big.Float).SetInt(digits), new(big.Float).SetInt(power)) // both exact, so one rounding
	}
	return x, inRange(x)
}

func parseHex(b []byte) (*big.Float, bool) {
	const bitsPerDigit = 4
	n, ok := readNumeral(b, isHex, 'p', bitsPerDigit)
	if !ok {
		return nil, false
	}
	if len(n.digits) == 0 {
		return newExtended(), true
	}
	digits, _ := new(big.Int).SetString(string(n.digits), 16)
	x := newExtended().SetInt(digits)
	x.SetMantExp(x, n.exponent)
	return x, inRange(x)
}

// inRange says that x, not zero, neither overflows nor vanishes in C.
func inRange(x *big.Float) bool {
	exponent := x.MantExp(nil) // x is at least 2^(exponent-1) and less than 2^exponent
	if exponent == extendedTinyExponent {
		return x.MinPrec() > 1 // 2^-16446 itself is a tie, and goes to zero
	}
	return exponent > extendedTinyExponent && exponent <= extendedMaxExponent
}

// addExtended is x + y; finite is false when it is infinite or no number.
func addExtended(x, y *big.Float) (sum *big.Float, finite bool) {
	if x.IsInf() || y.IsInf() {
		return nil, false
	}
	sum = newExtended().Add(x, y)
	return sum, sum.MantExp(nil) <= extendedMaxExponent
}

// appendExtended writes x with 17 decimals, rounded to the nearest, ties to
// even, without zeros at the end; never as -0.
func appendExtended(dst []byte, x *big.Float) []byte {
	start := len(dst)
	dst = x.Append(dst, 'f', extendedDecimals)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	if string(dst[start:]) == "-0" {
		return append(dst[:start], '0')
	}
	return dst
}
