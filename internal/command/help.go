package command

import "strings"

// Help answers a container's HELP: lines name each subcommand and, indented by
// four spaces, say what it does. The frame around them is Redis's.
func Help(c *Ctx, lines ...string) error {
	name := strings.ToUpper(string(c.Args[0]))
	c.Out.Array(len(lines) + 3)
	c.Out.Simple(name + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:")
	for _, line := range lines {
		c.Out.Simple(line)
	}
	c.Out.Simple("HELP")
	c.Out.Simple("    Prints this help.")
	return nil
}
