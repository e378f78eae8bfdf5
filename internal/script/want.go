package script

import (
	"fmt"
	"regexp"
)

// form is the shape of an expectation.
type form uint8

const (
	wantSimple form = iota
	wantError
	wantInt
	wantBulk
	wantNil
	wantNilArray
	wantArray
	wantMap
	wantSet
	wantAnyOrder
	wantPush
	wantDouble
	wantBool
	wantVerbatim
	wantPattern         // a string that matches
	wantErrorPattern    // an error that matches
	wantVerbatimPattern // a verbatim string that matches
	wantAnything
	wantRest // ... in an array
	wantSilence
)

// Want is one expected reply.
type Want struct {
	form   form
	text   string
	re     *regexp.Regexp
	lo, hi int64
	items  []*Want
	source string // as written
}

func (w *Want) String() string { return w.source }

// Silence says that no reply is expected at all.
func (w *Want) Silence() bool { return w.form == wantSilence }

// Match says nil when got is what w expects in the protocol, or what differs.
func (w *Want) Match(got Reply, proto int) error {
	if w.matches(got, proto) {
		return nil
	}
	return fmt.Errorf("want %s\n got %s", w.source, got)
}

// pick is the type byte of RESP2 or of RESP3.
func pick(proto int, two, three byte) byte {
	if proto == 3 {
		return three
	}
	return two
}

func (w *Want) matches(got Reply, proto int) bool {
	if got.Null {
		switch w.form {
		case wantNil:
			return got.Type == pick(proto, '$', '_')
		case wantNilArray:
			return got.Type == pick(proto, '*', '_')
		}
		return w.form == wantAnything
	}
	switch w.form {
	case wantSimple:
		return got.Type == '+' && string(got.Text) == w.text
	case wantError:
		return got.Type == '-' && string(got.Text) == w.text
	case wantInt:
		return got.Type == ':' && w.lo <= got.Int && got.Int <= w.hi
	case wantBulk:
		return got.Type == '$' && string(got.Text) == w.text
	case wantDouble:
		return got.Type == pick(proto, '$', ',') && string(got.Text) == w.text
	case wantBool:
		return w.matchesBool(got, proto)
	case wantVerbatim:
		return w.matchesVerbatim(got, proto)
	case wantPattern:
		return (got.Type == '+' || got.Type == '$') && w.re.Match(got.Text)
	case wantVerbatimPattern:
		text, ok := got.verbatim(proto)
		return ok && w.re.Match(text)
	case wantErrorPattern:
		return got.Type == '-' && w.re.Match(got.Text)
	case wantAnything:
		return got.Type != '-'
	case wantArray:
		return got.Type == '*' && inOrder(w.items, got.Items, proto)
	case wantMap:
		return got.Type == pick(proto, '*', '%') && inOrder(w.items, got.Items, proto)
	case wantPush:
		return got.Type == pick(proto, '*', '>') && inOrder(w.items, got.Items, proto)
	case wantSet:
		return got.Type == pick(proto, '*', '~') && anyOrder(w.items, got.Items, proto)
	case wantAnyOrder:
		return got.Type == '*' && anyOrder(w.items, got.Items, proto)
	}
	return false
}

func (w *Want) matchesBool(got Reply, proto int) bool {
	if proto == 3 {
		return got.Type == '#' && string(got.Text) == w.text
	}
	return got.Type == ':' && (got.Int == 1) == (w.text == "t") && (got.Int|1) == 1
}

func (w *Want) matchesVerbatim(got Reply, proto int) bool {
	if proto == 3 {
		return got.Type == '=' && string(got.Text) == w.text
	}
	text, ok := got.verbatim(proto)
	return ok && string(text) == w.text[verbatimPrefix:]
}

// verbatimPrefix is the length of "txt:".
const verbatimPrefix = 4

// verbatim is the text of a verbatim string, without its format in RESP3.
func (r *Reply) verbatim(proto int) (text []byte, ok bool) {
	if proto != 3 {
		return r.Text, r.Type == '$'
	}
	if r.Type != '=' || len(r.Text) < verbatimPrefix {
		return nil, false
	}
	return r.Text[verbatimPrefix:], true
}

func inOrder(want []*Want, got []Reply, proto int) bool {
	for i, w := range want {
		if w.form == wantRest {
			return true
		}
		if i >= len(got) || !w.matches(got[i], proto) {
			return false
		}
	}
	return len(got) == len(want)
}

// anyOrder pairs each expectation with a reply of its own. Greedy is enough:
// scripts write exact elements, or patterns that do not overlap.
func anyOrder(want []*Want, got []Reply, proto int) bool {
	left := append([]Reply(nil), got...)
	for _, w := range want {
		if w.form == wantRest {
			return true
		}
		found := -1
		for i := range left {
			if w.matches(left[i], proto) {
				found = i
				break
			}
		}
		if found < 0 {
			return false
		}
		left = append(left[:found], left[found+1:]...)
	}
	return len(left) == 0
}
