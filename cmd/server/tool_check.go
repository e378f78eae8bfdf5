package main

import (
	"encoding/json"

	"github.com/hapaxkv/hapax/internal/inspect"
)

var checkCommand = subcommand{
	name: "check",
	args: "[flags] DIR | SNAPSHOT",
	does: "Verify a data directory or a snapshot file, and the history of its IDEM records.",
	more: `It reads every byte of the manifest, of the snapshots that it names and of the
log, with the checks of a start, and names the first bad byte. From snapshots and
log it proves that no IDEM record had two owners at once, changed a completed
result or fingerprint, or moved its deadline. It changes nothing, and may run
beside a server; the end of the log may then look torn.`,
	setup: func(c *toolCall) func() error {
		asJSON := c.flags.Bool("json", false, "print one JSON object")
		return func() error { return c.check(*asJSON) }
	},
}

func (c *toolCall) check(asJSON bool) error {
	report, err := inspect.Check(c.target())
	if err != nil {
		return wrongPath(err)
	}
	if asJSON {
		if err := c.printJSON(report); err != nil {
			return err
		}
	} else if err := report.WriteText(c.p.stdout); err != nil {
		return err
	}
	if !report.Good() {
		return errFailed
	}
	return nil
}

// printJSON prints v as one line.
func (c *toolCall) printJSON(v any) error {
	return json.NewEncoder(c.p.stdout).Encode(v)
}
