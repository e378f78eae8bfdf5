package server

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// stats fills what INFO prints. It blocks nobody: every number is an atomic,
// or copied under a lock that is held for a moment.
func (s *Server) stats(ex *executor) *command.Stats {
	st := &command.Stats{}
	s.statsServer(st, ex)
	s.statsClients(st, ex)
	s.statsMemory(st, ex)
	s.statsLog(st, ex)
	s.statsCounters(st)
	for db := range s.eng.Store.Databases() {
		if d := s.eng.Store.DBStats(db); d.Keys > 0 {
			st.Keyspace = append(st.Keyspace, command.KeyspaceStat{DB: db, Keys: d.Keys, Expires: d.Expires, AvgTTLMilli: d.AvgTTLMilli})
		}
	}
	return st
}

func (s *Server) statsServer(st *command.Stats, ex *executor) {
	st.Version, st.ConfigFile, st.RunID = s.opts.Version, s.opts.ConfigFile, s.runID
	st.GitSHA, st.BuildID = buildInfo()
	st.OS, st.Arch, st.GoVersion = runtime.GOOS, runtime.GOARCH, runtime.Version()
	st.PID, st.TCPPort = os.Getpid(), s.tcpPort()
	st.Executable, _ = os.Executable()
	st.IOLoops, st.Hz = s.opts.IOLoops, ex.tun.Hz
	st.Databases, st.Shards = s.eng.Store.Databases(), s.eng.Store.Shards()
	st.StartMilli, st.UptimeSec = s.startMilli, max(ex.nowMilli-s.startMilli, 0)/1000
	st.ServerTimeMicro, st.T = ex.nowMilli*1000, ex.nowMilli
	st.ClockOffsetMilli = s.eng.Clock.OffsetMilli()
	st.Backend = "memory"
	if b := s.backend.Load(); b != nil {
		st.Backend, st.URing = (*b).name(), s.batched.Load()
		st.SyncPlace, st.ParkedClients = (*b).syncPlace(), (*b).parked()
	}
	st.Loading = s.eng.Loading()
	st.LoadDone, st.LoadTotal = s.eng.Progress()
	st.LoadStartMilli = s.startMilli
	st.CPUUserMicro, st.CPUSysMicro = cpuMicro()
}

// buildInfo is the revision the binary was built from, as far as it knows.
func buildInfo() (revision, build string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	for _, kv := range info.Settings {
		if kv.Key == "vcs.revision" {
			revision = kv.Value
		}
	}
	return revision, info.Main.Version
}

func (s *Server) statsClients(st *command.Stats, ex *executor) {
	st.MaxClients = int64(ex.tun.MaxClients)
	st.BlockedClients = s.clients.waiting.Load()
	all := s.clients.all()
	st.Clients = int64(len(all))
	for _, c := range all {
		c.mu.Lock()
		p := c.shown
		c.mu.Unlock()
		st.MaxInput = max(st.MaxInput, int64(p.input))
		st.MaxOutput = max(st.MaxOutput, int64(p.outputLen))
		st.ClientsNormal += int64(sessionBytes + p.input + p.inputFree + p.outputCap)
	}
}

// What the Go runtime says of itself: what live and not yet collected objects
// take, and what collecting them has cost. The latter is brought up to date at
// the end of a cycle.
const (
	heapMetric     = "/memory/classes/heap/objects:bytes"
	gcCyclesMetric = "/gc/cycles/total:gc-cycles"
	gcCPUMetric    = "/cpu/classes/gc/total:cpu-seconds"
)

func (s *Server) statsMemory(st *command.Stats, ex *executor) {
	m := s.eng.Store.Memory()
	sample := []metrics.Sample{{Name: heapMetric}, {Name: gcCyclesMetric}, {Name: gcCPUMetric}}
	metrics.Read(sample)
	st.GoHeap, st.GCCycles = int64(sample[0].Value.Uint64()), int64(sample[1].Value.Uint64())
	st.GCMicro = int64(sample[2].Value.Float64() * 1e6)
	st.UsedMemory, st.UsedPeak = m.UsedBytes, m.PeakBytes
	st.EntryBytes, st.IndexBytes, st.MappedBytes = m.EntryBytes, m.IndexBytes, m.MappedBytes
	lent := s.eng.Store.Lent()
	st.LentValues, st.LentOrphanBytes = lent.Loans, lent.OrphanBytes
	st.RequestBuffers = s.requests.idle()
	st.Dataset, st.Overhead = m.EntryBytes, m.UsedBytes-m.EntryBytes
	st.RSS, st.TotalSystem = residentBytes(), systemBytes()
	if st.RSS == 0 {
		st.RSS = m.MappedBytes + st.GoHeap
	}
	s.statsCompaction(&st.Compaction)
	st.MaxMemory, st.MaxMemoryPolicy = ex.tun.MaxMemory, policyName(ex.tun.Eviction)
}

// policyName is the value of maxmemory-policy.
func policyName(p shard.EvictionPolicy) string {
	switch p {
	case shard.AllKeysLRU:
		return "allkeys-lru"
	case shard.VolatileLRU:
		return "volatile-lru"
	case shard.AllKeysLFU:
		return "allkeys-lfu"
	case shard.VolatileLFU:
		return "volatile-lfu"
	case shard.AllKeysRandom:
		return "allkeys-random"
	case shard.VolatileRandom:
		return "volatile-random"
	case shard.VolatileTTL:
		return "volatile-ttl"
	}
	return "noeviction"
}

// fsyncName is the value of appendfsync.
func fsyncName(p wal.Policy) string {
	switch p {
	case wal.Always:
		return "always"
	case wal.EverySec:
		return "everysec"
	}
	return "no"
}

func (s *Server) statsLog(st *command.Stats, ex *executor) {
	st.FsyncPolicy = fsyncName(ex.tun.Fsync)
	st.LastLSN, st.DurableLSN, st.SyncedLSN = s.eng.Last(), s.eng.Durable(), s.eng.Synced()
	s.statsSnapshots(st)
	log := s.eng.Log()
	st.AOFEnabled = s.eng.KeepsLog()
	if log == nil {
		return
	}
	l := log.Stats()
	st.LogReserve, st.LogRefuses = log.ReserveBytes(), log.SpaceErr() != nil
	st.LogSize, st.LogBuffer, st.Syncs = l.SizeBytes, l.BufferBytes, l.Syncs
	st.SyncedRecords, st.Frames, st.Segments = l.SyncedRecords, l.Frames, l.Segments
	st.LastSyncMicro, st.SyncLatencyMicro = l.LastSyncMicro, log.SyncLatencyMicro()
	st.LogDirect = log.Direct()
}

func (s *Server) statsCounters(st *command.Stats) {
	t := &s.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := &t.sum
	st.Connections, st.Rejected = sum.connections, sum.rejectedConnections
	st.Commands, st.NetIn, st.NetOut = sum.commands, sum.netIn, sum.netOut
	st.Hits, st.Misses, st.Expired, st.Evicted = sum.hits, sum.misses, sum.expired, sum.evicted
	st.ErrorReplies, st.ProtocolErrors = sum.errorReplies, sum.protocolErrors
	st.OutputLimitCloses, st.QueryLimitCloses = sum.outputLimitCloses, sum.queryLimitCloses
	st.GroupCommits, st.GroupedReplies = sum.groupCommits, sum.groupedReplies
	st.Counters = t.counters
	mean := t.rates.mean()
	st.OpsPerSec = int64(mean.commands)
	st.InKbps, st.OutKbps = mean.in/1024, mean.out/1024

	st.ErrorStats = make(map[string]int64, len(t.errors))
	for code, n := range t.errors {
		st.ErrorStats[code] = n
	}
	addRows(st, t.rows, command.All())
}

// addRows lists the rows that were called or refused, in table order. A
// container has no calls of its own but its subcommands do.
func addRows(st *command.Stats, rows []rowTally, cmds []*command.Command) {
	for _, c := range cmds {
		if r := &rows[c.ID()]; r.calls+r.rejected > 0 {
			st.CommandStats = append(st.CommandStats, command.CommandStat{
				Name: c.FullName(), Calls: r.calls, Micro: r.micro(), Rejected: r.rejected, Failed: r.failed,
			})
		}
		for i := range c.Sub {
			addRows(st, rows, []*command.Command{&c.Sub[i]})
		}
	}
}
