package command

// Match says whether s matches the glob pattern, by Redis's rules: * and ?,
// [abc], [a-z], [^a-z], and a backslash that takes the next byte literally. A
// class that is never closed ends with the pattern; a range may be written
// backwards. Bytes compare as unsigned. Time is at most len(pattern)*len(s),
// whatever the pattern: only the last star is ever tried again, since what an
// earlier one could skip instead the last one can skip as well.
func Match(pattern, s []byte) bool { return match(pattern, s, false) }

// MatchFold is Match without regard to the case of ASCII letters.
func MatchFold(pattern, s []byte) bool { return match(pattern, s, true) }

func match(pattern, s []byte, fold bool) bool {
	p, i := 0, 0
	starP, starI := -1, 0 // where to go on when the present attempt fails
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			starP, starI = p, i
			continue
		}
		if p < len(pattern) {
			width, ok := matchOne(pattern[p:], s[i], fold)
			if ok {
				p += width
				i++
				continue
			}
		}
		if starP < 0 {
			return false
		}
		starI++
		p, i = starP, starI
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches c against the first element of pattern, which isn't a star,
// and says how many bytes of the pattern the element takes.
func matchOne(pattern []byte, c byte, fold bool) (width int, ok bool) {
	switch {
	case pattern[0] == '?':
		return 1, true
	case pattern[0] == '[':
		return matchClass(pattern, c, fold)
	case pattern[0] == '\\' && len(pattern) > 1:
		return 2, same(pattern[1], c, fold)
	}
	return 1, same(pattern[0], c, fold)
}

func matchClass(pattern []byte, c byte, fold bool) (width int, ok bool) {
	p := 1
	negated := p < len(pattern) && pattern[p] == '^'
	if negated {
		p++
	}
	found := false
	for p < len(pattern) && pattern[p] != ']' {
		switch {
		case pattern[p] == '\\' && p+1 < len(pattern):
			found = found || pattern[p+1] == c // an escaped byte is meant exactly, folding or not
			p += 2
		case p+2 < len(pattern) && pattern[p+1] == '-':
			found = found || within(pattern[p], pattern[p+2], c, fold)
			p += 3
		default:
			found = found || same(pattern[p], c, fold)
			p++
		}
	}
	if p < len(pattern) {
		p++ // the closing bracket
	}
	return p, found != negated
}

func within(lo, hi, c byte, fold bool) bool {
	if lo > hi {
		lo, hi = hi, lo
	}
	if fold {
		lo, hi, c = lower(lo), lower(hi), lower(c)
	}
	return c >= lo && c <= hi
}

func same(a, b byte, fold bool) bool {
	return a == b || fold && lower(a) == lower(b)
}
