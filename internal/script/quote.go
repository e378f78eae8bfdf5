package script

import (
	"fmt"
	"strconv"
	"strings"
)

// splitArgs splits a command line by the quoting of redis-cli, with *N after a
// quoted string as repetition.
func splitArgs(s string) ([][]byte, error) {
	var args [][]byte
	for {
		s = strings.TrimLeft(s, " \t")
		if s == "" {
			return args, nil
		}
		arg, rest, err := oneArg(s)
		if err != nil {
			return nil, err
		}
		if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return nil, fmt.Errorf("no space after the argument before %q", rest)
		}
		args = append(args, arg)
		s = rest
	}
}

func oneArg(s string) (arg []byte, rest string, err error) {
	switch s[0] {
	case '"', '\'':
		return quoted(s)
	}
	end := strings.IndexAny(s, " \t")
	if end < 0 {
		end = len(s)
	}
	return []byte(s[:end]), s[end:], nil
}

// quoted reads a string in single or double quotes, with its repetition.
func quoted(s string) (b []byte, rest string, err error) {
	quote := s[0]
	b = []byte{}
	i := 1
	for ; ; i++ {
		if i >= len(s) {
			return nil, "", fmt.Errorf("a quote is not closed in %q", s)
		}
		c := s[i]
		if c == quote {
			break
		}
		if c != '\\' || i+1 >= len(s) {
			b = append(b, c)
			continue
		}
		if quote == '\'' { // only \' is an escape
			if s[i+1] == '\'' {
				i++
			}
			b = append(b, s[i])
			continue
		}
		n, c := unescape(s[i:])
		b = append(b, c)
		i += n - 1
	}
	return repeat(b, s[i+1:])
}

// unescape reads one escape at the start of s, which begins with a backslash
// and has at least one more byte. It returns how long it was.
func unescape(s string) (n int, c byte) {
	if len(s) >= 4 && s[1] == 'x' {
		if v, err := strconv.ParseUint(s[2:4], 16, 8); err == nil {
			return 4, byte(v)
		}
	}
	switch s[1] {
	case 'n':
		return 2, '\n'
	case 'r':
		return 2, '\r'
	case 't':
		return 2, '\t'
	case 'b':
		return 2, '\b'
	case 'a':
		return 2, '\a'
	}
	return 2, s[1]
}

// maxRepeatBytes keeps a slip of the pen in a script from eating the machine.
const maxRepeatBytes = 64 << 20

// repeat reads an optional *N.
func repeat(b []byte, s string) ([]byte, string, error) {
	if !strings.HasPrefix(s, "*") {
		return b, s, nil
	}
	end := 1
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[1:end])
	if err != nil || n*len(b) > maxRepeatBytes {
		return nil, "", fmt.Errorf("bad repetition in %q", s)
	}
	return []byte(strings.Repeat(string(b), n)), s[end:], nil
}

// quote is the way back, for messages.
func quote(b []byte) string {
	const most = 200
	var sb strings.Builder
	sb.WriteByte('"')
	for i, c := range b {
		if i == most {
			fmt.Fprintf(&sb, "... (%d bytes)", len(b))
			break
		}
		switch {
		case c == '"' || c == '\\':
			sb.WriteByte('\\')
			sb.WriteByte(c)
		case c == '\n':
			sb.WriteString(`\n`)
		case c == '\r':
			sb.WriteString(`\r`)
		case c == '\t':
			sb.WriteString(`\t`)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&sb, `\x%02x`, c)
		default:
			sb.WriteByte(c)
		}
	}
	sb.WriteByte('"')
	return sb.String()
}
