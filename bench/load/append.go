package load

import "strconv"

// Array begins a request of n arguments.
func Array(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

// Bulk adds an argument.
func Bulk[T string | []byte](b []byte, text T) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, '\r', '\n')
	b = append(b, text...)
	return append(b, '\r', '\n')
}

// keyDigits is how redis-benchmark writes a random key, too.
const keyDigits = 12

// Key adds an argument: a prefix and a number of twelve digits.
func Key(b []byte, prefix string, n uint64) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(prefix)+keyDigits), 10)
	b = append(b, '\r', '\n')
	b = append(b, prefix...)
	b = append(b, "000000000000\r\n"...)
	for at := len(b) - 3; n > 0; at-- {
		b[at] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// Command is a whole request, for what isn't sent often.
func Command(b []byte, args ...string) []byte {
	b = Array(b, len(args))
	for _, a := range args {
		b = Bulk(b, a)
	}
	return b
}
