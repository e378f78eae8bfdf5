package command

import (
	"bufio"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyRow lists all rows, subcommands included.
func everyRow() (all []*Command) {
	var walk func(c *Command)
	walk = func(c *Command) {
		all = append(all, c)
		for i := range c.Sub {
			walk(&c.Sub[i])
		}
	}
	for _, c := range All() {
		walk(c)
	}
	return all
}

var versionNumber = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

func TestEveryRowIsComplete(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, group := range []string{"connection", "generic", "string", "server", "hapax"} {
		known[group] = true
	}
	ids := map[int]string{}
	for _, c := range everyRow() {
		name := c.FullName()
		assert.Equal(t, strings.ToLower(c.Name), c.Name, name)
		require.NotContains(t, c.Name, "|")
		require.Regexp(t, versionNumber, c.Since, name)
		require.NotEmpty(t, c.Complexity, name)
		require.True(t, known[c.DocGroup], "%s: group %q", name, c.DocGroup)
		require.Regexp(t, `^[A-Z].*\.$`, c.Summary, name)
		require.NotZero(t, c.Arity, name)
		require.True(t, c.Run != nil || len(c.Sub) > 0, "%s neither runs nor contains", name)
		assert.Equal(t, c.DeprecatedSince == "", c.ReplacedBy == "", name)
		require.False(t, c.Flags&Write != 0 && c.Flags&ReadOnly != 0, name)
		if c.Flags&(DenyOOM) != 0 {
			require.NotZero(t, c.Flags&Write, "%s refuses memory but doesn't write", name)
		}
		require.Empty(t, ids[c.ID()], "%s has the number of another", name)
		ids[c.ID()] = name
		require.Less(t, c.ID(), Count(), name)
		for category := range strings.FieldsSeq(c.Cats) {
			require.Contains(t, categoryNames, category, name)
		}
	}
	require.Len(t, ids, Count())
}

func TestEveryContainerHelps(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		if len(c.Sub) == 0 {
			continue
		}
		h := newHarness(t)
		help := h.reply(c.Name, "help")
		lines := help.([]any)
		assert.Equal(t, strings.ToUpper(c.Name)+" <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", lines[0])
		assert.Equal(t, []any{"HELP", "    Prints this help."}, lines[len(lines)-2:])
		for i := range c.Sub {
			name := strings.ToUpper(c.Sub[i].Name)
			require.True(t, slices.ContainsFunc(lines, func(line any) bool {
				return line == name || strings.HasPrefix(line.(string), name+" ")
			}), "%s HELP doesn't mention %s", c.Name, name)
		}
	}
}

// Names of what a key specification can say.
var keyFlags = strings.Fields("RO RW OW RM access update insert delete not_key incomplete variable_flags")

func TestKeySpecs(t *testing.T) {
	t.Parallel()
	for _, c := range everyRow() {
		for _, k := range c.Keys {
			require.Positive(t, k.Begin, c.FullName())
			require.Positive(t, k.Step, c.FullName())
			require.NotZero(t, k.Last, c.FullName())
			require.Less(t, k.Begin, max(c.Arity, -c.Arity), "%s: the arity leaves no room for the first key", c.FullName())
			require.NotEmpty(t, k.Flags, c.FullName())
			for flag := range strings.FieldsSeq(k.Flags) {
				require.Contains(t, keyFlags, flag, c.FullName())
			}
			if c.Flags&ReadOnly != 0 {
				require.True(t, strings.HasPrefix(k.Flags, "RO"), "%s is read-only but not its key", c.FullName())
			}
		}
		require.False(t, c.Group == Grouped && c.Lock != LockByKeys,
			"%s: what locks everything or by itself is not for a group", c.FullName())
	}
}

// unwrittenSyntax are the rows whose arguments Redis doesn't document either.
var unwrittenSyntax = map[string]bool{"quit": true, "command": true, "debug": true}

func TestArityIsWhatTheSyntaxSays(t *testing.T) {
	t.Parallel()
	for _, c := range everyRow() {
		if unwrittenSyntax[c.FullName()] || len(c.Sub) > 0 {
			continue
		}
		least, more := argumentsOf(c.parseSyntax())
		arity := least + 1 + strings.Count(c.FullName(), "|")
		if more {
			arity = -arity
		}
		assert.Equal(t, arity, c.Arity, "%s %s", c.FullName(), c.Syntax)
	}
}

// argumentsOf counts the words that args need at least, and says whether more
// may follow.
func argumentsOf(args []syntaxArg) (least int, more bool) {
	for i := range args {
		a := &args[i]
		n, variable := 1, false
		switch a.kind {
		case "pure-token":
		case "block":
			n, variable = argumentsOf(a.args)
			n += count(a.token != "")
		case "oneof":
			n, variable = argumentsOf(a.args[:1])
			for j := range a.args[1:] {
				m, v := argumentsOf(a.args[j+1 : j+2])
				variable = variable || v || m != n
				n = min(n, m)
			}
			n += count(a.token != "")
			if n == 0 {
				n = 1 // all choices optional still means one of them
			}
		default:
			n += count(a.token != "")
		}
		more = more || variable || a.optional || a.multiple
		if !a.optional {
			least += n
		}
	}
	return least, more
}

// The rows that differ from Redis 7.0 on purpose, with the reason.
var differsFromRedis7_0 = map[string]string{
	"set":                     "Valkey's IFEQ, and its key may be read",
	"command|getkeys":         "the arity of Redis 7.2",
	"command|getkeysandflags": "the arity of Redis 7.2",
}

// TestRowsAgainstRedis compares what COMMAND INFO says of each shared command.
func TestRowsAgainstRedis(t *testing.T) {
	t.Parallel()
	conn := dialRedis(t)
	theirs := map[string][]any{}
	var collect func(rows []any)
	collect = func(rows []any) {
		for _, row := range rows {
			fields := row.([]any)
			theirs[fields[0].(string)] = fields
			collect(list(fields[9]))
		}
	}
	collect(askRedis(t, conn, bufio.NewReader(conn), "COMMAND").([]any))

	h := newHarness(t)
	shared := 0
	for _, c := range everyRow() {
		name := c.FullName()
		want := theirs[name]
		if want == nil || differsFromRedis7_0[name] != "" {
			continue
		}
		shared++
		got := h.reply("COMMAND", "INFO", name).([]any)[0].([]any)
		assert.Equal(t, want[0], got[0])
		assert.Equal(t, want[1], got[1], "%s: arity", name)
		assert.ElementsMatch(t, list(want[2]), list(got[2]), "%s: flags", name)
		assert.Equal(t, want[3:6], got[3:6], "%s: first, last, step", name)
		assert.ElementsMatch(t, list(want[6]), list(got[6]), "%s: ACL categories", name)
		assert.ElementsMatch(t, list(want[7]), list(got[7]), "%s: tips", name)
		assert.Equal(t, withoutNotes(want[8]), got[8], "%s: key specifications", name)
	}
	require.Greater(t, shared, 80)
}

// withoutNotes drops the remarks for people from key specifications.
func withoutNotes(specs any) any {
	var out []any
	for _, spec := range list(specs) {
		fields := spec.([]any)
		if fields[0] == "notes" {
			fields = fields[2:]
		}
		out = append(out, fields)
	}
	if out == nil {
		return []any{}
	}
	return out
}

// TestDocsAgainstRedis compares deprecations, groups and the literal words of
// every shared command's arguments.
func TestDocsAgainstRedis(t *testing.T) {
	t.Parallel()
	// What Redis 7.2 and Valkey added since 7.0, or 7.2 groups otherwise.
	newer := map[string][]string{"set": {"IFEQ"}, "client|kill": {"MAXAGE", "NO", "YES"}, "bgsave": {"CANCEL"}}
	deprecatedIn7_2 := map[string]bool{"quit": true, "setnx": true, "setex": true, "psetex": true}
	conn := dialRedis(t)
	in := bufio.NewReader(conn)
	h := newHarness(t)
	for _, c := range everyRow() {
		name := c.FullName()
		want := askRedis(t, conn, in, "COMMAND", "DOCS", name).([]any)
		if len(want) == 0 {
			continue
		}
		got := h.reply("COMMAND", "DOCS", name)
		theirs, ours := want[1], at(got, name)
		require.NotNil(t, ours, name)
		assert.Equal(t, at(theirs, "since"), at(ours, "since"), name)
		assert.Equal(t, at(theirs, "group"), at(ours, "group"), name)
		if !deprecatedIn7_2[name] {
			assert.Equal(t, at(theirs, "deprecated_since"), at(ours, "deprecated_since"), name)
			assert.Equal(t, at(theirs, "doc_flags"), at(ours, "doc_flags"), name)
		}
		words, keys := wordsOf(at(theirs, "arguments"))
		ourWords, ourKeys := wordsOf(at(ours, "arguments"))
		ourWords = slices.DeleteFunc(ourWords, func(w string) bool { return slices.Contains(newer[name], w) })
		assert.Equal(t, words, ourWords, name)
		assert.Equal(t, keys, ourKeys, name)
	}
}

// wordsOf lists the literal words of nested arguments, sorted, and counts the
// arguments that are keys.
func wordsOf(args any) (words []string, keys int) {
	if args == nil {
		return nil, 0
	}
	for _, a := range list(args) {
		if token, ok := at(a, "token").(string); ok {
			words = append(words, token)
		}
		if at(a, "type") == "key" {
			keys++
		}
		inner, innerKeys := wordsOf(at(a, "arguments"))
		words, keys = append(words, inner...), keys+innerKeys
	}
	slices.Sort(words)
	return words, keys
}
