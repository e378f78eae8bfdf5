package resp

// inline goes on with a request of one line of words, as people type them.
// LF ends it, with or without CR.
func (p *Parser) inline(buf []byte) (n int, err error) {
	lf, err := p.find(buf, '\n', errBigInline)
	if lf < 0 || err != nil {
		return 0, err
	}
	line := buf[:lf]
	if lf > 0 && line[lf-1] == '\r' {
		line = line[:lf-1]
	}
	for at := skipSpace(line, 0); at < len(line); at = skipSpace(line, at) {
		word, next, ok := splitWord(line, at)
		if !ok {
			return 0, errQuotes
		}
		p.args = append(p.args, word)
		at = next
	}
	return lf + 1, nil
}

// splitWord reads the word at line[at], which is no space, and returns it
// and where it ends. Quotes may begin and end within a word's beginning, but
// after a closing one must come a space or the end. Unquoting never makes a
// word longer, so it is done in place.
func splitWord(line []byte, at int) (word []byte, next int, ok bool) {
	start := at
	for at < len(line) && !endsWord(line[at]) && line[at] != '"' && line[at] != '\'' {
		at++
	}
	if at == len(line) || endsWord(line[at]) {
		return line[start:at:at], at, true
	}

	word = line[start:at]
	for at < len(line) && !endsWord(line[at]) {
		switch c := line[at]; c {
		case '"':
			word, at, ok = doubleQuoted(word, line, at+1)
		case '\'':
			word, at, ok = singleQuoted(word, line, at+1)
		default:
			word = append(word, c)
			at++
			continue
		}
		if !ok || at < len(line) && !isSpace(line[at]) {
			return nil, at, false
		}
		break
	}
	return word[:len(word):len(word)], at, true
}

// doubleQuoted appends what is left of a string in double quotes, with its
// escapes: \xHH, \n \r \t \b \a, and \ before anything else for itself.
func doubleQuoted(word, line []byte, at int) ([]byte, int, bool) {
	for at < len(line) {
		c := line[at]
		switch {
		case c == '"':
			return word, at + 1, true
		case c == '\\' && at+3 < len(line) && line[at+1] == 'x' && isHex(line[at+2]) && isHex(line[at+3]):
			word = append(word, hexValue(line[at+2])<<4|hexValue(line[at+3]))
			at += 4
		case c == '\\' && at+1 < len(line):
			word = append(word, unescape(line[at+1]))
			at += 2
		default:
			word = append(word, c)
			at++
		}
	}
	return word, at, false
}

// singleQuoted appends what is left of a string in single quotes, where only
// \' is special.
func singleQuoted(word, line []byte, at int) ([]byte, int, bool) {
	for at < len(line) {
		c := line[at]
		switch {
		case c == '\'':
			return word, at + 1, true
		case c == '\\' && at+1 < len(line) && line[at+1] == '\'':
			word = append(word, '\'')
			at += 2
		default:
			word = append(word, c)
			at++
		}
	}
	return word, at, false
}

func skipSpace(line []byte, at int) int {
	for at < len(line) && isSpace(line[at]) {
		at++
	}
	return at
}

// isSpace says what separates words.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// endsWord says what ends a word outside quotes; vertical tab and form feed
// don't.
func endsWord(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

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

func unescape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
