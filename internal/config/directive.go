package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kind is what a directive's value looks like.
type kind uint8

const (
	boolean kind = iota // yes or no
	integer
	memory // bytes; 64mb, with percent also 10%
	octal
	word  // one of choices
	words // one or more of choices
	text
	list // read by a function of its own
)

// directive is one row of the table: all that is known of a name.
type directive struct {
	name  string
	alias string // an older name of Redis's that still works
	kind  kind
	def   string // canonical, as CONFIG GET shows it

	min, max int64 // of numbers
	percent  bool  // a memory size may be a share instead
	choices  []string
	read     func(args []string, before string) (string, error) // of a list
	check    func(value string) error                           // of a text or words

	fixed     bool // CONFIG SET refuses it, as Redis does
	starting  bool // Redis can change it while running, Hapax cannot
	protected bool // CONFIG SET needs enable-protected-configs
	hidden    bool // CONFIG GET shows it by its full name only
	merges    bool // repeated lines of one source add up
	idle      bool // known, and without effect here
	refuse    string

	doc   string
	group *group
	index int
}

// Errors of CONFIG SET's values; texts are Redis's.
var (
	errYesNo     = errors.New("argument must be 'yes' or 'no'")
	errInteger   = errors.New("argument couldn't be parsed into an integer")
	errOctal     = errors.New("argument couldn't be parsed as an octal number")
	errMemory    = errors.New("argument must be a memory value")
	errShare     = errors.New("argument must be a memory or percent value")
	errArguments = errors.New("wrong number of arguments")
)

// parse turns what was written into the canonical value. before is the
// present one, which some lists change in part.
func (d *directive) parse(args []string, before string) (string, error) {
	if d.kind == list {
		return d.read(args, before)
	}
	if d.kind == words {
		return d.parseWords(args)
	}
	if len(args) != 1 {
		return "", errArguments
	}
	switch v := args[0]; d.kind {
	case boolean:
		return parseBoolean(v)
	case integer:
		n, ok := parseInt(v)
		if !ok {
			return "", errInteger
		}
		return d.inBounds(n)
	case memory:
		return d.parseMemory(v)
	case octal:
		n, err := strconv.ParseInt(v, 8, 64)
		if err != nil {
			return "", errOctal
		}
		return d.inBounds(n)
	case word:
		return d.parseWords(args)
	default:
		if d.check != nil {
			if err := d.check(v); err != nil {
				return "", err
			}
		}
		return v, nil
	}
}

// split makes arguments of a value that came as one string.
func (d *directive) split(value string) []string {
	if d.kind != list && d.kind != words {
		return []string{value}
	}
	return strings.Fields(value)
}

func parseBoolean(v string) (string, error) {
	switch {
	case strings.EqualFold(v, "yes"):
		return "yes", nil
	case strings.EqualFold(v, "no"):
		return "no", nil
	}
	return "", errYesNo
}

func (d *directive) parseWords(args []string) (string, error) {
	chosen := make([]string, 0, len(args))
	for _, a := range args {
		i := slices.IndexFunc(d.choices, func(c string) bool { return strings.EqualFold(c, a) })
		if i < 0 {
			return "", d.errChoice()
		}
		chosen = append(chosen, d.choices[i])
	}
	if len(chosen) == 0 {
		return "", d.errChoice()
	}
	value := strings.Join(chosen, " ")
	if d.check != nil {
		if err := d.check(value); err != nil {
			return "", err
		}
	}
	return value, nil
}

func (d *directive) errChoice() error {
	return errors.New("argument(s) must be one of the following: " + strings.Join(d.choices, ", "))
}

func (d *directive) parseMemory(v string) (string, error) {
	if n, ok := parseMemory(v); ok {
		return d.inBounds(n)
	}
	if !d.percent {
		return "", errMemory
	}
	digits, isShare := strings.CutSuffix(v, "%")
	n, ok := parseInt(digits)
	if !isShare || !ok || n < 0 {
		return "", errShare
	}
	if n > 100 {
		return "", errors.New("percentage argument must be less or equal to 100")
	}
	return v, nil
}

func (d *directive) inBounds(n int64) (string, error) {
	base := 10
	if d.kind == octal {
		base = 8
	}
	lowest := max(d.min, 0)
	if !d.percent {
		lowest = d.min
	}
	if n < lowest || n > d.max {
		return "", fmt.Errorf("argument must be between %s and %s inclusive",
			strconv.FormatInt(lowest, base), strconv.FormatInt(d.max, base))
	}
	return strconv.FormatInt(n, base), nil
}

// parseInt reads a 64-bit integer in its shortest form only, as Redis does.
func parseInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
