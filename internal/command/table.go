package command

import "strings"

// families is the table in order; a family file declares its rows.
func families() [][]Command {
	return [][]Command{connectionFamily, keysFamily, stringsFamily, nativeFamily, serverFamily, persistenceFamily}
}

// The table, built once. It is filled by init rather than by an initializer
// since COMMAND's own rows read it.
var (
	rows     []*Command // top level, in table order
	rowCount int        // with subcommands
	names    nameIndex
)

func init() {
	for _, family := range families() {
		for i := range family {
			add(&family[i], nil)
		}
	}
	names = newNameIndex(rows)
}

// add numbers a row and its subcommands.
func add(c, parent *Command) {
	c.full = c.Name
	if parent == nil {
		rows = append(rows, c)
	} else {
		c.full = parent.Name + "|" + c.Name
	}
	c.id = rowCount
	rowCount++
	for i := range c.Sub {
		add(&c.Sub[i], c)
	}
}

// All lists the top-level rows in table order.
func All() []*Command { return rows }

// Count is the number of rows, subcommands included.
func Count() int { return rowCount }

// FullName is "set" or "client|list".
func (c *Command) FullName() string { return c.full }

// ID is a dense number of the row, for per-command counters; Count bounds it.
func (c *Command) ID() int { return c.id }

// Lookup finds a command by its name in any case; nil when unknown. It
// allocates nothing.
func Lookup(name []byte) *Command { return names.find(name) }

// sub finds a subcommand by its name in any case.
func (c *Command) sub(name []byte) *Command {
	for i := range c.Sub {
		if Is(name, c.Sub[i].Name) {
			return &c.Sub[i]
		}
	}
	return nil
}

// Resolve finds the row that runs for args: the command, or for a container
// its subcommand. The error is the reply: unknown command, unknown
// subcommand, wrong number of arguments; with the last the row is returned
// too, for its statistics.
func Resolve(args [][]byte) (*Command, error) {
	c := find(args)
	if c == nil {
		return nil, unknown(args)
	}
	if !c.takes(len(args)) {
		return c, WrongArity(c)
	}
	return c, nil
}

// find is Resolve without the checks; nil when there is no such row. A
// container without a subcommand is found as itself.
func find(args [][]byte) *Command {
	c := names.find(args[0])
	if c == nil || len(c.Sub) == 0 || len(args) == 1 {
		return c
	}
	return c.sub(args[1])
}

// takes says whether argc arguments, the name included, fit the arity.
func (c *Command) takes(argc int) bool {
	return argc == c.Arity || c.Arity < 0 && argc >= -c.Arity
}

// WrongArity is the error for a wrong number of arguments of c.
func WrongArity(c *Command) error {
	return Error("ERR wrong number of arguments for '" + c.full + "' command")
}

// echoBytes bounds how much of a request an error repeats, as in Redis.
const echoBytes = 128

func unknown(args [][]byte) error {
	if c := names.find(args[0]); c != nil {
		return Error("ERR unknown subcommand '" + echo(args[1], echoBytes) + "'. Try " +
			strings.ToUpper(c.Name) + " HELP.")
	}
	var b strings.Builder
	b.WriteString("ERR unknown command '")
	b.WriteString(echo(args[0], echoBytes))
	b.WriteString("', with args beginning with: ")
	for room, i := echoBytes, 1; i < len(args) && room > 0; i++ {
		shown := echo(args[i], room)
		b.WriteString("'" + shown + "' ")
		room -= len(shown) + len("'' ")
	}
	return Error(b.String())
}

// echo is a part of a request that is fit for an error line: at most max
// bytes, cut at the first NUL as Redis's are, without line breaks.
func echo(b []byte, max int) string {
	b = b[:min(len(b), max)]
	out := make([]byte, 0, len(b))
	for _, c := range b {
		switch c {
		case 0:
			return string(out)
		case '\r', '\n':
			c = ' '
		}
		out = append(out, c)
	}
	return string(out)
}
