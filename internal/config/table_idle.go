package config

import "math"

// The directives of Redis 7.2 that have no effect here. They are known so
// that a redis.conf is accepted and CONFIG GET answers what tools ask for.

func idlePersistence() *group {
	return &group{title: "Snapshots and append-only file", idle: true, rows: []directive{
		yesNo("rdbcompression", "yes", ""),
		yesNo("rdbchecksum", "yes", "").immutable(),
		yesNo("rdb-del-sync-files", "no", ""),
		yesNo("rdb-save-incremental-fsync", "yes", ""),
		str("dbfilename", "dump.rdb", "").guarded().checked(fileName("dbfilename", "filename", true)),
		str("appendfilename", "appendonly.aof", "").immutable().checked(fileName("appendfilename", "filename", false)),
		str("appenddirname", "appendonlydir", "").immutable().checked(fileName("appenddirname", "dirname", false)),
		yesNo("no-appendfsync-on-rewrite", "no", ""),
		yesNo("aof-load-truncated", "yes", ""),
		yesNo("aof-use-rdb-preamble", "yes", ""),
		yesNo("aof-timestamp-enabled", "no", ""),
		yesNo("aof-rewrite-incremental-fsync", "yes", ""),
		yesNo("aof-disable-auto-gc", "no", ""),
		choice("sanitize-dump-payload", "no", "", "no", "yes", "clients"),
		number("rdb-key-save-delay", "0", math.MinInt32, maxInt32, "").concealed(),
		number("key-load-delay", "0", math.MinInt32, maxInt32, "").concealed(),
		number("loading-process-events-interval-bytes", "2097152", 1024, maxInt32, "").concealed(),
	}}
}

func idleReplication() *group {
	return &group{title: "Replication", idle: true, rows: []directive{
		several("replicaof", "", "", readReplicaOf).was("slaveof").immutable().without("replication is not supported yet, and a replica that takes writes would be worse than none"),
		str("masterauth", "", ""),
		str("masteruser", "", ""),
		yesNo("replica-serve-stale-data", "yes", "").was("slave-serve-stale-data"),
		yesNo("replica-read-only", "yes", "").was("slave-read-only"),
		yesNo("replica-lazy-flush", "no", "").was("slave-lazy-flush"),
		yesNo("replica-ignore-maxmemory", "yes", "").was("slave-ignore-maxmemory"),
		yesNo("replica-ignore-disk-write-errors", "no", ""),
		yesNo("replica-announced", "yes", ""),
		str("replica-announce-ip", "", "").was("slave-announce-ip"),
		number("replica-announce-port", "0", 0, 65535, "").was("slave-announce-port"),
		number("replica-priority", "100", 0, maxInt32, "").was("slave-priority"),
		yesNo("repl-diskless-sync", "yes", ""),
		number("repl-diskless-sync-delay", "5", 0, maxInt32, ""),
		number("repl-diskless-sync-max-replicas", "0", 0, maxInt32, ""),
		choice("repl-diskless-load", "disabled", "", "disabled", "on-empty-db", "swapdb"),
		number("repl-ping-replica-period", "10", 1, maxInt32, "").was("repl-ping-slave-period"),
		number("repl-timeout", "60", 1, maxInt32, ""),
		yesNo("repl-disable-tcp-nodelay", "no", ""),
		size("repl-backlog-size", "1048576", 1, maxInt64, ""),
		number("repl-backlog-ttl", "3600", 0, maxInt64, ""),
		number("min-replicas-to-write", "0", 0, maxInt32, "").was("min-slaves-to-write"),
		number("min-replicas-max-lag", "10", 0, maxInt32, "").was("min-slaves-max-lag"),
		choice("propagation-error-behavior", "ignore", "", "ignore", "panic", "panic-on-replicas"),
	}}
}

func idleCluster() *group {
	return &group{title: "Cluster", idle: true, rows: []directive{
		yesNo("cluster-enabled", "no", "").immutable(),
		str("cluster-config-file", "nodes.conf", "").immutable(),
		number("cluster-node-timeout", "15000", 0, maxInt64, ""),
		number("cluster-port", "0", 0, 65535, "").immutable(),
		number("cluster-replica-validity-factor", "10", 0, maxInt32, "").was("cluster-slave-validity-factor"),
		number("cluster-migration-barrier", "1", 0, maxInt32, ""),
		yesNo("cluster-allow-replica-migration", "yes", ""),
		yesNo("cluster-require-full-coverage", "yes", ""),
		yesNo("cluster-replica-no-failover", "no", "").was("cluster-slave-no-failover"),
		yesNo("cluster-allow-reads-when-down", "no", ""),
		yesNo("cluster-allow-pubsubshard-when-down", "yes", ""),
		size("cluster-link-sendbuf-limit", "0", 0, maxInt64, ""),
		str("cluster-announce-ip", "", ""),
		number("cluster-announce-port", "0", 0, 65535, ""),
		number("cluster-announce-tls-port", "0", 0, 65535, ""),
		number("cluster-announce-bus-port", "0", 0, 65535, ""),
		str("cluster-announce-hostname", "", "").checked(checkHostname),
		str("cluster-announce-human-nodename", "", "").checked(checkHostname),
		choice("cluster-preferred-endpoint-type", "ip", "", "ip", "hostname", "unknown-endpoint"),
	}}
}

func idleTLS() *group {
	return &group{title: "TLS", idle: true, rows: []directive{
		number("tls-port", "0", 0, 65535, ""),
		str("tls-cert-file", "", ""),
		str("tls-key-file", "", ""),
		str("tls-key-file-pass", "", ""),
		str("tls-client-cert-file", "", ""),
		str("tls-client-key-file", "", ""),
		str("tls-client-key-file-pass", "", ""),
		str("tls-dh-params-file", "", ""),
		str("tls-ca-cert-file", "", ""),
		str("tls-ca-cert-dir", "", ""),
		choice("tls-auth-clients", "yes", "", "no", "yes", "optional"),
		yesNo("tls-replication", "no", ""),
		yesNo("tls-cluster", "no", ""),
		str("tls-protocols", "", ""),
		str("tls-ciphers", "", ""),
		str("tls-ciphersuites", "", ""),
		yesNo("tls-prefer-server-ciphers", "no", ""),
		yesNo("tls-session-caching", "yes", ""),
		number("tls-session-cache-size", "20480", 0, maxInt32, ""),
		number("tls-session-cache-timeout", "300", 0, maxInt32, ""),
	}}
}

func idleMemory() *group {
	return &group{title: "Memory management", idle: true, rows: []directive{
		number("maxmemory-eviction-tenacity", "10", 0, 100, ""),
		size("maxmemory-clients", "0", -100, maxInt64, "").orShare(),
		number("lfu-log-factor", "10", 0, maxInt32, ""),
		number("lfu-decay-time", "1", 0, maxInt32, ""),
		yesNo("lazyfree-lazy-eviction", "no", ""),
		yesNo("lazyfree-lazy-expire", "no", ""),
		yesNo("lazyfree-lazy-server-del", "no", ""),
		yesNo("lazyfree-lazy-user-del", "no", ""),
		yesNo("lazyfree-lazy-user-flush", "no", ""),
		yesNo("activerehashing", "yes", ""),
		number("active-defrag-max-scan-fields", "1000", 1, maxInt64, ""),
		yesNo("jemalloc-bg-thread", "yes", ""),
		yesNo("disable-thp", "yes", "").immutable(),
	}}
}

func idleValues() *group {
	return &group{title: "Encodings, scripts and modules", idle: true, rows: []directive{
		number("hash-max-listpack-entries", "512", 0, maxInt64, "").was("hash-max-ziplist-entries"),
		size("hash-max-listpack-value", "64", 0, maxInt64, "").was("hash-max-ziplist-value"),
		number("list-max-listpack-size", "-2", math.MinInt32, maxInt32, "").was("list-max-ziplist-size"),
		number("list-compress-depth", "0", 0, maxInt32, ""),
		number("set-max-intset-entries", "512", 0, maxInt64, ""),
		number("set-max-listpack-entries", "128", 0, maxInt64, ""),
		number("set-max-listpack-value", "64", 0, maxInt64, ""),
		number("zset-max-listpack-entries", "128", 0, maxInt64, "").was("zset-max-ziplist-entries"),
		size("zset-max-listpack-value", "64", 0, maxInt64, "").was("zset-max-ziplist-value"),
		size("hll-sparse-max-bytes", "3000", 0, maxInt64, ""),
		size("stream-node-max-bytes", "4096", 0, maxInt64, ""),
		number("stream-node-max-entries", "100", 0, maxInt64, ""),
		number("busy-reply-threshold", "5000", 0, maxInt64, "").was("lua-time-limit"),
		yesNo("lua-enable-deprecated-api", "no", "").immutable().concealed(),
		choice("enable-module-command", "no", "", "no", "yes", "local").immutable(),
		str("locale-collate", "", ""),
		choice("acl-pubsub-default", "resetchannels", "", "allchannels", "resetchannels"),
		number("acllog-max-len", "128", 0, maxInt64, ""),
		number("tracking-table-max-keys", "1000000", 0, maxInt64, ""),
	}}
}

func idleProcess() *group {
	return &group{title: "Process", idle: true, rows: []directive{
		choice("supervised", "no", "", "upstart", "systemd", "auto", "no").immutable(),
		yesNo("always-show-logo", "no", "").immutable(),
		yesNo("set-proc-title", "yes", "").immutable(),
		str("proc-title-template", "{title} {listen-addr} {server-mode}", ""),
		yesNo("syslog-enabled", "no", "").immutable(),
		str("syslog-ident", "redis", "").immutable(),
		choice("syslog-facility", "local0", "", "user", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7").immutable(),
		number("io-threads", "1", 1, 128, "").immutable(),
		yesNo("io-threads-do-reads", "no", "").immutable(),
		yesNo("dynamic-hz", "yes", ""),
		str("server-cpulist", "", "").was("server_cpulist").immutable(),
		str("bio-cpulist", "", "").was("bio_cpulist").immutable(),
		str("aof-rewrite-cpulist", "", "").was("aof_rewrite_cpulist").immutable(),
		str("bgsave-cpulist", "", "").was("bgsave_cpulist").immutable(),
		choice("oom-score-adj", "no", "", "no", "yes", "relative", "absolute"),
		several("oom-score-adj-values", "0 200 800", "", readOOMValues),
		str("bind-source-addr", "", ""),
		number("socket-mark-id", "0", 0, maxUint32, "").immutable(),
		str("ignore-warnings", "", ""),
	}}
}

func idleMonitoring() *group {
	return &group{title: "Monitoring", idle: true, rows: []directive{
		number("slowlog-log-slower-than", "10000", -1, maxInt64, ""),
		number("slowlog-max-len", "128", 0, maxInt64, ""),
		number("latency-monitor-threshold", "0", 0, maxInt64, ""),
		yesNo("latency-tracking", "yes", ""),
		several("latency-tracking-info-percentiles", "50 99 99.9", "", readPercentiles),
		several("notify-keyspace-events", "", "", readEvents),
		yesNo("crash-log-enabled", "yes", ""),
		yesNo("crash-memcheck-enabled", "yes", ""),
		yesNo("use-exit-on-panic", "no", "").concealed(),
		number("watchdog-period", "0", 0, maxInt32, "").concealed(),
		yesNo("enable-debug-assert", "no", "").immutable().concealed(),
	}}
}
