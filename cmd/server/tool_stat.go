package main

import (
	"time"

	"github.com/hapaxkv/hapax/internal/inspect"
)

var statCommand = subcommand{
	name: "stat",
	args: "[flags] DIR | SNAPSHOT",
	does: "Print what is there: manifest, snapshots, segments, records by opcode, disk use, and what a start would load.",
	more: "It reads the whole log and the ends of snapshots; check reads everything. It changes\nnothing, and may run beside a server.",
	setup: func(c *toolCall) func() error {
		asJSON := c.flags.Bool("json", false, "print one JSON object")
		return func() error { return c.stat(*asJSON) }
	},
}

func (c *toolCall) stat(asJSON bool) error {
	report, err := inspect.Stat(c.target(), time.Now().UnixMilli())
	if err != nil {
		return wrongPath(err)
	}
	if asJSON {
		err = c.printJSON(report)
	} else {
		err = report.WriteText(c.p.stdout)
	}
	if err == nil && report.Error != "" {
		return errFailed
	}
	return err
}
