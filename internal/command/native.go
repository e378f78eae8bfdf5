package command

// The native family: Hapax's own commands. Each keeps what it knows in one
// packed string record under its key, with a deadline in the same log record
// (I3), and decides from that record, T and its arguments alone. A value that
// is no such record, or that lost its deadline, is an error that changes
// nothing: it may be the trace of work that was done.
//
// All are Grouped. They were reviewed: none blocks or changes its session; at
// most one write, the last step; one reply in the order of the request, which
// waits for what was observed also when nothing was written (I5).

var recordKey = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW access update"}}

// nativeFamily is the table's part for Hapax's own commands.
var nativeFamily = []Command{
	{
		Name: "idem", Arity: 6, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: recordKey,
		Group: Grouped, OwnAdmission: true, Run: idemCommand,
		Summary: "Admits an operation once and replays its result.", Since: "0.1.0",
		Complexity: "O(N) for tokens and a result of N bytes", DocGroup: "hapax",
		Syntax: "key <BEGIN fingerprint owner ttl-ms | COMPLETE fingerprint owner result>",
	},
	{
		Name: "once", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: recordKey,
		Group: Grouped, OwnAdmission: true, Run: once,
		Summary: "Tells the first caller within a time from all others.", Since: "0.1.0",
		Complexity: "O(1)", DocGroup: "hapax", Syntax: "key ttl-ms",
	},
	{
		Name: "limit", Arity: -4, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: recordKey,
		Group: Grouped, OwnAdmission: true, Run: limit,
		Summary: "Spends from a rate limit, if enough of it is left.", Since: "0.1.0",
		Complexity: "O(1)", DocGroup: "hapax", Syntax: "key limit window-ms [cost]",
	},
}

// maxNativeTTLMilli bounds ONCE's mark and LIMIT's window: 366 days.
const maxNativeTTLMilli = 366 * 24 * 3600 * 1000
