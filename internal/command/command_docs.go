package command

import "slices"

// COMMAND DOCS: what people and tools (redis-cli's hints) read. It is made
// from the rows alone.

func commandDocs(c *Ctx) error {
	found := rows
	if len(c.Args) > 2 {
		named, err := rowsNamed(c.Args[2:])
		if err != nil {
			return err
		}
		found = slices.DeleteFunc(named, func(row *Command) bool { return row == nil })
	}
	c.Out.Map(len(found))
	for _, row := range found {
		row.docs(c)
	}
	return nil
}

// docs writes a row's name and the map that documents it.
func (row *Command) docs(c *Ctx) {
	o := c.Out
	fields := []struct{ name, text string }{
		{"summary", row.Summary}, {"since", row.Since}, {"group", row.DocGroup}, {"complexity", row.Complexity},
	}
	var docFlags []string
	if row.DeprecatedSince != "" {
		docFlags = append(docFlags, "deprecated")
	}
	if row.System {
		docFlags = append(docFlags, "syscmd")
	}
	args := row.parseSyntax()
	o.BulkString(row.full)
	o.Map(len(fields) + count(len(docFlags) > 0) + 2*count(row.DeprecatedSince != "") +
		count(len(args) > 0) + count(len(row.Sub) > 0))
	for _, f := range fields {
		o.BulkString(f.name)
		o.BulkString(f.text)
	}
	if len(docFlags) > 0 {
		o.BulkString("doc_flags")
		statuses(c, docFlags)
	}
	if row.DeprecatedSince != "" {
		o.BulkString("deprecated_since")
		o.BulkString(row.DeprecatedSince)
		o.BulkString("replaced_by")
		o.BulkString(row.ReplacedBy)
	}
	if len(args) > 0 {
		o.BulkString("arguments")
		writeSyntax(c, args)
	}
	if len(row.Sub) > 0 {
		o.BulkString("subcommands")
		o.Map(len(row.Sub))
		for i := range row.Sub {
			row.Sub[i].docs(c)
		}
	}
}

// count is 1 for a field that is there.
func count(there bool) int {
	if there {
		return 1
	}
	return 0
}

func writeSyntax(c *Ctx, args []syntaxArg) {
	c.Out.Array(len(args))
	for i := range args {
		args[i].write(c)
	}
}

func (a *syntaxArg) write(c *Ctx) {
	o := c.Out
	group := a.kind == "oneof" || a.kind == "block"
	var flags []string
	if a.optional {
		flags = append(flags, "optional")
	}
	if a.multiple {
		flags = append(flags, "multiple")
	}
	o.Map(2 + 1 + count(a.keySpec >= 0) + count(a.token != "") + count(len(flags) > 0)) // a group has no display_text but arguments
	o.BulkString("name")
	o.BulkString(a.name)
	o.BulkString("type")
	o.BulkString(a.kind)
	if !group {
		o.BulkString("display_text")
		o.BulkString(a.name)
	}
	if a.keySpec >= 0 {
		o.BulkString("key_spec_index")
		o.Int(int64(a.keySpec))
	}
	if a.token != "" {
		o.BulkString("token")
		o.BulkString(a.token)
	}
	if len(flags) > 0 {
		o.BulkString("flags")
		statuses(c, flags)
	}
	if group {
		o.BulkString("arguments")
		writeSyntax(c, a.args)
	}
}
