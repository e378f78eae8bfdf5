package command

import (
	"math"
	"strconv"
	"strings"

	"github.com/hapaxkv/hapax/internal/resp"
)

// The server family: what a client asks the server about itself. None is
// Grouped: some block or stop the server, and the others report on the whole
// store, so what they tell is durable before they answer.

const ofServer = Loading | Stale

// serverFamily is the table's part for the server.
var serverFamily = []Command{
	{
		Name: "info", Arity: -1, Flags: ofServer, Cats: "dangerous", Run: info,
		Tips:    "nondeterministic_output request_policy:all_shards response_policy:special",
		Summary: "Reports on the server, section by section.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "server", Syntax: "[section [section ...]]",
	},
	{
		Name: "command", Arity: -1, Flags: ofServer, Cats: "connection", Run: commandAll, Sub: commandSubcommands,
		Tips:    "nondeterministic_output_order",
		Summary: "Describes every command.", Since: "2.8.13",
		Complexity: "O(N) for N commands", DocGroup: "server",
	},
	{
		Name: "config", Arity: -2, Sub: configSubcommands,
		Summary: "A container for commands about the configuration.", Since: "2.0.0",
		Complexity: "Depends on subcommand.", DocGroup: "server",
	},
	{
		Name: "memory", Arity: -2, Sub: memorySubcommands,
		Summary: "A container for commands about memory.", Since: "4.0.0",
		Complexity: "Depends on subcommand.", DocGroup: "server",
	},
	{
		Name: "time", Arity: 1, Flags: ofServer | Fast, Run: serverTime,
		Tips:    "nondeterministic_output",
		Summary: "Tells the server's time T, by which keys expire.", Since: "2.6.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "role", Arity: 1, Flags: ofServer | NoScript | Fast, Cats: "admin dangerous", Run: role,
		Summary: "Tells the server's part in replication: master, without replicas.", Since: "2.8.12",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "wait", Arity: 3, Flags: NoScript, Cats: "connection", Run: wait,
		Tips:    "request_policy:all_shards response_policy:agg_min",
		Summary: "Waits for replicas to have the connection's writes; there are none.", Since: "3.0.0",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "numreplicas timeout",
	},
	{
		Name: "waitaof", Arity: 4, Flags: NoScript, Cats: "connection", Run: waitAOF,
		Tips:    "request_policy:all_shards response_policy:agg_min",
		Summary: "Waits until the connection's writes are synced to the log.", Since: "7.2.0",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "numlocal numreplicas timeout",
	},
	{
		Name: "shutdown", Arity: -1, Flags: ofServer | Admin | NoScript | NoMulti | AllowBusy, Run: shutdown,
		Summary: "Syncs the log and ends the server, after a last snapshot if that is wanted.", Since: "1.0.0",
		Complexity: "O(N) for N keys with a snapshot, otherwise O(1)", DocGroup: "server", Syntax: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
	},
	{
		Name: "debug", Arity: -2, Flags: ofServer | Admin | NoScript, Run: debug, System: true,
		Summary: "Aids to testing, off unless enable-debug-command allows it.", Since: "1.0.0",
		Complexity: "Depends on subcommand.", DocGroup: "server",
	},
	{
		Name: "lolwut", Arity: -1, Flags: ReadOnly | Fast, Run: lolwut,
		Summary: "Shows a piece of art and the version.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "server", Syntax: "[VERSION version]",
	},
}

func serverTime(c *Ctx) error {
	micro := c.Host.UnixMicro()
	c.Out.Array(2)
	c.Out.BulkString(strconv.FormatInt(micro/1e6, 10))
	c.Out.BulkString(strconv.FormatInt(micro%1e6, 10))
	return nil
}

// role's offset is the last LSN: like a replication offset it grows with every
// record written.
func role(c *Ctx) error {
	c.Out.Array(3)
	c.Out.BulkString("master")
	c.Out.Int(int64(c.Host.Last()))
	c.Out.Array(0)
	return nil
}

// waitTimeout reads a timeout in milliseconds and yields the deadline at T, 0
// for none.
func waitTimeout(c *Ctx, arg []byte) (deadlineMilli int64, err error) {
	timeoutMilli, ok := ParseInt(arg)
	nowMilli := c.Host.UnixMicro() / 1000 // not c.NowMilli, which may stand still
	switch {
	case !ok:
		return 0, Error("ERR timeout is not an integer or out of range")
	case timeoutMilli < 0:
		return 0, Error("ERR timeout is negative")
	case timeoutMilli == 0:
		return 0, nil
	case timeoutMilli > math.MaxInt64-nowMilli:
		return 0, Error("ERR timeout is out of range")
	}
	return nowMilli + timeoutMilli, nil
}

const unblockedText = "UNBLOCKED client unblocked via CLIENT UNBLOCK"

// wait waits in vain for any number of replicas above none, as a Redis
// without replicas does.
func wait(c *Ctx) error {
	replicas, err := IntArg(c.Args[1])
	if err != nil {
		return err
	}
	deadlineMilli, err := waitTimeout(c, c.Args[2])
	if err != nil {
		return err
	}
	if replicas <= 0 {
		c.Out.Int(0)
		return nil
	}
	c.Block = &Block{DeadlineMilli: deadlineMilli, Done: func(out *resp.Writer, why Wake) {
		if why == WakeUnblockError {
			out.Error(unblockedText)
			return
		}
		out.Int(0)
	}}
	return nil
}

// waitAOF blocks until the connection's last write is synced, whatever
// appendfsync is. Asking for replicas waits for the timeout.
func waitAOF(c *Ctx) error {
	local, err := RangeArg(c.Args[1], 0, 1, nil)
	if err != nil {
		return err
	}
	replicas, err := RangeArg(c.Args[2], 0, math.MaxInt64, nil)
	if err != nil {
		return err
	}
	deadlineMilli, err := waitTimeout(c, c.Args[3])
	if err != nil {
		return err
	}
	hasLog := c.Host.Stats().AOFEnabled
	if local == 1 && !hasLog {
		return Error("ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")
	}
	host, target := c.Host, c.Sess.LastWrite
	acknowledged := func() (n int64) {
		if hasLog && host.Synced() >= target {
			n = 1
		}
		return n
	}
	if now := acknowledged(); replicas == 0 && now >= local {
		acks(c.Out, now)
		return nil
	}
	c.Block = &Block{DeadlineMilli: deadlineMilli, Done: func(out *resp.Writer, why Wake) {
		if why == WakeUnblockError {
			out.Error(unblockedText)
			return
		}
		acks(out, acknowledged())
	}}
	if replicas == 0 {
		c.Block.LSN = target
	}
	return nil
}

// acks answers WAITAOF: the local log, then replicas.
func acks(out *resp.Writer, local int64) {
	out.Array(2)
	out.Int(local)
	out.Int(0)
}

// ShutdownMode is how a stop was asked for. A last snapshot is taken when save
// rules are configured, unless NoSave; or with Save. If it fails the stop is
// refused, unless Force. Now is for replicas, which there are none of.
type ShutdownMode struct{ Save, NoSave, Now, Force, Abort bool }

func shutdown(c *Ctx) error {
	var m ShutdownMode
	for _, arg := range c.Args[1:] {
		switch {
		case Is(arg, "save"):
			m.Save = true
		case Is(arg, "nosave"):
			m.NoSave = true
		case Is(arg, "now"):
			m.Now = true
		case Is(arg, "force"):
			m.Force = true
		case Is(arg, "abort"):
			m.Abort = true
		default:
			return ErrSyntax
		}
	}
	if m.Save && m.NoSave || m.Abort && m != (ShutdownMode{Abort: true}) {
		return ErrSyntax
	}
	refused, err := c.Host.Shutdown(m)
	if err != nil {
		return err
	}
	if m.Abort {
		return say(c, "OK")
	}
	c.Block = &Block{Firm: true, Ready: refused, Done: func(out *resp.Writer, _ Wake) {
		out.Error("ERR Errors trying to SHUTDOWN. Check logs.")
	}}
	return nil
}

const debugRefused = Error("ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", " +
	"you can run it from a local connection, otherwise you need to set this option in the configuration file, " +
	"and then restart the server.")

// maxSleepMilli keeps DEBUG SLEEP's argument within what a timer takes.
const maxSleepMilli = 1 << 40

// debug knows SLEEP and HELP alone. It is no container in Redis either: the
// gate comes before the subcommand is looked at.
func debug(c *Ctx) error {
	if !c.Host.DebugEnabled(c.Sess) {
		return debugRefused
	}
	switch name := c.Args[1]; {
	case Is(name, "sleep") && len(c.Args) == 3:
		seconds, _ := ParseFloat(c.Args[2]) // what is no number sleeps 0, as in Redis
		c.Host.SleepMilli(int64(min(max(seconds*1000, 0), maxSleepMilli)))
		return say(c, "OK")
	case Is(name, "help") && len(c.Args) == 2:
		return Help(c, "SLEEP <seconds>", "    Stop the server for <seconds>. Decimals allowed.")
	default:
		return Error("ERR unknown subcommand or wrong number of arguments for '" + echo(name, echoBytes) +
			"'. Try DEBUG HELP.")
	}
}

// lolwutArt is the name in letters of itself: hapax, said once.
const lolwutArt = `
   h
   h h h     a a a    p p p     a a a    x     x
   h     h         a  p     p         a    x x
   h     h   a a a a  p p p     a a a a    x x
   h     h   a a a a  p         a a a a  x     x
                      p
          ...said once, kept once, answered as often as you ask.

`

func lolwut(c *Ctx) error {
	if len(c.Args) >= 3 && Is(c.Args[1], "version") {
		if _, err := IntArg(c.Args[2]); err != nil {
			return err
		}
	}
	var b strings.Builder
	b.WriteString(lolwutArt)
	b.WriteString("Hapax ver. " + c.Host.Stats().Version + "\n")
	c.Out.Verbatim("txt", b.String())
	return nil
}
