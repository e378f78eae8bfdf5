package command

import "strings"

// A row's Syntax, parsed into the nested arguments of COMMAND DOCS. The
// notation is that of Redis's documentation:
//
//	name          an argument
//	WORD          a literal word; what follows it belongs to it
//	[ ... ]       optional
//	< a | b >     one of; [ a | b ] is the same, optional
//	x [x ...]     x, once or more; also of several: key value [key value ...]
//	< ... > ...   the group, once or more

// syntaxArg is one argument as COMMAND DOCS describes it.
type syntaxArg struct {
	name, kind, token  string
	keySpec            int // which of the row's key specifications has it; -1 for none
	optional, multiple bool
	args               []syntaxArg // of "oneof" and "block"
}

// parseSyntax parses row's Syntax. A notation that is wrong yields nonsense,
// never a panic; the table's test tells.
func (row *Command) parseSyntax() []syntaxArg {
	p := syntaxParser{words: syntaxWords(row.Syntax)}
	args, _ := p.sequence()
	position := 1 + strings.Count(row.full, "|")
	for i := range args {
		if args[i].optional {
			break // what follows has no fixed place
		}
		row.markKeys(&args[i], &position)
	}
	setKinds(row, args)
	return args
}

// syntaxWords splits a Syntax into words and brackets.
func syntaxWords(syntax string) []string {
	for _, bracket := range []string{"[", "]", "<", ">"} {
		syntax = strings.ReplaceAll(syntax, bracket, " "+bracket+" ")
	}
	return strings.Fields(syntax)
}

type syntaxParser struct {
	words []string
}

// peek is the next word, "" at the end.
func (p *syntaxParser) peek() string {
	if len(p.words) == 0 {
		return ""
	}
	return p.words[0]
}

func (p *syntaxParser) take() string {
	w := p.peek()
	if len(p.words) > 0 {
		p.words = p.words[1:]
	}
	return w
}

// sequence parses up to the end of an alternative. repeats is true when it
// ended in "..." that doesn't belong to a group before it.
func (p *syntaxParser) sequence() (args []syntaxArg, repeats bool) {
	afterGroup := false
	for {
		switch w := p.peek(); {
		case w == "" || w == "|" || w == "]" || w == ">":
			return args, repeats
		case w == "...":
			p.take()
			if afterGroup {
				args[len(args)-1].multiple = true
			}
			repeats = !afterGroup
		case w == "[" || w == "<":
			p.take()
			afterGroup = w == "<"
			group, groupRepeats := p.group(w == "[")
			if tail := len(args) - len(group.members()); groupRepeats && tail >= 0 && sameNames(args[tail:], group.members()) {
				args = append(args[:tail], repeated(args[tail:]))
				break
			}
			group.multiple = group.multiple || groupRepeats
			args = append(args, group)
		case w == strings.ToUpper(w):
			p.take()
			rest, restRepeats := p.sequence()
			return append(args, withToken(w, rest)), restRepeats
		default:
			args = append(args, syntaxArg{name: p.take(), kind: "string", keySpec: -1})
			afterGroup = false
		}
	}
}

// group parses the alternatives of a bracket that was opened. repeats is true
// when it is one alternative that ended in "...".
func (p *syntaxParser) group(optional bool) (group syntaxArg, repeats bool) {
	var choices []syntaxArg
	for {
		args, choiceRepeats := p.sequence()
		choice := single(args)
		closed := p.take() != "|"
		if closed && len(choices) == 0 {
			choice.optional = choice.optional || optional
			return choice, choiceRepeats
		}
		choice.multiple = choice.multiple || choiceRepeats
		choices = append(choices, choice)
		if closed {
			break
		}
	}
	return syntaxArg{name: groupName(choices), kind: "oneof", keySpec: -1, optional: optional, args: choices}, false
}

// single makes one argument of a sequence: a block unless there is one anyway.
func single(args []syntaxArg) syntaxArg {
	if len(args) == 1 {
		return args[0]
	}
	return syntaxArg{name: groupName(args), kind: "block", keySpec: -1, args: args}
}

// repeated is single, once or more.
func repeated(args []syntaxArg) syntaxArg {
	arg := single(append([]syntaxArg(nil), args...))
	arg.multiple = true
	return arg
}

// withToken puts a literal word before what follows it.
func withToken(token string, rest []syntaxArg) syntaxArg {
	name := strings.ToLower(token)
	switch len(rest) {
	case 0:
		return syntaxArg{name: name, kind: "pure-token", token: token, keySpec: -1}
	case 1:
		rest[0].token = token
		return rest[0]
	}
	return syntaxArg{name: name, kind: "block", token: token, keySpec: -1, args: rest}
}

// members are what a bracket holds, for comparing it with what it repeats.
func (a *syntaxArg) members() []syntaxArg {
	if a.kind == "block" && a.token == "" {
		return a.args
	}
	return []syntaxArg{*a}
}

func sameNames(a, b []syntaxArg) bool {
	for i := range a {
		if a[i].name != b[i].name {
			return false
		}
	}
	return len(a) == len(b)
}

// groupNames are Redis's names of groups by the name of their first member,
// where there is one; tools show them.
var groupNames = map[string]string{
	"nx": "condition", "seconds": "expiration", "async": "flush-type", "normal": "client-type",
	"nosave": "save-selector", "timeout": "unblock-type", "on": "action", "module-name": "filterby",
	"libname": "attr", "protover": "arguments", "key": "data", "parameter": "data",
	"ip:port": "filter", "client-id": "new-format", "begin": "action", "yes": "skipme",
}

func groupName(args []syntaxArg) string {
	if len(args) == 0 {
		return ""
	}
	if name, ok := groupNames[args[0].name]; ok {
		return name
	}
	names := make([]string, len(args))
	for i := range args {
		names[i] = args[i].name
	}
	return strings.Join(names, "-")
}

// markKeys gives an argument at a fixed position its key specification, and
// moves the position on.
func (row *Command) markKeys(a *syntaxArg, position *int) {
	switch a.kind {
	case "oneof":
		*position++
	case "block":
		for i := range a.args {
			row.markKeys(&a.args[i], position)
		}
	default:
		for i := range row.Keys {
			k := &row.Keys[i]
			if *position >= k.Begin && (k.Last < 0 || *position <= k.Last) && (*position-k.Begin)%k.Step == 0 {
				a.kind, a.keySpec = "key", i
			}
		}
		*position++
	}
}

// argKinds are the types of arguments by name; the rest are strings.
var argKinds = map[string]string{
	"pattern": "pattern", "unix-time-seconds": "unix-time", "unix-time-milliseconds": "unix-time",
}

func init() {
	for _, name := range strings.Fields("seconds milliseconds count cursor index index1 index2 db destination-db " +
		"ttl-ms limit window-ms cost increment decrement start end offset protover version client-id numreplicas " +
		"numlocal timeout min-match-len maxage") {
		argKinds[name] = "integer"
	}
}

func setKinds(row *Command, args []syntaxArg) {
	for i := range args {
		a := &args[i]
		setKinds(row, a.args)
		if a.kind != "string" {
			continue
		}
		if kind, ok := argKinds[a.name]; ok {
			a.kind = kind
		}
		if a.name == "increment" && row.full == "incrbyfloat" {
			a.kind = "double"
		}
	}
}
