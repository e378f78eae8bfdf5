package command

import (
	"slices"
	"strconv"
	"strings"
)

func infoServer(w *infoWriter, s *Stats) {
	w.str("redis_version", RedisVersion)
	w.str("redis_git_sha1", orDefault(s.GitSHA, "00000000"))
	w.num("redis_git_dirty", 0)
	w.str("redis_build_id", s.BuildID)
	w.str("redis_mode", "standalone")
	w.str("hapax_version", s.Version)
	w.str("os", s.OS+" "+s.Arch)
	w.num("arch_bits", strconv.IntSize)
	w.str("monotonic_clock", "go runtime")
	w.str("multiplexing_api", s.Backend)
	w.str("go_version", s.GoVersion)
	w.num("process_id", int64(s.PID))
	w.str("process_supervised", "no")
	w.str("run_id", s.RunID)
	w.num("tcp_port", int64(s.TCPPort))
	w.num("server_time_usec", s.ServerTimeMicro)
	w.num("uptime_in_seconds", s.UptimeSec)
	w.num("uptime_in_days", s.UptimeSec/(24*3600))
	w.num("hz", int64(s.Hz))
	w.num("configured_hz", int64(s.Hz))
	w.num("lru_clock", s.ServerTimeMicro/1e6&(1<<24-1))
	w.str("executable", s.Executable)
	w.str("config_file", s.ConfigFile)
	w.flag("io_threads_active", s.IOLoops > 1)
}

func infoClients(w *infoWriter, s *Stats) {
	w.num("connected_clients", s.Clients)
	w.num("cluster_connections", 0)
	w.num("maxclients", s.MaxClients)
	w.num("client_recent_max_input_buffer", s.MaxInput)
	w.num("client_recent_max_output_buffer", s.MaxOutput)
	w.num("blocked_clients", s.BlockedClients)
	w.zeros("tracking_clients", "clients_in_timeout_table", "total_blocking_keys", "total_blocking_keys_on_nokey")
}

// infoMemory's used_memory is what maxmemory limits: entries, index and
// directories. What the Go runtime and connections take is in used_memory_rss.
func infoMemory(w *infoWriter, s *Stats) {
	w.bytes("used_memory", s.UsedMemory)
	w.bytes("used_memory_rss", s.RSS)
	w.bytes("used_memory_peak", s.UsedPeak)
	w.percent("used_memory_peak_perc", s.UsedMemory, s.UsedPeak)
	w.num("used_memory_overhead", s.Overhead)
	w.num("used_memory_startup", 0)
	w.num("used_memory_dataset", s.Dataset)
	w.percent("used_memory_dataset_perc", s.Dataset, s.UsedMemory)
	w.num("allocator_allocated", s.UsedMemory)
	w.num("allocator_active", s.MappedBytes)
	w.num("allocator_resident", s.RSS)
	w.bytes("total_system_memory", s.TotalSystem)
	w.bytes("used_memory_lua", 0)
	w.zeros("used_memory_vm_eval", "used_memory_scripts_eval", "number_of_cached_scripts", "number_of_functions",
		"number_of_libraries", "used_memory_vm_functions")
	w.bytes("used_memory_vm_total", 0)
	w.num("used_memory_functions", 0)
	w.bytes("used_memory_scripts", 0)
	w.bytes("maxmemory", s.MaxMemory)
	w.str("maxmemory_policy", s.MaxMemoryPolicy)
	w.float("allocator_frag_ratio", ratio(s.MappedBytes, s.UsedMemory), 2)
	w.num("allocator_frag_bytes", s.MappedBytes-s.UsedMemory)
	w.float("allocator_rss_ratio", ratio(s.RSS, s.MappedBytes), 2)
	w.num("allocator_rss_bytes", s.RSS-s.MappedBytes)
	w.float("rss_overhead_ratio", 1, 2)
	w.num("rss_overhead_bytes", 0)
	w.float("mem_fragmentation_ratio", ratio(s.RSS, s.UsedMemory), 2)
	w.num("mem_fragmentation_bytes", s.RSS-s.UsedMemory)
	w.zeros("mem_not_counted_for_evict", "mem_replication_backlog", "mem_total_replication_buffers", "mem_clients_slaves")
	w.num("mem_clients_normal", s.ClientsNormal)
	w.num("mem_cluster_links", 0)
	w.num("mem_aof_buffer", s.LogBuffer)
	w.str("mem_allocator", "hapax")
	w.num("active_defrag_running", s.Compaction.Share)
	w.zeros("lazyfree_pending_objects", "lazyfreed_objects")
}

func infoStats(w *infoWriter, s *Stats) {
	w.num("total_connections_received", s.Connections)
	w.num("total_commands_processed", s.Commands)
	w.num("instantaneous_ops_per_sec", s.OpsPerSec)
	w.num("total_net_input_bytes", s.NetIn)
	w.num("total_net_output_bytes", s.NetOut)
	w.zeros("total_net_repl_input_bytes", "total_net_repl_output_bytes")
	w.float("instantaneous_input_kbps", s.InKbps, 2)
	w.float("instantaneous_output_kbps", s.OutKbps, 2)
	w.float("instantaneous_input_repl_kbps", 0, 2)
	w.float("instantaneous_output_repl_kbps", 0, 2)
	w.num("rejected_connections", s.Rejected)
	w.zeros("sync_full", "sync_partial_ok", "sync_partial_err")
	w.num("expired_keys", s.Expired)
	w.float("expired_stale_perc", 0, 2)
	w.zeros("expired_time_cap_reached_count", "expire_cycle_cpu_milliseconds")
	w.num("evicted_keys", s.Evicted)
	w.num("evicted_clients", 0)
	w.zeros("total_eviction_exceeded_time", "current_eviction_exceeded_time")
	w.num("keyspace_hits", s.Hits)
	w.num("keyspace_misses", s.Misses)
	w.zeros("pubsub_channels", "pubsub_patterns", "pubsubshard_channels", "latest_fork_usec", "total_forks",
		"migrate_cached_sockets", "slave_expires_tracked_keys")
	w.num("active_defrag_hits", s.Compaction.Moved)
	w.num("active_defrag_misses", s.Compaction.Stayed)
	w.num("active_defrag_key_hits", s.Compaction.KeysMoved)
	w.num("active_defrag_key_misses", s.Compaction.KeysPassed)
	w.num("total_active_defrag_time", s.Compaction.TotalMilli)
	w.num("current_active_defrag_time", s.Compaction.RoundMilli)
	w.zeros("tracking_total_keys", "tracking_total_items", "tracking_total_prefixes", "unexpected_error_replies")
	w.num("total_error_replies", s.ErrorReplies)
	w.zeros("dump_payload_sanitizations", "total_reads_processed", "total_writes_processed",
		"io_threaded_reads_processed", "io_threaded_writes_processed", "reply_buffer_shrinks", "reply_buffer_expands",
		"eventloop_cycles", "eventloop_duration_sum", "eventloop_duration_cmd_sum",
		"instantaneous_eventloop_cycles_per_sec", "instantaneous_eventloop_duration_usec",
		"acl_access_denied_auth", "acl_access_denied_cmd", "acl_access_denied_key", "acl_access_denied_channel")
}

func infoReplication(w *infoWriter, s *Stats) {
	w.str("role", "master")
	w.num("connected_slaves", 0)
	w.str("master_failover_state", "no-failover")
	w.str("master_replid", s.RunID)
	w.str("master_replid2", strings.Repeat("0", 40))
	w.num("master_repl_offset", int64(s.LastLSN))
	w.num("second_repl_offset", -1)
	w.zeros("repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen")
}

func infoCPU(w *infoWriter, s *Stats) {
	sys, user := float64(s.CPUSysMicro)/1e6, float64(s.CPUUserMicro)/1e6
	w.float("used_cpu_sys", sys, 6)
	w.float("used_cpu_user", user, 6)
	w.float("used_cpu_sys_children", 0, 6)
	w.float("used_cpu_user_children", 0, 6)
}

func infoCommandStats(w *infoWriter, s *Stats) {
	byName := slices.SortedFunc(slices.Values(s.CommandStats), func(a, b CommandStat) int {
		return strings.Compare(a.Name, b.Name)
	})
	for _, c := range byName {
		num := func(n int64) string { return strconv.FormatInt(n, 10) }
		w.str("cmdstat_"+c.Name, "calls="+num(c.Calls)+",usec="+num(c.Micro)+
			",usec_per_call="+strconv.FormatFloat(ratio(c.Micro, c.Calls), 'f', 2, 64)+
			",rejected_calls="+num(c.Rejected)+",failed_calls="+num(c.Failed))
	}
}

func infoErrorStats(w *infoWriter, s *Stats) {
	codes := make([]string, 0, len(s.ErrorStats))
	for code := range s.ErrorStats {
		codes = append(codes, code)
	}
	slices.Sort(codes)
	for _, code := range codes {
		w.str("errorstat_"+code, "count="+strconv.FormatInt(s.ErrorStats[code], 10))
	}
}

func infoKeyspace(w *infoWriter, s *Stats) {
	for _, db := range s.Keyspace {
		if db.Keys == 0 {
			continue
		}
		w.str("db"+strconv.Itoa(db.DB), "keys="+strconv.FormatInt(db.Keys, 10)+
			",expires="+strconv.FormatInt(db.Expires, 10)+",avg_ttl="+strconv.FormatInt(db.AvgTTLMilli, 10))
	}
}

// infoHapax is what only Hapax has: the log and its barrier, the clock, where
// memory is, and the outcomes of IDEM, ONCE and LIMIT.
func infoHapax(w *infoWriter, s *Stats) {
	w.str("hapax_version", s.Version)
	w.str("backend", s.Backend)
	w.num("io_loops", int64(s.IOLoops))
	w.flag("io_uring", s.URing)
	w.num("shards", int64(s.Shards))
	w.num("databases", int64(s.Databases))
	infoLog(w, s)
	infoSnapshot(w, s)
	w.num("clock_t_msec", s.T)
	w.num("clock_offset_msec", s.ClockOffsetMilli)
	w.num("memory_entry_bytes", s.EntryBytes)
	w.num("memory_index_bytes", s.IndexBytes)
	w.num("memory_mapped_bytes", s.MappedBytes)
	w.num("memory_go_heap_bytes", s.GoHeap)
	w.num("memory_request_buffers_bytes", s.RequestBuffers)
	w.num("memory_lent_orphan_bytes", s.LentOrphanBytes)
	w.num("lent_values", s.LentValues)
	w.num("go_gc_cycles", s.GCCycles)
	w.num("go_gc_cpu_usec", s.GCMicro)
	w.percent("go_gc_cpu_perc", s.GCMicro, s.CPUUserMicro+s.CPUSysMicro)
	w.num("protocol_errors", s.ProtocolErrors)
	w.num("output_limit_closes", s.OutputLimitCloses)
	w.num("query_limit_closes", s.QueryLimitCloses)
	w.num("idem_acquired", s.Counters.IdemAcquired)
	w.num("idem_pending", s.Counters.IdemPending)
	w.num("idem_conflict", s.Counters.IdemConflict)
	w.num("idem_completed", s.Counters.IdemCompleted)
	w.num("idem_published", s.Counters.IdemPublished)
	w.num("idem_repeated", s.Counters.IdemRepeated)
	w.num("idem_refused", s.Counters.IdemRefused)
	w.num("idem_errors", s.Counters.IdemErrors)
	w.num("once_first", s.Counters.OnceFirst)
	w.num("once_repeat", s.Counters.OnceRepeat)
	w.num("limit_allowed", s.Counters.LimitAllowed)
	w.num("limit_denied", s.Counters.LimitDenied)
}

func infoLog(w *infoWriter, s *Stats) {
	w.flag("log_enabled", s.AOFEnabled)
	w.str("log_fsync", s.FsyncPolicy)
	w.num("log_last_lsn", int64(s.LastLSN))
	w.num("log_durable_lsn", int64(s.DurableLSN))
	w.num("log_synced_lsn", int64(s.SyncedLSN))
	w.num("log_size_bytes", s.LogSize)
	w.num("log_segments", s.Segments)
	w.num("log_frames", s.Frames)
	w.num("log_syncs", s.Syncs)
	w.num("log_synced_records", s.SyncedRecords)
	w.num("log_sync_usec", s.SyncLatencyMicro)
	w.num("log_last_sync_usec", s.LastSyncMicro)
	w.str("log_sync_place", s.SyncPlace)
	w.flag("log_direct_io", s.LogDirect)
	w.num("parked_clients", s.ParkedClients)
	w.num("group_commits", s.GroupCommits)
	w.num("grouped_replies", s.GroupedReplies)
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
