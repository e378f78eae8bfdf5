package command

// infoPersistence has Redis's fields. A snapshot is what Redis calls an RDB
// file, and what makes the log short: so it appears under rdb_ when SAVE,
// BGSAVE or a rule began it, under aof_rewrite_ when BGREWRITEAOF or the log's
// growth did. The base of the log is the newest snapshot.
func infoPersistence(w *infoWriter, s *Stats) {
	n := &s.Snapshot
	w.flag("loading", s.Loading)
	w.zeros("async_loading", "current_cow_peak", "current_cow_size", "current_cow_size_age")
	w.float("current_fork_perc", 100*ratio(n.KeysDone, n.KeysTotal), 2)
	w.num("current_save_keys_processed", n.KeysDone)
	w.num("current_save_keys_total", n.KeysTotal)
	saving := n.Running == CauseSave || n.Running == CauseBgSave
	w.num("rdb_changes_since_last_save", n.Changes)
	w.flag("rdb_bgsave_in_progress", saving)
	w.num("rdb_last_save_time", n.LastSaveMilli/1000)
	w.str("rdb_last_bgsave_status", okOr("err", n.LastOK))
	w.num("rdb_last_bgsave_time_sec", seconds(n.LastTookMilli, n.LastTookMilli >= 0))
	w.num("rdb_current_bgsave_time_sec", seconds(n.RunningMilli, saving))
	w.num("rdb_saves", n.Started-n.Rewrites)
	w.zeros("rdb_last_cow_size", "rdb_last_load_keys_expired")
	w.num("rdb_last_load_keys_loaded", n.LoadedKeys)
	w.flag("aof_enabled", s.AOFEnabled)
	rewriting := n.Running == CauseRewrite
	w.flag("aof_rewrite_in_progress", rewriting)
	w.flag("aof_rewrite_scheduled", n.RewriteScheduled)
	w.num("aof_last_rewrite_time_sec", seconds(n.LastTookMilli, n.LastTookMilli >= 0))
	w.num("aof_current_rewrite_time_sec", seconds(n.RunningMilli, rewriting))
	w.str("aof_last_bgrewrite_status", okOr("err", n.LastOK))
	w.num("aof_rewrites", n.Rewrites)
	w.num("aof_rewrites_consecutive_failures", n.Failures)
	// After a write that failed there is no server to ask (I8): err is for a
	// log that refuses writes because there is no room.
	w.str("aof_last_write_status", okOr("err", !s.LogRefuses))
	w.zeros("aof_last_cow_size", "module_fork_in_progress", "module_fork_last_cow_size")
	if s.AOFEnabled {
		w.num("aof_current_size", n.LastBytes+n.LogBytes)
		w.num("aof_base_size", n.LastBytes)
		w.num("aof_pending_rewrite", 0)
		w.num("aof_buffer_length", s.LogBuffer)
		w.zeros("aof_pending_bio_fsync", "aof_delayed_fsync")
	}
	if s.Loading {
		infoLoading(w, s)
	}
}

// okOr is a status of INFO.
func okOr(otherwise string, ok bool) string {
	if ok {
		return "ok"
	}
	return otherwise
}

// seconds is a duration, -1 where there is none.
func seconds(milli int64, there bool) int64 {
	if !there {
		return -1
	}
	return milli / 1000
}

// infoLoading guesses the time left from the bytes so far.
func infoLoading(w *infoWriter, s *Stats) {
	elapsedSec := max(s.T-s.LoadStartMilli, 0) / 1000
	etaSec := int64(1)
	if s.LoadDone > 0 {
		etaSec = int64(float64(elapsedSec) * ratio(s.LoadTotal-s.LoadDone, s.LoadDone))
	}
	w.num("loading_start_time", s.LoadStartMilli/1000)
	w.num("loading_total_bytes", s.LoadTotal)
	w.num("loading_rdb_used_mem", 0)
	w.num("loading_loaded_bytes", s.LoadDone)
	w.float("loading_loaded_perc", 100*ratio(s.LoadDone, s.LoadTotal), 2)
	w.num("loading_eta_seconds", etaSec)
}

// infoSnapshot is the part of the section hapax.
func infoSnapshot(w *infoWriter, s *Stats) {
	n := &s.Snapshot
	w.num("snapshots_started", n.Started)
	w.num("snapshot_failures", n.Failures)
	w.num("snapshot_last_bytes", n.LastBytes)
	w.num("snapshot_last_keys", n.LastKeys)
	w.num("snapshot_last_msec", n.LastTookMilli)
	w.num("snapshot_max_pause_usec", n.MaxPauseMicro)
	w.num("log_bytes_since_snapshot", n.LogBytes)
	w.num("log_reserve_bytes", s.LogReserve)
}
