package command

import (
	"bytes"
	"strings"
)

// COMMAND and its subcommands: the table told to clients, in the shapes of
// Redis 7.2. command_docs.go has COMMAND DOCS.

var commandSubcommands = []Command{
	{
		Name: "count", Arity: 2, Flags: ofServer, Cats: "connection", Run: commandCount,
		Summary: "Counts the commands.", Since: "2.8.13",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "info", Arity: -2, Flags: ofServer, Cats: "connection", Run: commandInfo,
		Tips:    "nondeterministic_output_order",
		Summary: "Describes the commands named, or all.", Since: "2.8.13",
		Complexity: "O(N) for N commands", DocGroup: "server", Syntax: "[command-name [command-name ...]]",
	},
	{
		Name: "docs", Arity: -2, Flags: ofServer, Cats: "connection", Run: commandDocs,
		Tips:    "nondeterministic_output_order",
		Summary: "Documents the commands named, or all.", Since: "7.0.0",
		Complexity: "O(N) for N commands", DocGroup: "server", Syntax: "[command-name [command-name ...]]",
	},
	{
		Name: "list", Arity: -2, Flags: ofServer, Cats: "connection", Run: commandList,
		Tips:    "nondeterministic_output_order",
		Summary: "Lists the commands' names.", Since: "7.0.0",
		Complexity: "O(N) for N commands", DocGroup: "server",
		Syntax: "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
	},
	{
		Name: "getkeys", Arity: -3, Flags: ofServer, Cats: "connection", Run: commandGetKeys,
		Summary: "Tells the keys of a full command.", Since: "2.8.13",
		Complexity: "O(N) for N arguments", DocGroup: "server", Syntax: "command [arg [arg ...]]",
	},
	{
		Name: "getkeysandflags", Arity: -3, Flags: ofServer, Cats: "connection", Run: commandGetKeysAndFlags,
		Summary: "Tells the keys of a full command and what it does to each.", Since: "7.0.0",
		Complexity: "O(N) for N arguments", DocGroup: "server", Syntax: "command [arg [arg ...]]",
	},
	{
		Name: "help", Arity: 2, Flags: ofServer, Cats: "connection", Run: commandHelp,
		Summary: "Lists COMMAND's subcommands.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
}

// named finds a row by its full name, "client|list" included.
func named(name []byte) *Command {
	parent, child, ofContainer := bytes.Cut(name, []byte("|"))
	c := Lookup(parent)
	if c == nil || !ofContainer {
		return c
	}
	return c.sub(child)
}

// rowsNamed are the rows that names tell, nil for an unknown one. A name costs
// little to send and its description may be thousands of bytes, so more names
// than there are rows are refused (I12).
func rowsNamed(names [][]byte) ([]*Command, error) {
	if len(names) > rowCount {
		return nil, Error("ERR more command names than there are commands")
	}
	found := make([]*Command, len(names))
	for i, name := range names {
		found[i] = named(name)
	}
	return found, nil
}

func commandAll(c *Ctx) error {
	c.Out.Array(len(rows))
	for _, row := range rows {
		row.info(c)
	}
	return nil
}

func commandCount(c *Ctx) error {
	c.Out.Int(int64(len(rows)))
	return nil
}

func commandInfo(c *Ctx) error {
	if len(c.Args) == 2 {
		return commandAll(c)
	}
	found, err := rowsNamed(c.Args[2:])
	if err != nil {
		return err
	}
	c.Out.Array(len(found))
	for _, row := range found {
		if row != nil {
			row.info(c)
		} else {
			c.Out.Null()
		}
	}
	return nil
}

// info writes a row as COMMAND INFO's ten elements.
func (row *Command) info(c *Ctx) {
	o := c.Out
	o.Array(10)
	o.BulkString(row.full)
	o.Int(int64(row.Arity))
	statuses(c, row.flagNames())
	first, last, step := row.legacyRange()
	o.Int(int64(first))
	o.Int(int64(last))
	o.Int(int64(step))
	statuses(c, row.categories())
	tips := strings.Fields(row.Tips)
	o.Set(len(tips))
	for _, tip := range tips {
		o.BulkString(tip)
	}
	o.Set(len(row.Keys))
	for i := range row.Keys {
		row.Keys[i].info(c)
	}
	if len(row.Sub) == 0 {
		o.Set(0)
		return
	}
	o.Array(len(row.Sub))
	for i := range row.Sub {
		row.Sub[i].info(c)
	}
}

// statuses writes a set of words as status replies.
func statuses(c *Ctx, words []string) {
	c.Out.Set(len(words))
	for _, word := range words {
		c.Out.Simple(word)
	}
}

// legacyRange is the one range that clients from before key specifications
// understand. Specifications that follow on another widen it, as in Redis:
// RENAME has keys 1 to 2.
func (row *Command) legacyRange() (first, last, step int) {
	for i := range row.Keys {
		k := &row.Keys[i]
		if i == 0 {
			first, last, step = k.Begin, k.Last, k.Step
			continue
		}
		if last < 0 || k.Begin != last+1 {
			break // not one run: an old client gets the first part of it
		}
		last = k.Last
	}
	return first, last, step
}

// info writes a key specification: where the search begins, and which
// arguments from there are keys. lastkey counts from the beginning.
func (k *KeySpec) info(c *Ctx) {
	o := c.Out
	o.Map(3)
	o.BulkString("flags")
	statuses(c, strings.Fields(k.Flags))
	o.BulkString("begin_search")
	o.Map(2)
	o.BulkString("type")
	o.BulkString("index")
	o.BulkString("spec")
	o.Map(1)
	o.BulkString("index")
	o.Int(int64(k.Begin))
	o.BulkString("find_keys")
	o.Map(2)
	o.BulkString("type")
	o.BulkString("range")
	o.BulkString("spec")
	o.Map(3)
	o.BulkString("lastkey")
	last := k.Last
	if last >= 0 {
		last -= k.Begin
	}
	o.Int(int64(last))
	o.BulkString("keystep")
	o.Int(int64(k.Step))
	o.BulkString("limit")
	o.Int(0)
}

func commandList(c *Ctx) error {
	keep := func(*Command) bool { return true }
	switch {
	case len(c.Args) == 2:
	case len(c.Args) == 5 && Is(c.Args[2], "filterby"):
		if keep = listedBy(c.Args[3], c.Args[4]); keep == nil {
			return ErrSyntax
		}
	default:
		return ErrSyntax
	}
	var found []string
	for _, row := range rows {
		if keep(row) {
			found = append(found, row.full)
		}
		for i := range row.Sub {
			if keep(&row.Sub[i]) {
				found = append(found, row.Sub[i].full)
			}
		}
	}
	c.Out.Array(len(found))
	for _, name := range found {
		c.Out.BulkString(name)
	}
	return nil
}

// listedBy is COMMAND LIST's filter; nil when there is no such kind. There are
// no modules, so none fits one.
func listedBy(kind, value []byte) func(*Command) bool {
	switch {
	case Is(kind, "module"):
		return func(*Command) bool { return false }
	case Is(kind, "aclcat"):
		return func(row *Command) bool { return row.inCategory(value) }
	case Is(kind, "pattern"):
		return func(row *Command) bool { return MatchFold(value, []byte(row.full)) }
	}
	return nil
}

func commandGetKeys(c *Ctx) error {
	keys, err := keysOf(c.Args[2:])
	if err != nil {
		return err
	}
	c.Out.Array(len(keys))
	for _, k := range keys {
		c.Out.Bulk(k.name)
	}
	return nil
}

func commandGetKeysAndFlags(c *Ctx) error {
	keys, err := keysOf(c.Args[2:])
	if err != nil {
		return err
	}
	c.Out.Array(len(keys))
	for _, k := range keys {
		c.Out.Array(2)
		c.Out.Bulk(k.name)
		statuses(c, strings.Fields(k.flags))
	}
	return nil
}

// flaggedKey is a key of a request and what the command does to it.
type flaggedKey struct {
	name  []byte
	flags string
}

// keysOf finds the keys of a request by the positions that AppendKeys goes by
// (I11).
func keysOf(args [][]byte) ([]flaggedKey, error) {
	row := find(args)
	switch {
	case row == nil:
		return nil, Error("ERR Invalid command specified")
	case len(row.Keys) == 0:
		return nil, Error("ERR The command has no key arguments")
	case !row.takes(len(args)):
		return nil, Error("ERR Invalid number of arguments specified for command")
	}
	var keys []flaggedKey
	for i := range row.Keys {
		flags := row.Keys[i].flagsFor(args)
		for first, last, step := row.Keys[i].positions(len(args)); first <= last; first += step {
			keys = append(keys, flaggedKey{args[first], flags})
		}
	}
	return keys, nil
}

// variableFlags marks a specification whose flags depend on the options. SET's
// alone does: without GET it only overwrites.
const variableFlags = " variable_flags"

func (k *KeySpec) flagsFor(args [][]byte) string {
	flags, varies := strings.CutSuffix(k.Flags, variableFlags)
	if !varies {
		return flags
	}
	for _, arg := range args[min(3, len(args)):] {
		if Is(arg, "get") {
			return flags
		}
	}
	return "OW update"
}

func commandHelp(c *Ctx) error {
	return Help(c,
		"(no subcommand)",
		"    Return details about all commands.",
		"COUNT",
		"    Return the total number of commands in this server.",
		"LIST",
		"    Return a list of all commands in this server.",
		"INFO [<command-name> ...]",
		"    Return details about multiple commands.",
		"    If no command names are given, details for all commands are returned.",
		"DOCS [<command-name> ...]",
		"    Return documentation details about multiple commands.",
		"    If no command names are given, documentation details for all",
		"    commands are returned.",
		"GETKEYS <full-command>",
		"    Return the keys from a full command.",
		"GETKEYSANDFLAGS <full-command>",
		"    Return the keys and the access flags from a full command.")
}
