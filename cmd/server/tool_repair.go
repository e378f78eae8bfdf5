package main

import (
	"fmt"

	"github.com/hapaxkv/hapax/internal/inspect"
	"github.com/hapaxkv/hapax/internal/vfs"
)

var repairCommand = subcommand{
	name: "repair",
	args: "[flags] DIR",
	does: "Make a damaged data directory start again with all that is left of it.",
	more: `Without --yes it only says what it would do and what would be lost. It cuts the log
at its first bad place, takes damaged snapshots out, and writes the manifest anew.
All that it takes away is kept in DIR/repair-N. A backup loses less, if there is
one: use restore. No server may hold the directory.`,
	setup: func(c *toolCall) func() error {
		o := inspect.RepairOptions{}
		c.flags.BoolVar(&o.Yes, "yes", false, "do it")
		c.flags.BoolVar(&o.Empty, "empty", false, "also when nothing can be kept and the store will be empty")
		return func() error { return c.repair(o) }
	},
}

func (c *toolCall) repair(o inspect.RepairOptions) error {
	target := c.target()
	target.FS = vfs.OS()
	report, err := inspect.Repair(target, o)
	if report != nil {
		if err := report.WriteText(c.p.stdout); err != nil {
			return err
		}
	}
	if err != nil {
		return wrongPath(err)
	}
	if report.Needed && !report.Done {
		fmt.Fprintf(c.p.stdout, "nothing was changed; with --yes it will be\n")
		return errFailed
	}
	return nil
}
