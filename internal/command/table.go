package command

import "github.com/hapaxkv/hapax/internal/shard"

// Lookup finds a command by its name in any case; nil when unknown. It
// allocates nothing.
func Lookup(name []byte) *Command { panic("unwritten") }

// Resolve finds the row that runs for args: the command, or for a container
// its subcommand. The error is the reply: unknown command, unknown
// subcommand, wrong number of arguments.
func Resolve(args [][]byte) (*Command, error) { panic("unwritten") }

// All lists the top-level rows in table order.
func All() []*Command { panic("unwritten") }

// FullName is "set" or "client|list".
func (c *Command) FullName() string { return c.full }

// ID is a dense number of the row, for per-command counters; Count bounds it.
func (c *Command) ID() int { return c.id }

// Count is the number of rows, subcommands included.
func Count() int { panic("unwritten") }

// AppendKeys extracts the keys of args by the command's key specifications
// into dst, hashed. The one key extraction of the server (I11).
func AppendKeys(dst []shard.Key, c *Command, args [][]byte) []shard.Key { panic("unwritten") }

// families is the table in order; a family file declares its rows.
func families() [][]Command {
	return [][]Command{connectionFamily, keysFamily, stringsFamily, nativeFamily, serverFamily}
}
