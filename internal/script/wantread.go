package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// wantReader reads expected replies from the lines that follow a command.
type wantReader struct {
	text string
	pos  int
}

func (r *wantReader) skipSpace() {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
}

// reply reads the expectation of one command: one form, or a 2: and a 3: form.
func (r *wantReader) reply(c *Command) (err error) {
	r.skipSpace()
	if !r.take("2: ") {
		if c.Want2, err = r.value(true); err != nil {
			return err
		}
		c.Want3 = c.Want2
		return nil
	}
	if c.Want2, err = r.value(true); err != nil {
		return err
	}
	if r.skipSpace(); !r.take("3: ") {
		return fmt.Errorf("2: without 3: after it")
	}
	c.Want3, err = r.value(true)
	return err
}

// take consumes s when it comes next.
func (r *wantReader) take(s string) bool {
	if strings.HasPrefix(r.text[r.pos:], s) {
		r.pos += len(s)
		return true
	}
	return false
}

// value reads one value; top says that it may go to the end of the line.
func (r *wantReader) value(top bool) (*Want, error) {
	r.skipSpace()
	from := r.pos
	w, err := r.form(top)
	if err != nil {
		return nil, err
	}
	w.source = strings.TrimSpace(r.text[from:r.pos])
	return w, nil
}

// openers are the aggregates and what closes them.
var openers = []struct {
	open  string
	form  form
	close byte
}{
	{"[", wantArray, ']'},
	{"{", wantMap, '}'},
	{"~[", wantSet, ']'},
	{"any-order[", wantAnyOrder, ']'},
	{"push[", wantPush, ']'},
}

func (r *wantReader) form(top bool) (*Want, error) {
	if r.pos == len(r.text) {
		return nil, fmt.Errorf("a command without its reply")
	}
	for _, o := range openers {
		if r.take(o.open) {
			return r.items(&Want{form: o.form}, o.close)
		}
	}
	rest := r.text[r.pos:]
	switch {
	case r.take("txt:/"):
		return r.pattern(wantVerbatimPattern)
	case r.take("txt:"), r.take("mkd:"):
		text, err := r.quoted()
		return &Want{form: wantVerbatim, text: rest[:4] + text}, err
	case strings.HasPrefix(rest, `"`):
		text, err := r.quoted()
		return &Want{form: wantBulk, text: text}, err
	case r.take("-/"):
		return r.pattern(wantErrorPattern)
	case r.take("/"):
		return r.pattern(wantPattern)
	case strings.HasPrefix(rest, `-"`):
		r.pos++
		text, err := r.quoted()
		return &Want{form: wantError, text: text}, err
	case top && rest[0] == '+':
		return &Want{form: wantSimple, text: r.line()[1:]}, nil
	case top && len(rest) > 1 && rest[0] == '-' && rest[1] >= 'A' && rest[1] <= 'Z':
		return &Want{form: wantError, text: r.line()[1:]}, nil
	}
	return r.word()
}

// line takes the rest of the line.
func (r *wantReader) line() string {
	l, _, _ := strings.Cut(r.text[r.pos:], "\n")
	r.pos += len(l)
	return strings.TrimRight(l, "\r")
}

func (r *wantReader) quoted() (string, error) {
	b, rest, err := quoted(r.text[r.pos:])
	if err != nil {
		return "", err
	}
	r.pos = len(r.text) - len(rest)
	return string(b), nil
}

func (r *wantReader) items(w *Want, closer byte) (*Want, error) {
	for {
		r.skipSpace()
		if r.pos == len(r.text) {
			return nil, fmt.Errorf("%c is missing", closer)
		}
		if r.text[r.pos] == closer {
			r.pos++
			break
		}
		item, err := r.value(false)
		if err != nil {
			return nil, err
		}
		w.items = append(w.items, item)
	}
	if w.form == wantMap && len(w.items)%2 != 0 {
		return nil, fmt.Errorf("a map of an odd number of elements")
	}
	for i, it := range w.items {
		if it.form == wantSilence || it.form == wantRest && i != len(w.items)-1 {
			return nil, fmt.Errorf("%s cannot stand here", it.source)
		}
	}
	return w, nil
}

// pattern reads a regular expression up to the next slash that no backslash
// precedes; it must match as a whole and its dot matches line ends.
func (r *wantReader) pattern(f form) (*Want, error) {
	from := r.pos
	for ; r.pos < len(r.text); r.pos++ {
		switch r.text[r.pos] {
		case '\\':
			r.pos++
		case '/':
			re, err := regexp.Compile(`(?s)\A(?:` + strings.ReplaceAll(r.text[from:r.pos], `\/`, `/`) + `)\z`)
			r.pos++
			return &Want{form: f, re: re}, err
		}
	}
	return nil, fmt.Errorf("a pattern without its closing slash")
}

var (
	intWord    = regexp.MustCompile(`^(-?\d+)(?:\.\.(-?\d+))?$`)
	doubleWord = regexp.MustCompile(`^(-?[0-9][0-9.e+-]*|-?inf|nan)d$`)
	simpleWord = regexp.MustCompile(`^[A-Za-z@][A-Za-z0-9_-]*$`)
)

// word reads what is written without quotes.
func (r *wantReader) word() (*Want, error) {
	rest := r.text[r.pos:]
	end := strings.IndexAny(rest, " \t\r\n]}")
	if end < 0 {
		end = len(rest)
	}
	word := rest[:end]
	if word == "nil[" { // nil[] holds a bracket of its own
		word = "nil[]"
	}
	r.pos += len(word)
	switch word {
	case "nil":
		return &Want{form: wantNil}, nil
	case "nil[]":
		return &Want{form: wantNilArray}, nil
	case "#t", "#f":
		return &Want{form: wantBool, text: word[1:]}, nil
	case "*":
		return &Want{form: wantAnything}, nil
	case "...":
		return &Want{form: wantRest}, nil
	case "silence":
		return &Want{form: wantSilence}, nil
	}
	if m := doubleWord.FindStringSubmatch(word); m != nil {
		return &Want{form: wantDouble, text: m[1]}, nil
	}
	if m := intWord.FindStringSubmatch(word); m != nil {
		return intRange(m[1], m[2])
	}
	if simpleWord.MatchString(word) {
		return &Want{form: wantSimple, text: word}, nil
	}
	return nil, fmt.Errorf("%q is no reply", word)
}

func intRange(lo, hi string) (*Want, error) {
	if hi == "" {
		hi = lo
	}
	w := &Want{form: wantInt}
	var err error
	if w.lo, err = strconv.ParseInt(lo, 10, 64); err != nil {
		return nil, err
	}
	if w.hi, err = strconv.ParseInt(hi, 10, 64); err != nil {
		return nil, err
	}
	if w.hi < w.lo {
		return nil, fmt.Errorf("an empty range %s..%s", lo, hi)
	}
	return w, nil
}
