package command

// The keys family: what can be done to a key whatever its type. A write of
// more than one record is one unit of recovery (Tx.Atomic), and every handler
// has checked its arguments before its first write.
//
// Grouped are the commands of one known set of keys that an application puts
// on its hot path. They were reviewed: none blocks, each validates before it
// writes so that nothing is rolled back after a write, and each reply is an
// integer or a word written in the order of its request, which the barrier
// then holds with the rest of the connection's buffer. DEL of many keys does
// work proportional to what was sent. RENAME, COPY and MOVE are rare and may
// copy large values; what walks or locks the whole keyspace is not for a
// group at all.

// Key specifications that several rows share, with COMMAND INFO's flags.
var (
	oneKeyRead    = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RO"}}
	oneKeyAccess  = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RO access"}}
	oneKeyUpdate  = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW update"}}
	manyKeysRead  = []KeySpec{{Begin: 1, Last: -1, Step: 1, Flags: "RO"}}
	manyKeysDrop  = []KeySpec{{Begin: 1, Last: -1, Step: 1, Flags: "RM delete"}}
	objectKeyRead = []KeySpec{{Begin: 2, Last: 2, Step: 1, Flags: "RO"}}
	renameKeys    = []KeySpec{
		{Begin: 1, Last: 1, Step: 1, Flags: "RW access delete"},
		{Begin: 2, Last: 2, Step: 1, Flags: "OW update"},
	}
	renameNXKeys = []KeySpec{
		{Begin: 1, Last: 1, Step: 1, Flags: "RW access delete"},
		{Begin: 2, Last: 2, Step: 1, Flags: "OW insert"},
	}
	copyKeys = []KeySpec{
		{Begin: 1, Last: 1, Step: 1, Flags: "RO access"},
		{Begin: 2, Last: 2, Step: 1, Flags: "OW update"},
	}
	moveKey = []KeySpec{{Begin: 1, Last: 1, Step: 1, Flags: "RW access update"}}
)

// keysFamily is the table's part for keys.
var keysFamily = []Command{
	{
		Name: "del", Arity: -2, Flags: Write, Cats: "keyspace", Keys: manyKeysDrop,
		Group: Grouped, Run: del,
		Tips:    "request_policy:multi_shard response_policy:agg_sum",
		Summary: "Deletes keys.", Since: "1.0.0", Complexity: "O(N) for N keys",
		DocGroup: "generic", Syntax: "key [key ...]",
	},
	{
		Name: "unlink", Arity: -2, Flags: Write | Fast, Cats: "keyspace", Keys: manyKeysDrop,
		Group: Grouped, Run: del,
		Tips:    "request_policy:multi_shard response_policy:agg_sum",
		Summary: "Deletes keys; in Hapax the same as DEL.", Since: "4.0.0", Complexity: "O(N) for N keys",
		DocGroup: "generic", Syntax: "key [key ...]",
	},
	{
		Name: "exists", Arity: -2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: manyKeysRead,
		Group: Grouped, Run: exists,
		Tips:    "request_policy:multi_shard response_policy:agg_sum",
		Summary: "Counts which of the keys exist; a key named twice counts twice.", Since: "1.0.0",
		Complexity: "O(N) for N keys", DocGroup: "generic", Syntax: "key [key ...]",
	},
	{
		Name: "touch", Arity: -2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: manyKeysRead,
		Group: Grouped, Run: touch,
		Tips:    "request_policy:multi_shard response_policy:agg_sum",
		Summary: "Counts which of the keys exist and marks them as just used.", Since: "3.2.1",
		Complexity: "O(N) for N keys", DocGroup: "generic", Syntax: "key [key ...]",
	},
	{
		Name: "type", Arity: 2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: oneKeyRead,
		Group: Grouped, Run: typeOf,
		Summary: "Tells the type of a key's value.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "keys", Arity: 2, Flags: ReadOnly, Cats: "keyspace dangerous", Lock: LockEvery, Run: keys,
		Tips:    "request_policy:all_shards nondeterministic_output_order",
		Summary: "Lists every key that matches a pattern.", Since: "1.0.0",
		Complexity: "O(N) for N keys in the database", DocGroup: "generic", Syntax: "pattern",
	},
	{
		Name: "scan", Arity: -2, Flags: ReadOnly, Cats: "keyspace", Lock: LockNone, Run: scan,
		Tips:    "nondeterministic_output request_policy:special",
		Summary: "Lists the keys a step at a time.", Since: "2.8.0",
		Complexity: "O(COUNT) a call, O(N) for a whole scan of N keys", DocGroup: "generic",
		Syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type]",
	},
	{
		Name: "randomkey", Arity: 1, Flags: ReadOnly, Cats: "keyspace", Lock: LockEvery, Run: randomKey,
		Tips:    "request_policy:all_shards nondeterministic_output",
		Summary: "Picks a key at random.", Since: "1.0.0", Complexity: "O(1)", DocGroup: "generic",
	},
	{
		Name: "rename", Arity: 3, Flags: Write, Cats: "keyspace", Keys: renameKeys, Run: rename,
		Summary: "Renames a key, replacing what the new name held.", Since: "1.0.0",
		Complexity: "O(N) for a value of N bytes", DocGroup: "generic", Syntax: "key newkey",
	},
	{
		Name: "renamenx", Arity: 3, Flags: Write | Fast, Cats: "keyspace", Keys: renameNXKeys, Run: renameNX,
		Summary: "Renames a key unless the new name exists.", Since: "1.0.0",
		Complexity: "O(N) for a value of N bytes", DocGroup: "generic", Syntax: "key newkey",
	},
	{
		Name: "copy", Arity: -3, Flags: Write | DenyOOM, Cats: "keyspace", Keys: copyKeys, Run: copyKey,
		Summary: "Copies a value with its deadline to another key.", Since: "6.2.0",
		Complexity: "O(N) for a value of N bytes", DocGroup: "generic",
		Syntax: "source destination [DB destination-db] [REPLACE]",
	},
	{
		Name: "move", Arity: 3, Flags: Write | Fast, Cats: "keyspace", Keys: moveKey, Run: move,
		Summary: "Moves a key to another database.", Since: "1.0.0",
		Complexity: "O(N) for a value of N bytes", DocGroup: "generic", Syntax: "key db",
	},
	{
		Name: "expire", Arity: -3, Flags: Write | Fast, Cats: "keyspace", Keys: oneKeyUpdate,
		Group: Grouped, Run: expire,
		Summary: "Sets a key's time to live in seconds.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key seconds [NX | XX | GT | LT]",
	},
	{
		Name: "pexpire", Arity: -3, Flags: Write | Fast, Cats: "keyspace", Keys: oneKeyUpdate,
		Group: Grouped, Run: pexpire,
		Summary: "Sets a key's time to live in milliseconds.", Since: "2.6.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key milliseconds [NX | XX | GT | LT]",
	},
	{
		Name: "expireat", Arity: -3, Flags: Write | Fast, Cats: "keyspace", Keys: oneKeyUpdate,
		Group: Grouped, Run: expireAt,
		Summary: "Sets the Unix time, in seconds, at which a key expires.", Since: "1.2.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key unix-time-seconds [NX | XX | GT | LT]",
	},
	{
		Name: "pexpireat", Arity: -3, Flags: Write | Fast, Cats: "keyspace", Keys: oneKeyUpdate,
		Group: Grouped, Run: pexpireAt,
		Summary: "Sets the Unix time, in milliseconds, at which a key expires.", Since: "2.6.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key unix-time-milliseconds [NX | XX | GT | LT]",
	},
	{
		Name: "ttl", Arity: 2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: oneKeyAccess,
		Group: Grouped, Run: ttl,
		Tips:    "nondeterministic_output",
		Summary: "Tells a key's time to live in seconds.", Since: "1.0.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "pttl", Arity: 2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: oneKeyAccess,
		Group: Grouped, Run: pttl,
		Tips:    "nondeterministic_output",
		Summary: "Tells a key's time to live in milliseconds.", Since: "2.6.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "expiretime", Arity: 2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: oneKeyAccess,
		Group: Grouped, Run: expireTime,
		Summary: "Tells the Unix time, in seconds, at which a key expires.", Since: "7.0.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "pexpiretime", Arity: 2, Flags: ReadOnly | Fast, Cats: "keyspace", Keys: oneKeyAccess,
		Group: Grouped, Run: pexpireTime,
		Summary: "Tells the Unix time, in milliseconds, at which a key expires.", Since: "7.0.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "persist", Arity: 2, Flags: Write | Fast, Cats: "keyspace", Keys: oneKeyUpdate,
		Group: Grouped, Run: persist,
		Summary: "Takes a key's deadline away.", Since: "2.2.0", Complexity: "O(1)",
		DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "object", Arity: -2, Sub: objectFamily,
		Summary: "Looks at how keys are kept.", Since: "2.2.3",
		Complexity: "Depends on the subcommand.", DocGroup: "generic",
	},
	{
		Name: "dbsize", Arity: 1, Flags: ReadOnly | Fast, Cats: "keyspace", Lock: LockEvery, Run: dbSize,
		Tips:    "request_policy:all_shards response_policy:agg_sum",
		Summary: "Counts the keys of the selected database.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "flushdb", Arity: -1, Flags: Write, Cats: "keyspace dangerous", Lock: LockEvery, Run: flushDB,
		Tips:    "request_policy:all_shards response_policy:all_succeeded",
		Summary: "Removes every key of the selected database.", Since: "1.0.0",
		Complexity: "O(N) for N keys", DocGroup: "server", Syntax: "[ASYNC | SYNC]",
	},
	{
		Name: "flushall", Arity: -1, Flags: Write, Cats: "keyspace dangerous", Lock: LockEvery, Run: flushAll,
		Tips:    "request_policy:all_shards response_policy:all_succeeded",
		Summary: "Removes every key of every database.", Since: "1.0.0",
		Complexity: "O(N) for N keys", DocGroup: "server", Syntax: "[ASYNC | SYNC]",
	},
	{
		Name: "swapdb", Arity: 3, Flags: Write | Fast, Cats: "keyspace dangerous", Lock: LockEvery, Run: swapDB,
		Summary: "Exchanges two databases.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server", Syntax: "index1 index2",
	},
}

// objectFamily is the subcommands of OBJECT.
var objectFamily = []Command{
	{
		Name: "encoding", Arity: 3, Flags: ReadOnly, Cats: "keyspace", Keys: objectKeyRead, Run: objectEncoding,
		Tips:    "nondeterministic_output",
		Summary: "Tells the representation Redis would have for a value.", Since: "2.2.3",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "freq", Arity: 3, Flags: ReadOnly, Cats: "keyspace", Keys: objectKeyRead, Run: objectFreq,
		Tips:    "nondeterministic_output",
		Summary: "Tells a key's logarithmic access counter.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "help", Arity: 2, Flags: Loading | Stale, Cats: "keyspace", Run: objectHelp,
		Summary: "Describes the subcommands.", Since: "6.2.0", Complexity: "O(1)", DocGroup: "generic",
	},
	{
		Name: "idletime", Arity: 3, Flags: ReadOnly, Cats: "keyspace", Keys: objectKeyRead, Run: objectIdleTime,
		Tips:    "nondeterministic_output",
		Summary: "Tells for how many seconds a key was not used.", Since: "2.2.3",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "key",
	},
	{
		Name: "refcount", Arity: 3, Flags: ReadOnly, Cats: "keyspace", Keys: objectKeyRead, Run: objectRefCount,
		Tips:    "nondeterministic_output",
		Summary: "Tells how many references Redis would have to a value.", Since: "2.2.3",
		Complexity: "O(1)", DocGroup: "generic", Syntax: "key",
	},
}
