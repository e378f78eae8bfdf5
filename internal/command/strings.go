package command

// The strings family. Every handler checks its arguments and what it found
// before its first write; value and deadline go to the store in one record
// (I3); a write of more than one record is one unit of recovery (Tx.Atomic).
//
// Grouped are the ones that applications put on their hot path. They were
// reviewed: none blocks or changes its session; a write comes last, so that
// nothing is rolled back after one; each gives one reply in the order of its
// request, which waits behind the barrier with the rest of its connection's
// buffer (I5), also when it only read. The others are rare or do much work for
// a short request (a range, a gap of zeros, LCS), and gain nothing in a group.

// Key specifications that several rows share, with COMMAND INFO's flags.
var (
	stringRead    = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RO access"}}
	stringReplace = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "OW update"}}
	stringUpdate  = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW access update"}}
)

// stringsFamily is the table's part for strings.
var stringsFamily = []Command{
	{
		Name: "get", Arity: 2, Flags: ReadOnly | Fast, Cats: "string", Keys: stringRead,
		Group: Grouped, Run: get,
		Summary: "Reads a string.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key",
	},
	{
		Name: "set", Arity: -3, Flags: Write | DenyOOM, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW access update variable_flags"}},
		Group: Grouped, Run: set,
		Summary: "Stores a string, whatever type the key held, on a condition if one is given.",
		Since:   "1.0.0", Complexity: "O(1)", DocGroup: "string",
		Syntax: "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | PX milliseconds | " +
			"EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
	},
	{
		Name: "setnx", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "OW insert"}},
		Group: Grouped, Run: setNX,
		DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `NX` argument",
		Summary: "Stores a string unless the key exists.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key value",
	},
	{
		Name: "setex", Arity: 4, Flags: Write | DenyOOM, Cats: "string", Keys: stringReplace,
		Group: Grouped, Run: setEX,
		DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `EX` argument",
		Summary: "Stores a string that expires, in seconds.", Since: "2.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key seconds value",
	},
	{
		Name: "psetex", Arity: 4, Flags: Write | DenyOOM, Cats: "string", Keys: stringReplace,
		Group: Grouped, Run: pSetEX,
		DeprecatedSince: "2.6.12", ReplacedBy: "`SET` with the `PX` argument",
		Summary: "Stores a string that expires, in milliseconds.", Since: "2.6.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key milliseconds value",
	},
	{
		Name: "getset", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: getSet,
		DeprecatedSince: "6.2.0", ReplacedBy: "`SET` with the `GET` argument",
		Summary: "Stores a string and answers the one it replaced.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key value",
	},
	{
		Name: "getdel", Arity: 2, Flags: Write | Fast, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW access delete"}},
		Group: Grouped, Run: getDel,
		Summary: "Reads a string and deletes its key.", Since: "6.2.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key",
	},
	{
		Name: "getex", Arity: -2, Flags: Write | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: getEX,
		Summary: "Reads a string and changes when it expires.", Since: "6.2.0", Complexity: "O(1)",
		DocGroup: "string",
		Syntax: "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | " +
			"PXAT unix-time-milliseconds | PERSIST]",
	},
	{
		Name: "mget", Arity: -2, Flags: ReadOnly | Fast, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: -1, Step: 1, Flags: "RO access"}},
		Group: Grouped, Run: mGet,
		Tips:    "request_policy:multi_shard",
		Summary: "Reads the strings of several keys at one instant.", Since: "1.0.0",
		Complexity: "O(N) for N keys", DocGroup: "string", Syntax: "key [key ...]",
	},
	{
		Name: "mset", Arity: -3, Flags: Write | DenyOOM, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: -1, Step: 2, Flags: "OW update"}},
		Group: Grouped, Run: mSet,
		Tips:    "request_policy:multi_shard response_policy:all_succeeded",
		Summary: "Stores the strings of several keys at once.", Since: "1.0.1",
		Complexity: "O(N) for N keys", DocGroup: "string", Syntax: "key value [key value ...]",
	},
	{
		Name: "msetnx", Arity: -3, Flags: Write | DenyOOM, Cats: "string",
		Keys: []KeySpec{{Begin: 1, Last: -1, Step: 2, Flags: "OW insert"}}, Run: mSetNX,
		Tips:    "request_policy:multi_shard response_policy:agg_min",
		Summary: "Stores the strings of several keys unless one of the keys exists.", Since: "1.0.1",
		Complexity: "O(N) for N keys", DocGroup: "string", Syntax: "key value [key value ...]",
	},
	{
		Name: "append", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW insert"}},
		Group: Grouped, Run: appendTo,
		Summary: "Puts bytes at the end of a string.", Since: "2.0.0",
		Complexity: "O(N) for a resulting string of N bytes", DocGroup: "string", Syntax: "key value",
	},
	{
		Name: "strlen", Arity: 2, Flags: ReadOnly | Fast, Cats: "string",
		Keys:  []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RO"}},
		Group: Grouped, Run: strLen,
		Summary: "Tells a string's length in bytes.", Since: "2.2.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key",
	},
	{
		Name: "getrange", Arity: 4, Flags: ReadOnly, Cats: "string", Keys: stringRead, Run: getRange,
		Summary: "Reads part of a string.", Since: "2.4.0", Complexity: "O(N) for a part of N bytes",
		DocGroup: "string", Syntax: "key start end",
	},
	{
		Name: "substr", Arity: 4, Flags: ReadOnly, Cats: "string", Keys: stringRead, Run: getRange,
		DeprecatedSince: "2.0.0", ReplacedBy: "`GETRANGE`",
		Summary: "Reads part of a string; GETRANGE's old name.", Since: "1.0.0",
		Complexity: "O(N) for a part of N bytes", DocGroup: "string", Syntax: "key start end",
	},
	{
		Name: "setrange", Arity: 4, Flags: Write | DenyOOM, Cats: "string",
		Keys: []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW update"}}, Run: setRange,
		Summary: "Overwrites part of a string, and fills a gap before it with zero bytes.",
		Since:   "2.2.0", Complexity: "O(N) for a resulting string of N bytes",
		DocGroup: "string", Syntax: "key offset value",
	},
	{
		Name: "incr", Arity: 2, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: incr,
		Summary: "Adds one to an integer.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key",
	},
	{
		Name: "decr", Arity: 2, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: decr,
		Summary: "Takes one from an integer.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key",
	},
	{
		Name: "incrby", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: incrBy,
		Summary: "Adds to an integer.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key increment",
	},
	{
		Name: "decrby", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Group: Grouped, Run: decrBy,
		Summary: "Takes from an integer.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key decrement",
	},
	{
		Name: "incrbyfloat", Arity: 3, Flags: Write | DenyOOM | Fast, Cats: "string", Keys: stringUpdate,
		Run:     incrByFloat,
		Summary: "Adds to a decimal number.", Since: "2.6.0", Complexity: "O(1)",
		DocGroup: "string", Syntax: "key increment",
	},
	{
		Name: "lcs", Arity: -3, Flags: ReadOnly, Cats: "string",
		Keys: []KeySpec{{Begin: 1, Last: 2, Step: 1, Flags: "RO access"}}, Run: lcs,
		Summary: "Finds the longest common subsequence of two strings.", Since: "7.0.0",
		Complexity: "O(N*M/64) for strings of N and M bytes", DocGroup: "string",
		Syntax: "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
	},
}
