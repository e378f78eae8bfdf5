package command

import (
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/wal"
)

// ReplyMode is CLIENT REPLY.
type ReplyMode uint8

const (
	ReplyOn ReplyMode = iota
	ReplyOff
	ReplySkipNext // CLIENT REPLY SKIP was run: the next command's reply is dropped
	ReplySkipping // that next command is running
)

// Session is the state of one connection that commands read and change. Its
// connection's goroutine owns it.
type Session struct {
	ID            int64
	DB            int
	Name          string
	LibName       string
	LibVer        string
	User          string // "default"
	Authenticated bool
	Reply         ReplyMode
	NoEvict       bool
	NoTouch       bool
	CloseAfter    bool    // close once what is in Out is flushed (QUIT, CLIENT KILL of itself)
	LastWrite     wal.LSN // LSN of this connection's last write, for WAIT and WAITAOF
	Proto         int     // 2 or 3; HELLO and RESET set it together with Ctx.Out.Proto
}

// Block suspends a connection until one of its conditions: its LSN is synced
// (LSN > 0), Ready says so, the deadline passed (DeadlineMilli > 0), CLIENT
// UNBLOCK. Then Done writes the reply.
//
// Both functions run after the command that made them, perhaps on another
// goroutine than it did. Of its Ctx they may use Host.Synced and
// Host.SnapshotOver, nothing else.
type Block struct {
	LSN           wal.LSN
	Ready         func() bool // asked whenever something may have changed
	DeadlineMilli int64
	Firm          bool // CLIENT UNBLOCK finds nobody who waits
	Done          func(out *resp.Writer, why Wake)
}

// Wake is why a blocked connection goes on.
type Wake uint8

const (
	WakeReady Wake = iota
	WakeTimeout
	WakeUnblock      // CLIENT UNBLOCK id TIMEOUT
	WakeUnblockError // CLIENT UNBLOCK id ERROR
)

// ClientInfo is one line of CLIENT LIST.
type ClientInfo struct {
	ID                        int64
	Addr, LAddr               string
	FD                        int
	Name                      string
	AgeSec, IdleSec           int64
	Flags                     string // "N", "b", "x", ...
	DB                        int
	QBuf, QBufFree, ArgvMem   int
	OBL, OLL, OMem, TotMem    int
	Cmd                       string // full name, "client|list", "NULL" before the first
	User                      string
	Resp                      int
	LibName, LibVer           string
	NoEvict, NoTouch, Blocked bool
	Type                      string // "normal"
}

// Host is the server as commands see it: everything that isn't the keyspace.
type Host interface {
	// Clients calls f for every connection, in id order.
	Clients(f func(ci *ClientInfo))
	// Client describes the session's own connection.
	Client(s *Session) ClientInfo
	// Kill closes the connections whose id is in ids, self excepted (a
	// handler that kills its own sets Session.CloseAfter), and says how many.
	Kill(ids []int64, self int64) int
	// Unblock wakes a blocked connection; false when it isn't blocked.
	Unblock(id int64, withError bool) bool

	// Databases is the number of databases, for SELECT, MOVE, SWAPDB, COPY.
	Databases() int

	// Authenticate checks a password; requirepass "" accepts none but leaves
	// every session authenticated.
	Authenticate(user, password string) bool
	PasswordSet() bool

	// ConfigGet returns name/value pairs whose names match any glob pattern,
	// each name once. ConfigSet sets all or none; the error is the full reply.
	ConfigGet(patterns []string) [][2]string
	ConfigSet(pairs [][2]string) error
	ConfigRewrite() error
	ResetStats()
	// PurgeMemory has what is free given back to the system, in the background.
	PurgeMemory()

	// Stats fills what INFO, ROLE and MEMORY report.
	Stats() *Stats
	// Shutdown begins an orderly stop. The connection gets no reply unless
	// refused tells that the server goes on, because the last snapshot failed.
	Shutdown(m ShutdownMode) (refused func() bool, err error)
	// Sleep stops the calling loop (DEBUG SLEEP); DebugEnabled gates DEBUG.
	SleepMilli(ms int64)
	DebugEnabled(s *Session) bool
	// UnixMicro is T in microseconds, for TIME.
	UnixMicro() int64
	// Random64 is a pseudo-random number that feeds sampling, never a token.
	Random64() uint64
	// Room says why a write that may be refused cannot append this many bytes
	// more than its arguments have, nil if it can. Before its first write.
	Room(bytes int) error

	// Snapshots tells how things are. StartSnapshot starts one, or returns
	// ErrSnapshotRunning; ScheduleSnapshot has one begin when the present one
	// ended. CancelSnapshot ends the present one, UnscheduleSnapshot takes back
	// what was scheduled for BGSAVE. SnapshotOver says whether a snapshot with
	// that number ended, and why it or a later one failed.
	Snapshots() SnapshotView
	StartSnapshot(cause SnapshotCause) (number int64, err error)
	ScheduleSnapshot(cause SnapshotCause)
	CancelSnapshot()
	UnscheduleSnapshot()
	SnapshotOver(number int64) (over bool, err error)
	// Durable and Synced are the log's.
	Durable() wal.LSN
	Synced() wal.LSN
	// Last is the last LSN appended, for whole-server barriers.
	Last() wal.LSN
}

// CompactionStats is what INFO tells of compaction, under Redis's names.
type CompactionStats struct {
	Share                  int64 // percent of a processor it aims at, 0 when it rests
	Moved, Stayed          int64 // blocks that moved, that should have but could not
	KeysMoved, KeysPassed  int64
	TotalMilli, RoundMilli int64 // in rounds that ended, in the present one
}

// Stats is what INFO prints. The server fills it; info.go alone formats it.
type Stats struct {
	Version, GitSHA, BuildID, OS, Arch, GoVersion, RunID, Executable, ConfigFile string
	PID, TCPPort, IOLoops, Databases, Shards                                     int
	ServerTimeMicro, StartMilli, UptimeSec                                       int64
	Hz                                                                           int
	Backend                                                                      string // "epoll" or "goroutine"
	URing                                                                        bool   // many sockets a system call

	Clients, BlockedClients, MaxClients, MaxInput, MaxOutput int64

	UsedMemory, UsedPeak, RSS, Dataset, Overhead, IndexBytes, EntryBytes, MappedBytes, GoHeap, TotalSystem, ClientsNormal int64
	RequestBuffers                                                                                                        int64 // idle, kept for large requests
	LentValues, LentOrphanBytes                                                                                           int64 // lent to replies; of those, memory of what is gone
	MaxMemory                                                                                                             int64
	Compaction                                                                                                            CompactionStats
	MaxMemoryPolicy                                                                                                       string

	Loading                                                                                     bool
	LoadTotal, LoadDone, LoadStartMilli                                                         int64
	AOFEnabled                                                                                  bool
	Snapshot                                                                                    SnapshotStats
	FsyncPolicy                                                                                 string
	LogReserve                                                                                  int64 // bytes left in the segment in use
	LogRefuses                                                                                  bool  // there is no room for another
	LogSize, LogBuffer, Syncs, SyncLatencyMicro, LastSyncMicro, Segments, Frames, SyncedRecords int64
	LastLSN, DurableLSN, SyncedLSN                                                              wal.LSN
	SyncPlace                                                                                   string // "loop" or "syncer"
	LogDirect                                                                                   bool   // the log is written past the system's memory
	ParkedClients                                                                               int64
	ClockOffsetMilli, T                                                                         int64

	Connections, Commands, NetIn, NetOut, Rejected, Expired, Evicted, Hits, Misses, ErrorReplies, ProtocolErrors, OutputLimitCloses, QueryLimitCloses int64
	OpsPerSec                                                                                                                                         int64
	InKbps, OutKbps                                                                                                                                   float64
	GroupCommits, GroupedReplies                                                                                                                      int64
	GCCycles, GCMicro                                                                                                                                 int64 // of the Go collector, since the start
	CPUSysMicro, CPUUserMicro                                                                                                                         int64
	Counters                                                                                                                                          Counters // of all loops, for the hapax section

	CommandStats []CommandStat
	ErrorStats   map[string]int64
	Keyspace     []KeyspaceStat
}

// SnapshotStats is what INFO tells of snapshots.
type SnapshotStats struct {
	SnapshotView
	LastOK              bool  // the last that ended went well, or there was none
	Rewrites, Failures  int64 // begun for the log's sake; failed since the last good one
	LastTookMilli       int64 // -1 before the first ended
	RunningMilli        int64
	KeysDone, KeysTotal int64 // of the running one
	Changes             int64 // records since the newest one
	LastBytes, LastKeys int64 // of the newest one
	LogBytes            int64 // of the log behind it
	MaxPauseMicro       int64
	LoadedKeys          int64 // that the start took from a snapshot
}

// CommandStat is a line of INFO commandstats.
type CommandStat struct {
	Name                           string
	Calls, Micro, Rejected, Failed int64
}

// KeyspaceStat is a line of INFO keyspace.
type KeyspaceStat struct {
	DB                         int
	Keys, Expires, AvgTTLMilli int64
}
