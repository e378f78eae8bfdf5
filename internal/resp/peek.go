package resp

// Peek returns the second argument of the request that data begins with,
// usually its key, and false where it is not there in plain sight. It is for
// guesses that may be wrong: it checks less than the parser and keeps nothing.
func Peek(data []byte) ([]byte, bool) {
	n, rest, ok := peekCount(data, '*')
	if !ok || n < 2 {
		return nil, false
	}
	n, rest, ok = peekCount(rest, '$')
	if !ok || len(rest) < n+2 {
		return nil, false
	}
	n, rest, ok = peekCount(rest[n+2:], '$')
	if !ok || len(rest) < n {
		return nil, false
	}
	return rest[:n], true
}

// peekDigits bounds the numbers that Peek reads: longer ones are no keys.
const peekDigits = 4

// peekCount reads a number behind sign, up to the end of its line.
func peekCount(data []byte, sign byte) (n int, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != sign {
		return 0, nil, false
	}
	for i := 1; i < len(data) && i <= peekDigits+1; i++ {
		c := data[i]
		if c == '\r' && i > 1 && i+1 < len(data) {
			return n, data[i+2:], true
		}
		if c < '0' || c > '9' {
			return 0, nil, false
		}
		n = n*10 + int(c-'0')
	}
	return 0, nil, false
}
