package config

// The directives that do something here.

func networkGroup() *group {
	return &group{
		title: "Network",
		intro: "Where the server listens.",
		rows: []directive{
			several("bind", "127.0.0.1 -::1", "Addresses to listen on. `*` is every IPv4 address, `::*` every IPv6 one; an address behind a `-` may be missing.", readBind).atStart(),
			number("port", "6379", 0, 65535, "TCP port; 0 listens on none.").atStart(),
			yesNo("protected-mode", "yes", "Without a password, only clients of this machine are served."),
			str("unixsocket", "", "Path of a Unix socket to listen on as well; empty for none.").immutable(),
			directive{name: "unixsocketperm", kind: octal, def: "0", max: 0o777, fixed: true, doc: "Permissions of the Unix socket, octal; 0 leaves them to the umask."},
			number("tcp-backlog", "511", 0, maxInt32, "Connections the system may hold that were not accepted yet.").immutable(),
			number("tcp-keepalive", "300", 0, maxInt32, "Seconds between probes of a silent connection; 0 sends none."),
			number("timeout", "0", 0, maxInt32, "Seconds after which an idle client is closed; 0 for never."),
		},
	}
}

func generalGroup() *group {
	return &group{
		title: "General",
		intro: "The process and what it prints.",
		rows: []directive{
			number("databases", "16", 1, maxInt32, "Number of databases that SELECT chooses from.").immutable(),
			str("dir", ".", "Directory of log and snapshots. One server at a time may use it.").guarded().atStart(),
			choice("loglevel", "notice", "Least level of the messages that are logged.", "debug", "verbose", "notice", "warning"),
			str("logfile", "", "File the messages are appended to; empty for standard output.").immutable(),
			str("pidfile", "", "File that holds the process id while the server runs.").immutable(),
			yesNo("daemonize", "no", "Always `no`: let a supervisor run the server in the background. `yes` is accepted with a warning.").immutable(),
			number("hz", "10", 0, maxInt32, "How often background work runs, 1 to 500 times a second."),
			shutdownWords("shutdown-on-sigterm", "What SIGTERM does, in the words of SHUTDOWN: `default` takes a last snapshot if `save` is set, `save` always, `nosave` never; after `force` a failed snapshot does not keep the server from stopping; `now` changes nothing."),
			shutdownWords("shutdown-on-sigint", "The same for SIGINT."),
			number("shutdown-timeout", "10", 0, maxInt32, "For replicas, which there are none of. Replies get a second to be read when the server stops."),
		},
	}
}

func durabilityGroup() *group {
	return &group{
		title: "Durability",
		intro: "What is on disk when a reply leaves. See [operations](operations.md).",
		rows: []directive{
			yesNo("appendonly", "yes", "Keep a log. With `no` only snapshots are on disk: what was written after the last one is gone after any stop.").atStart(),
			choice("appendfsync", "always", "When the log is synced. `always`: before a reply that depends on it leaves, nothing acknowledged is lost. `everysec`: once a second, a crash of the machine loses up to two seconds. `no`: when the system likes; a crash of the machine loses what it had not written. A crash of the process alone loses nothing acknowledged under any of them.", "everysec", "always", "no"),
			several("save", "", "Pairs of seconds and changes: a snapshot starts when the newest one is that many seconds old and at least that many writes came after it. None by default, unlike Redis: the log keeps every write, and Redis's rules would write the whole data set again every few minutes. With `save` set, a stop takes a last snapshot, as in Redis.", readSave).adding(),
			size("auto-aof-rewrite-min-size", "67108864", 0, maxInt64, "A log shorter than this behind the newest snapshot starts no snapshot by itself."),
			number("auto-aof-rewrite-percentage", "100", 0, maxInt32, "A log that is this share of the newest snapshot's size, and at least the size above, starts a snapshot, so that the log stays short; 0 for never."),
			yesNo("stop-writes-on-bgsave-error", "yes", "With `save` set: writes are refused with MISCONF while the last snapshot is one that failed, as in Redis. The log has them all the same, so `no` risks nothing where there is one."),
			size("wal-segment-size", "67108864", 1<<20, 1<<40, "Size of one file of the log.").immutable(),
			choice("wal-direct-io", "auto", "Under appendfsync `always`: `auto` writes the log past the system's memory (O_DIRECT, RWF_DSYNC) where the file system can, so that one call writes and syncs; `no` never does.", "auto", "no").atStart(),
			choice("sync-place", "auto", "Where the sync runs: inside the event `loop`, on a `syncer` thread, or `auto`, chosen by how long syncs take and whether others than those who wait for them would be held up.", "auto", "loop", "syncer"),
			number("sync-threshold-us", "300", 1, 1_000_000, "Microseconds a sync may take on average before `auto` looks whom it holds up: with readers beside the writers it moves to the syncer thread then, with writers alone only when it takes four times as long."),
			number("sync-hang-report-ms", "1000", 0, maxInt32, "Milliseconds after which a write or sync of the log that has not ended is reported in the server's log; 0 for never."),
			number("sync-hang-fatal-ms", "120000", 0, maxInt32, "Milliseconds after which the process gives up on it and ends with 1, so that clients hear a refused connection and not silence; 0 waits for ever."),
		},
	}
}

// shutdownWords is a directive that says how a signal stops the server.
func shutdownWords(name, doc string) directive {
	return directive{
		name: name, kind: words, def: "default", choices: []string{"default", "save", "nosave", "now", "force"}, doc: doc,
		check: checkShutdown,
	}
}

func memoryGroup() *group {
	return &group{
		title: "Memory",
		intro: "How much the keys may take and what goes first.",
		rows: []directive{
			size("maxmemory", "0", 0, maxInt64, "Bytes the keys may take; 0 for no limit. At the limit keys are evicted, or writes refused with OOM."),
			choice("maxmemory-policy", "noeviction", "Which keys are evicted. Anything but `noeviction` may evict IDEM records, and with them what they guarantee.", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction"),
			number("maxmemory-samples", "5", 1, maxInt32, "Keys that are compared to find one to evict."),
			number("active-expire-effort", "1", 1, 10, "How eagerly expired keys are reclaimed in the background."),
			yesNo("activedefrag", "yes", "Compact memory in the background when values changed size or many keys went, and give it back to the system."),
			size("active-defrag-ignore-bytes", "8388608", 1, maxInt64, "Less waste than this is left alone."),
			number("active-defrag-threshold-lower", "10", 0, 1000, "Waste, in percent of what is live, at which compaction begins."),
			number("active-defrag-threshold-upper", "50", 0, 1000, "Waste at which it may take all of `active-defrag-cycle-max`."),
			number("active-defrag-cycle-min", "1", 1, 99, "Percent of a processor that it takes when it begins."),
			number("active-defrag-cycle-max", "25", 1, 99, "Percent of a processor that it may take; below `active-defrag-cycle-min`, that counts."),
		},
	}
}

func clientsGroup() *group {
	return &group{
		title: "Clients",
		intro: "What one client may make the server hold.",
		rows: []directive{
			number("maxclients", "10000", 1, maxUint32, "Connections at a time. Lowered at start when the system grants fewer open files."),
			size("proto-max-bulk-len", "536870912", 1<<20, maxInt64, "Longest argument, and with it longest value."),
			size("client-query-buffer-limit", "1073741824", 1<<20, maxInt64, "Bytes of a request that may wait for its end before the client is closed."),
			several("client-output-buffer-limit", "normal 268435456 1048576 60 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
				"Class, hard limit, soft limit, seconds. A `normal` client is closed when its unread replies, the last one not counted, are over the hard limit, or when they are over the soft limit and it read nothing for that many seconds. So a reply of any length reaches whoever reads it, however slowly, and who never reads is closed. `slave` (or `replica`) and `pubsub` are kept for later.", readOutputLimits),
			size("output-pause-bytes", "1048576", 1<<10, 1<<40, "Bytes of unread replies at which the server stops executing a client's commands until it reads."),
		},
	}
}

func securityGroup() *group {
	return &group{
		title: "Security",
		intro: "Who may do what.",
		rows: []directive{
			str("requirepass", "", "Password of the default user; empty for none."),
			choice("enable-debug-command", "no", "Who may use DEBUG: nobody, everybody, or clients of this machine.", "no", "yes", "local").immutable(),
			choice("enable-protected-configs", "no", "Whether CONFIG SET may change protected directives; `local` counts as `no`.", "no", "yes", "local").immutable(),
			str("aclfile", "", "Access control lists are not supported yet; only an empty value is accepted.").immutable().without("access control lists are not supported yet, use requirepass"),
		},
	}
}

func engineGroup() *group {
	return &group{
		title: "Execution",
		intro: "Directives of Hapax alone, besides `wal-segment-size`, `wal-direct-io`, `sync-place`, `sync-threshold-us`, `sync-hang-report-ms`, `sync-hang-fatal-ms` and `output-pause-bytes` above.",
		rows: []directive{
			number("io-loops", "1", 1, 64, "Event loops. One is best on a small machine; it never changes what clients see.").immutable(),
			choice("io-backend", "auto", "How connections are served: `epoll` loops, a `goroutine` for each, or `auto`, which is epoll where the system has it.", "auto", "epoll", "goroutine").immutable(),
			choice("io-uring", "auto", "Read and write many sockets with one system call: `auto` where the system has it (Linux 5.19, not forbidden by a container's profile), or `no`.", "auto", "no").immutable(),
			number("shards", "16", 1, 256, "Parts of the keyspace with a lock each, rounded to a power of two.").immutable(),
			yesNo("clock-follow-wall", "no", "Setting it to `yes` at run time makes server time follow a forward step of the system's clock at once; it reads `no` again afterwards. Otherwise such a step is followed gradually, so that no key expires early because somebody set the clock."),
		},
	}
}
