package config

import (
	"errors"
	"strings"
)

var errQuotes = errors.New("unbalanced quotes in configuration line")

// splitLine takes a line apart into words. Double quotes know \xHH, \n, \r,
// \t, \b, \a and \ before any other character for itself, single quotes only
// \'. After a closing quote must come a space or the end.
func splitLine(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r")
		if line == "" {
			return out, nil
		}
		word, rest, err := splitWord(line)
		if err != nil {
			return nil, err
		}
		out = append(out, word)
		line = rest
	}
}

// splitWord takes the first word off line, which does not begin with a space.
func splitWord(line string) (word, rest string, err error) {
	end := strings.IndexAny(line, " \t\n\r\"'")
	if end < 0 {
		return line, "", nil
	}
	word, rest = line[:end], line[end:]
	if rest[0] != '"' && rest[0] != '\'' {
		return word, rest, nil
	}
	unquote := doubleQuoted
	if rest[0] == '\'' {
		unquote = singleQuoted
	}
	quoted, rest, ok := unquote(rest[1:])
	if !ok || rest != "" && strings.IndexByte(" \t\n\v\f\r", rest[0]) < 0 {
		return "", "", errQuotes
	}
	return word + quoted, rest, nil
}

func doubleQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2]) && isHex(s[i+3]):
			c = hexValue(s[i+2])<<4 | hexValue(s[i+3])
			i += 3
		case c == '\\' && i+1 < len(s):
			i++
			c = s[i]
			if at := strings.IndexByte("nrtba", c); at >= 0 {
				c = "\n\r\t\b\a"[at]
			}
		}
		b.WriteByte(c)
	}
	return "", "", false
}

func singleQuoted(s string) (text, rest string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\'':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			i++
			c = '\''
		}
		b.WriteByte(c)
	}
	return "", "", false
}

// quote writes a word so that splitLine reads it back: bare when that is
// enough, in double quotes otherwise.
func quote(word string) string {
	bare := word != ""
	for i := range len(word) {
		c := word[i]
		bare = bare && c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '\\' && (i > 0 || c != '#')
	}
	if bare {
		return word
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		writeQuoted(&b, word[i])
	}
	b.WriteByte('"')
	return b.String()
}

func writeQuoted(b *strings.Builder, c byte) {
	const hexDigits = "0123456789abcdef"
	if at := strings.IndexByte("\n\r\t\b\a", c); at >= 0 {
		b.WriteByte('\\')
		b.WriteByte("nrtba"[at])
		return
	}
	switch {
	case c == '"' || c == '\\':
		b.WriteByte('\\')
		b.WriteByte(c)
	case c < ' ' || c >= 0x7f:
		b.WriteString(`\x`)
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	default:
		b.WriteByte(c)
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
