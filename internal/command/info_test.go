package command

import (
	"bufio"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// infoFields are the names of an INFO reply by section, in order.
func infoFields(text string) (sections []string, fields map[string][]string) {
	fields = map[string][]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			sections = append(sections, title)
		} else if name, _, ok := strings.Cut(line, ":"); ok {
			title := sections[len(sections)-1]
			fields[title] = append(fields[title], name)
		}
	}
	return sections, fields
}

func TestInfoSections(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host()
	f := func(want string, args ...string) {
		t.Helper()
		sections, _ := infoFields(h.reply(append([]string{"INFO"}, args...)...).(string))
		require.Equal(t, want, strings.Join(sections, " "))
	}
	const byDefault = "Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace Hapax"
	const everything = "Server Clients Memory Persistence Stats Replication CPU Modules Commandstats Errorstats " +
		"Latencystats Cluster Keyspace Hapax"
	f(byDefault)
	f(byDefault, "default")
	f(everything, "ALL")
	f(everything, "everything")
	f("Server Hapax", "hapax", "SERVER", "server")
	f("", "nosuch")
	f("CPU", "nosuch", "cpu")
	f("Clients Commandstats", "commandstats", "clients")
	f(everything, "default", "commandstats", "latencystats")
	h.proto(3)
	require.IsType(t, verbatim(""), h.reply("INFO"))
}

// The fields of Redis 7.0 that Hapax leaves out, with the reason.
var leftOut = map[string]string{
	"atomicvar_api":             "of the C compiler",
	"gcc_version":               "of the C compiler",
	"used_cpu_sys_main_thread":  "loops are goroutines",
	"used_cpu_user_main_thread": "loops are goroutines",
}

// TestInfoHasRedisFields: clients and exporters find every field of a real
// server, under the same section.
func TestInfoHasRedisFields(t *testing.T) {
	t.Parallel()
	conn := dialRedis(t)
	in := bufio.NewReader(conn)
	askRedis(t, conn, in, "SET", "k", "v", "EX", "100")
	askRedis(t, conn, in, "NOSUCH")
	h := newHarness(t)
	h.host().stats = Stats{
		Keyspace:     []KeyspaceStat{{DB: 0, Keys: 1, Expires: 1, AvgTTLMilli: 1}},
		CommandStats: []CommandStat{{Name: "set", Calls: 1}},
		ErrorStats:   map[string]int64{"ERR": 1},
	}
	_, theirs := infoFields(askRedis(t, conn, in, "INFO", "everything").(string))
	_, ours := infoFields(h.reply("INFO", "everything").(string))
	for section, names := range theirs {
		for _, name := range names {
			if leftOut[name] == "" && section != "Latencystats" {
				require.Contains(t, ours[section], name, section)
			}
		}
	}
}

var infoLine = regexp.MustCompile(`^(# [A-Z][A-Za-z]+|[a-z0-9_|.-]+:.*|cmdstat_[a-z|-]+:.*|errorstat_[A-Z]+:.*)?$`)

func TestInfoIsWellFormed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats = Stats{
		ConfigFile: "/etc/x\r\n# Keyspace\r\ndb0:keys=9", AOFEnabled: true, Loading: true, LoadTotal: 200, LoadDone: 50,
		T: 60_000, LoadStartMilli: 30_000, ErrorStats: map[string]int64{"WRONGTYPE": 2, "ERR": 1}, IOLoops: 4,
	}
	text := h.reply("INFO", "all").(string)
	seen := map[string]bool{}
	for line := range strings.SplitSeq(text, "\r\n") {
		require.Regexp(t, infoLine, line)
		name, _, _ := strings.Cut(line, ":")
		if name == "" || name == "hapax_version" {
			continue // in two sections on purpose
		}
		require.False(t, seen[name], "%s is there twice", name)
		seen[name] = true
	}
	for _, want := range []string{
		"config_file:/etc/x  # Keyspace  db0:keys=9\r\n",
		"io_threads_active:1\r\n",
		"loading:1\r\n", "loading_loaded_perc:25.00\r\n", "loading_eta_seconds:90\r\n",
		"aof_enabled:1\r\n", "aof_current_size:0\r\n",
		"errorstat_ERR:count=1\r\nerrorstat_WRONGTYPE:count=2\r\n",
	} {
		require.Contains(t, text, want)
	}
}

func TestInfoValues(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.host().stats = Stats{
		Version: "0.9", UptimeSec: 200_000, Clients: 3, UsedMemory: 1536, UsedPeak: 3072, RSS: 3 << 30, MaxMemory: 100,
		CPUUserMicro: 1_500_000, CPUSysMicro: 500_000, GCCycles: 4, GCMicro: 50_000, LastLSN: 12, FsyncPolicy: "always", SyncPlace: "loop", Hits: 7, Evicted: 8, Expired: 9,
		CommandStats: []CommandStat{{Name: "set", Calls: 2, Micro: 3, Rejected: 4, Failed: 5}, {Name: "client|list", Calls: 1, Micro: 1}},
		Keyspace:     []KeyspaceStat{{DB: 0, Keys: 2, Expires: 1, AvgTTLMilli: 500}, {DB: 1}, {DB: 15, Keys: 1}},
		Counters:     Counters{IdemAcquired: 1, IdemPending: 2, IdemConflict: 3, IdemCompleted: 4, IdemPublished: 5, IdemRepeated: 6, IdemRefused: 7, IdemErrors: 8, OnceFirst: 9, OnceRepeat: 10, LimitAllowed: 11, LimitDenied: 12},
	}
	text := h.reply("INFO", "all").(string)
	for _, want := range []string{
		"redis_version:" + RedisVersion + "\r\n", "hapax_version:0.9\r\n", "uptime_in_days:2\r\n", "connected_clients:3\r\n",
		"used_memory:1536\r\nused_memory_human:1.50K\r\n", "used_memory_rss_human:3.00G\r\n",
		"used_memory_peak_perc:50.00%\r\n", "maxmemory_human:100B\r\n", "used_cpu_user:1.500000\r\n",
		"go_gc_cycles:4\r\ngo_gc_cpu_usec:50000\r\ngo_gc_cpu_perc:2.50%\r\n",
		"master_repl_offset:12\r\n", "keyspace_hits:7\r\n", "evicted_keys:8\r\n", "expired_keys:9\r\n",
		"cmdstat_client|list:calls=1,usec=1,usec_per_call=1.00,rejected_calls=0,failed_calls=0\r\n" +
			"cmdstat_set:calls=2,usec=3,usec_per_call=1.50,rejected_calls=4,failed_calls=5\r\n",
		"# Keyspace\r\ndb0:keys=2,expires=1,avg_ttl=500\r\ndb15:keys=1,expires=0,avg_ttl=0\r\n\r\n",
		"idem_acquired:1\r\nidem_pending:2\r\nidem_conflict:3\r\nidem_completed:4\r\nidem_published:5\r\n" +
			"idem_repeated:6\r\nidem_refused:7\r\nidem_errors:8\r\nonce_first:9\r\nonce_repeat:10\r\n" +
			"limit_allowed:11\r\nlimit_denied:12\r\n",
	} {
		require.Contains(t, text, want)
	}
}

// A snapshot shows under rdb_ or aof_rewrite_, by whom it runs for.
func TestInfoOfSnapshots(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	host := h.host()
	require.Contains(t, h.reply("INFO", "persistence"), "rdb_bgsave_in_progress:0\r\n")
	show := func(change func(s *SnapshotStats)) string {
		host.stats = Stats{AOFEnabled: true, LogRefuses: true, LogReserve: 77}
		s := &host.stats.Snapshot
		*s = SnapshotStats{
			SnapshotView: SnapshotView{Started: 7, LastSaveMilli: 1_500_000_123_999, RewriteScheduled: true},
			LastOK:       true, Rewrites: 3, LastTookMilli: 4_999, RunningMilli: 2_500,
			KeysDone: 25, KeysTotal: 100, Changes: 9, LastBytes: 1000, LastKeys: 11, LogBytes: 234, MaxPauseMicro: 88, LoadedKeys: 12,
		}
		change(s)
		return h.reply("INFO", "persistence", "hapax").(string)
	}
	f := func(text string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			require.Contains(t, text, line+"\r\n")
		}
	}
	f(show(func(s *SnapshotStats) { s.Running = CauseSave }),
		"rdb_bgsave_in_progress:1", "aof_rewrite_in_progress:0", "rdb_current_bgsave_time_sec:2", "aof_current_rewrite_time_sec:-1",
		"current_fork_perc:25.00", "current_save_keys_processed:25", "current_save_keys_total:100")
	f(show(func(s *SnapshotStats) { s.Running, s.RewriteScheduled = CauseBgSave, false }),
		"rdb_bgsave_in_progress:1", "aof_rewrite_scheduled:0")
	f(show(func(s *SnapshotStats) { s.Running = CauseRewrite }),
		"rdb_bgsave_in_progress:0", "aof_rewrite_in_progress:1", "rdb_current_bgsave_time_sec:-1", "aof_current_rewrite_time_sec:2",
		"aof_rewrite_scheduled:1")
	f(show(func(s *SnapshotStats) {}),
		"rdb_changes_since_last_save:9", "rdb_last_save_time:1500000123", "rdb_last_bgsave_status:ok", "rdb_last_bgsave_time_sec:4",
		"rdb_saves:4", "aof_rewrites:3", "rdb_last_load_keys_loaded:12", "aof_last_rewrite_time_sec:4", "aof_last_bgrewrite_status:ok",
		"aof_current_size:1234", "aof_base_size:1000", "aof_last_write_status:err",
		"snapshots_started:7", "snapshot_last_bytes:1000", "snapshot_last_keys:11", "snapshot_last_msec:4999",
		"snapshot_max_pause_usec:88", "log_bytes_since_snapshot:234", "log_reserve_bytes:77")
	f(show(func(s *SnapshotStats) { s.LastOK, s.Failures, s.LastTookMilli = false, 2, -1 }),
		"rdb_last_bgsave_status:err", "aof_last_bgrewrite_status:err", "aof_rewrites_consecutive_failures:2", "rdb_last_bgsave_time_sec:-1")
}

func TestHumanBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0B", 1023: "1023B", 1024: "1.00K", 1536: "1.50K", 1 << 20: "1.00M", 5 << 30: "5.00G", 1 << 62: "4.00E",
	} {
		require.Equal(t, want, humanBytes(n))
	}
}

func TestCountersAdd(t *testing.T) {
	t.Parallel()
	one := Counters{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	sum := one
	sum.Add(&one)
	require.Equal(t, Counters{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}, sum)
}
