package command

import "strconv"

// MEMORY: what a key takes, and where the server's memory is.

var memorySubcommands = []Command{
	{
		Name: "usage", Arity: -3, Flags: ReadOnly, Keys: []KeySpec{{Begin: 2, Last: 2, Step: 1, Flags: "RO"}}, Run: memoryUsage,
		Summary: "Tells the bytes that a key and its value take, its share of the index included.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server", Syntax: "key [SAMPLES count]",
	},
	{
		Name: "stats", Arity: 2, Run: memoryStats,
		Tips:    "nondeterministic_output request_policy:all_shards response_policy:special",
		Summary: "Tells where the server's memory is.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "doctor", Arity: 2, Run: memoryDoctor,
		Tips:    "nondeterministic_output request_policy:all_shards response_policy:special",
		Summary: "Says in words whether memory use looks healthy.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "purge", Arity: 2, Run: memoryPurge,
		Tips:    "request_policy:all_shards response_policy:all_succeeded",
		Summary: "Has memory that is free given back to the system.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "help", Arity: 2, Flags: ofServer, Run: memoryHelp,
		Summary: "Lists MEMORY's subcommands.", Since: "4.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
}

// memoryUsage knows sizes exactly, so SAMPLES is checked and then of no use.
func memoryUsage(c *Ctx) error {
	for i := 3; i < len(c.Args); i += 2 {
		if !Is(c.Args[i], "samples") || i+1 == len(c.Args) {
			return ErrSyntax
		}
		samples, err := IntArg(c.Args[i+1])
		if err != nil {
			return err
		}
		if samples < 0 {
			return ErrSyntax
		}
	}
	access, ok := c.Tx.Access(&c.Keys[0])
	if !ok {
		c.Out.Null()
		return nil
	}
	c.Out.Int(access.SizeBytes)
	return nil
}

// memoryStats uses Redis's names; what Hapax has no counterpart for is 0.
func memoryStats(c *Ctx) error {
	s := c.Host.Stats()
	keys := int64(0)
	for _, db := range s.Keyspace {
		keys += db.Keys
	}
	ints := []struct {
		name string
		n    int64
	}{
		{"peak.allocated", s.UsedPeak},
		{"total.allocated", s.UsedMemory},
		{"startup.allocated", 0},
		{"replication.backlog", 0},
		{"clients.slaves", 0},
		{"clients.normal", s.ClientsNormal},
		{"cluster.links", 0},
		{"aof.buffer", s.LogBuffer},
		{"lua.caches", 0},
		{"functions.caches", 0},
		{"overhead.total", s.Overhead},
		{"keys.count", keys},
		{"keys.bytes-per-key", per(s.UsedMemory, keys)},
		{"dataset.bytes", s.Dataset},
		{"allocator.allocated", s.UsedMemory},
		{"allocator.active", s.MappedBytes},
		{"allocator.resident", s.RSS},
		{"allocator-fragmentation.bytes", s.MappedBytes - s.UsedMemory},
		{"allocator-rss.bytes", s.RSS - s.MappedBytes},
		{"rss-overhead.bytes", 0},
		{"fragmentation.bytes", s.RSS - s.UsedMemory},
	}
	doubles := []struct {
		name string
		f    float64
	}{
		{"dataset.percentage", 100 * ratio(s.Dataset, s.UsedMemory)},
		{"peak.percentage", 100 * ratio(s.UsedMemory, s.UsedPeak)},
		{"allocator-fragmentation.ratio", ratio(s.MappedBytes, s.UsedMemory)},
		{"allocator-rss.ratio", ratio(s.RSS, s.MappedBytes)},
		{"rss-overhead.ratio", 1},
		{"fragmentation", ratio(s.RSS, s.UsedMemory)},
	}
	c.Out.Map(len(ints) + len(doubles) + len(s.Keyspace))
	for _, v := range ints {
		c.Out.BulkString(v.name)
		c.Out.Int(v.n)
	}
	for _, v := range doubles {
		c.Out.BulkString(v.name)
		c.Out.Double(v.f)
	}
	for _, db := range s.Keyspace {
		memoryOfDB(c, &db, per(s.IndexBytes, keys))
	}
	return nil
}

// memoryOfDB shares the index out by keys. A deadline is part of its key's
// entry: there is no table of deadlines whose size could be told.
func memoryOfDB(c *Ctx, db *KeyspaceStat, indexBytesPerKey int64) {
	c.Out.BulkString("db." + strconv.Itoa(db.DB))
	c.Out.Map(2)
	c.Out.BulkString("overhead.hashtable.main")
	c.Out.Int(db.Keys * indexBytesPerKey)
	c.Out.BulkString("overhead.hashtable.expires")
	c.Out.Int(0)
}

// per is n/d, 0 when d is.
func per(n, d int64) int64 {
	if d == 0 {
		return 0
	}
	return n / d
}

// ratio is n/d as a fraction, 0 when d is 0.
func ratio(n, d int64) float64 {
	if d == 0 {
		return 0
	}
	return float64(n) / float64(d)
}

// What the doctor looks at. Below doctorMinBytes ratios say nothing.
const (
	doctorMinBytes        = 5 << 20
	doctorPeakRatio       = 1.5
	doctorFragmentedRatio = 1.4
)

func memoryDoctor(c *Ctx) error {
	c.Out.Verbatim("txt", diagnose(c.Host.Stats()))
	return nil
}

func diagnose(s *Stats) string {
	if s.UsedMemory < doctorMinBytes {
		return "Too little data to judge: ratios mean something from " + humanBytes(doctorMinBytes) + " on.\n"
	}
	text := ""
	if ratio(s.UsedPeak, s.UsedMemory) > doctorPeakRatio {
		text += " * Peak: memory use was " + humanBytes(s.UsedPeak) + " once and is " + humanBytes(s.UsedMemory) +
			" now. What was given up returns to the system in small steps.\n"
	}
	if ratio(s.MappedBytes, s.UsedMemory) > doctorFragmentedRatio {
		text += " * Fragmentation: " + humanBytes(s.MappedBytes) + " are taken from the system for " +
			humanBytes(s.UsedMemory) + " of live data. Compaction closes the gaps between small values while the server works; what is free between large ones is used by the next.\n"
	}
	if s.MaxMemory > 0 && s.UsedMemory > s.MaxMemory {
		text += " * Limit: memory use is above maxmemory (" + humanBytes(s.MaxMemory) + ").\n"
	}
	if text == "" {
		return "Memory use looks healthy.\n"
	}
	return "There is something to look at:\n" + text
}

// memoryPurge answers at once: giving back gigabytes takes a while, and nobody
// shall wait for it.
func memoryPurge(c *Ctx) error {
	c.Host.PurgeMemory()
	c.Out.Simple("OK")
	return nil
}

func memoryHelp(c *Ctx) error {
	return Help(c,
		"DOCTOR",
		"    Return memory problems reports.",
		"PURGE",
		"    Compact memory and give back what is free, in the background.",
		"STATS",
		"    Return information about the memory usage of the server.",
		"USAGE <key> [SAMPLES <count>]",
		"    Return memory in bytes used by <key> and its value. The figure is exact;",
		"    <count> is accepted for Redis's clients.")
}
