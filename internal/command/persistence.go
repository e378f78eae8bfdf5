package command

import (
	"errors"

	"github.com/hapaxkv/hapax/internal/resp"
)

// Snapshots. One runs at a time, beside everything else; who asks for another
// meanwhile is refused, or gets the next one, as Redis does it for its child
// processes. SAVE suspends its own connection only.
//
// None is Grouped: a snapshot is begun when what came before on its connection
// is durable, so it holds all of that.

// ofSnapshot are the flags that SAVE, BGSAVE and BGREWRITEAOF share.
const ofSnapshot = Admin | NoScript | NoAsyncLoading

// persistenceFamily is the table's part for snapshots.
var persistenceFamily = []Command{
	{
		Name: "save", Arity: 1, Flags: ofSnapshot | NoMulti, Run: save,
		Summary: "Takes a snapshot and waits for its end; other connections go on.", Since: "1.0.0",
		Complexity: "O(N) for N keys", DocGroup: "server",
	},
	{
		Name: "bgsave", Arity: -1, Flags: ofSnapshot, Run: bgSave,
		Summary: "Starts a snapshot in the background, or cancels one.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "server", Syntax: "[SCHEDULE | CANCEL]",
	},
	{
		Name: "lastsave", Arity: 1, Flags: ofServer | Fast, Cats: "admin dangerous", Run: lastSave,
		Tips:    "nondeterministic_output",
		Summary: "Tells when the last snapshot that succeeded was taken.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "bgrewriteaof", Arity: 1, Flags: ofSnapshot, Run: bgRewriteAOF,
		Summary: "Starts a snapshot in the background, so that the log gets short.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
}

// SnapshotCause is on whose behalf a snapshot runs.
type SnapshotCause uint8

const (
	CauseNone    SnapshotCause = iota
	CauseSave                  // SAVE, whose client waits
	CauseBgSave                // BGSAVE, or a save rule
	CauseRewrite               // BGREWRITEAOF, or the log's growth
)

// SnapshotView is what there is of snapshots at this moment.
type SnapshotView struct {
	Running          SnapshotCause // of the one that runs, CauseNone when none does
	Started          int64         // how many were begun in this process
	SaveScheduled    bool          // one more is to start when it ended, for BGSAVE SCHEDULE
	RewriteScheduled bool          // likewise, for BGREWRITEAOF
	LastSaveMilli    int64         // T of the last that succeeded
}

// ErrSnapshotRunning is the host's answer to who would start a second one.
const ErrSnapshotRunning = Error("ERR a snapshot is in progress")

const errSaving = Error("ERR Background save already in progress")

// save waits for a snapshot that begins now, or as soon as the one that runs
// has ended. A BGSAVE that runs makes it fail, as in Redis. What others took
// for the log's sake, or other SAVEs, do not: Redis runs its SAVE beside or
// behind these.
func save(c *Ctx) error {
	number, err := c.Host.StartSnapshot(CauseSave)
	if errors.Is(err, ErrSnapshotRunning) {
		view := c.Host.Snapshots()
		if view.Running == CauseBgSave {
			return errSaving
		}
		c.Host.ScheduleSnapshot(CauseSave)
		number, err = view.Started+1, nil
	}
	if err != nil {
		return snapshotError(err)
	}
	host := c.Host
	c.Block = &Block{
		Firm:  true,
		Ready: func() bool { over, _ := host.SnapshotOver(number); return over },
		Done: func(out *resp.Writer, _ Wake) {
			if _, err := host.SnapshotOver(number); err != nil {
				out.Error(snapshotError(err).Error())
				return
			}
			out.Simple("OK")
		},
	}
	return nil
}

// snapshotError is why a snapshot failed, for a client.
func snapshotError(err error) error { return Error("ERR " + oneLine.Replace(err.Error())) }

func bgSave(c *Ctx) error {
	schedule := false
	switch args := c.Args[1:]; {
	case len(args) == 0:
	case len(args) == 1 && Is(args[0], "schedule"):
		schedule = true
	case len(args) == 1 && Is(args[0], "cancel"):
		return cancelSave(c)
	default:
		return ErrSyntax
	}
	_, err := c.Host.StartSnapshot(CauseBgSave)
	if err == nil {
		return say(c, "Background saving started")
	}
	switch {
	case !errors.Is(err, ErrSnapshotRunning):
		return snapshotError(err)
	case c.Host.Snapshots().Running != CauseRewrite:
		return errSaving
	case schedule:
		c.Host.ScheduleSnapshot(CauseBgSave)
		return say(c, "Background saving scheduled")
	}
	return Error("ERR Another child process is active (AOF?): can't BGSAVE right now. " +
		"Use BGSAVE SCHEDULE in order to schedule a BGSAVE whenever possible.")
}

// cancelSave ends what runs for SAVE or BGSAVE, or takes back what is
// scheduled, as in Valkey 8.1.
func cancelSave(c *Ctx) error {
	switch view := c.Host.Snapshots(); {
	case view.Running == CauseSave || view.Running == CauseBgSave:
		c.Host.CancelSnapshot()
		return say(c, "Background saving cancelled")
	case view.SaveScheduled:
		c.Host.UnscheduleSnapshot()
		return say(c, "Scheduled background saving cancelled")
	}
	return Error("ERR Background saving is currently not in progress or scheduled")
}

func lastSave(c *Ctx) error {
	c.Out.Int(c.Host.Snapshots().LastSaveMilli / 1000)
	return nil
}

func bgRewriteAOF(c *Ctx) error {
	_, err := c.Host.StartSnapshot(CauseRewrite)
	if err == nil {
		return say(c, "Background append only file rewriting started")
	}
	switch {
	case !errors.Is(err, ErrSnapshotRunning):
		return snapshotError(err)
	case c.Host.Snapshots().Running == CauseRewrite:
		return Error("ERR Background append only file rewriting already in progress")
	}
	c.Host.ScheduleSnapshot(CauseRewrite)
	return say(c, "Background append only file rewriting scheduled")
}
