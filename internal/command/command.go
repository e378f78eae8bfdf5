// Package command is the command table: one family file per kind, one row and
// one function per command. It knows no sockets.
package command

import (
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
)

// Flag is a command flag as COMMAND INFO shows it.
type Flag uint32

const (
	Write Flag = 1 << iota
	ReadOnly
	DenyOOM
	Admin
	PubSub
	NoScript
	Blocking
	Loading
	Stale
	SkipMonitor
	SkipSlowlog
	Asking
	Fast
	NoAuth
	MayReplicate
	NoMandatoryKeys
	NoAsyncLoading
	NoMulti
	AllowBusy
	MovableKeys
)

// Group is a command's group-commit eligibility. The zero value is "not".
type Group uint8

const (
	// NotGrouped: runs only when all that came before on its connection is
	// durable and flushed.
	NotGrouped Group = iota
	// Grouped: may run while earlier replies of its connection still wait.
	// Every use was reviewed for blocking, rollback and reply order.
	Grouped
)

// Lock says what Tx lock the dispatcher takes before the handler runs.
type Lock uint8

const (
	LockByKeys Lock = iota // shards of Ctx.Keys; none when there are no keys
	LockEvery              // all shards: FLUSHDB, DBSIZE, RANDOMKEY ...
	LockNone               // the handler's Tx calls lock by themselves: SCAN, KEYS
)

// KeySpec is a range key specification: first key at argument Begin, then every
// Step-th up to Last (negative counts from the end, -1 is the last argument).
type KeySpec struct {
	Begin, Last, Step int
	Flags             string // COMMAND INFO's key-spec flags, e.g. "RW access update"
}

// Command is one row of the table. Subcommands have rows of their own in Sub.
type Command struct {
	Name  string // lower case
	Arity int    // as Redis: negative is "at least"; counts the name (and the subcommand's)
	Flags Flag
	Cats  string // ACL categories without the implied ones, e.g. "string fast"
	Keys  []KeySpec
	Group Group
	Lock  Lock
	Run   func(c *Ctx) error

	// OwnAdmission: whether there is memory and disk for a write only matters
	// to some outcomes of this DenyOOM command; its handler looks at
	// Ctx.Refused before the first write, and the others go through.
	OwnAdmission bool

	// ProbesWrites: while the server refuses writes for a snapshot that failed,
	// it refuses this too, so that a health check notices. PING, as in Redis.
	ProbesWrites bool

	Sub []Command

	// Tips is what COMMAND INFO tells clients and proxies, space separated:
	// "nondeterministic_output request_policy:all_shards".
	Tips string

	// Documentation, for COMMAND DOCS.
	Summary, Since, Complexity, DocGroup string
	Syntax                               string // arguments as `COMMAND DOCS` would nest them, in the form of redis.io: "key value [NX | XX] [GET] [EX seconds | PX milliseconds]"
	DeprecatedSince, ReplacedBy          string // of a deprecated command only
	System                               bool   // internal, not for applications

	full string // "client|list"; set when the table is built
	id   int    // index of its counters (commandstats)
}

// Error is an error reply, code word first. A handler that returns one has
// written nothing to the log; whatever it wrote to Out is rolled back.
type Error string

func (e Error) Error() string { return string(e) }

// Errors shared by families; texts are Redis's.
var (
	ErrSyntax     error = Error("ERR syntax error")
	ErrWrongType  error = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	ErrNotInteger error = Error("ERR value is not an integer or out of range")
	ErrNotFloat   error = Error("ERR value is not a valid float")
	ErrNoSuchKey  error = Error("ERR no such key")
	ErrOOM        error = Error("OOM command not allowed when used memory > 'maxmemory'.")
)

// Ctx is what a handler sees. It lives in its loop and is reused.
type Ctx struct {
	Args [][]byte    // Args[0] is the command's name as sent
	Keys []shard.Key // extracted by the command's KeySpecs (I11), in order; use these, not Args, to reach the store
	Near bool        // what their lookups need has been fetched into the processor's caches
	Out  *resp.Writer
	Tx   *shard.Tx // begun and locked by the dispatcher as Command.Lock says
	Sess *Session
	Host Host
	Cmd  *Command // the row that runs (of a subcommand, its own)

	NowMilli int64  // T of this round; it stands still while the log cannot note it
	Block    *Block // set by a handler to suspend the connection
	Scratch  []byte // reusable buffer, for building values without allocating
	Count    *Counters

	Refused error // why this write is to be refused, nil if it isn't; for rows with OwnAdmission

	MaxBulkBytes int64 // proto-max-bulk-len, which bounds every string a command builds; 0 is the default
}
