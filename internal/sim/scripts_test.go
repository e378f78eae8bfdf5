package sim

import "strings"

// scripts are the workloads that are crashed everywhere.
func scripts() []script {
	small := options{clients: 2, shards: 4, segmentBytes: 8 << 10}
	big := strings.Repeat("b", 3000)
	fill := []action{
		cmd("MSET", "k0", "a", "k1", big, "k2", "c", "{t}0", "d", "{t}1", "e"),
		cmd("IDEM", "i0", "BEGIN", "f", "me", "60000"),
		cmd("IDEM", "i1", "BEGIN", "f", "me", "50"),
		by(1, "SELECT", "1"),
		by(1, "MSET", "k0", "one", "k3", big),
		by(1, "SET", "k1", "soon", "PX", "80"),
		settled(),
	}
	writes := []action{
		acked("SET", "k0", "changed"),
		cmd("IDEM", "i0", "COMPLETE", "f", "me", "done"),
		by(1, "DEL", "k0"),
		cmd("APPEND", "k2", "more"),
		pass(60),
		acked("IDEM", "i1", "BEGIN", "g", "other", "1000"),
		by(1, "SET", "k0", "again"),
		by(1, "PEXPIRE", "k3", "5000"),
		cmd("INCR", "n"),
		cmd("RENAME", "{t}0", "k3"),
		settled(),
	}
	databases := []action{
		acked("MOVE", "k2", "2"),
		cmd("SWAPDB", "0", "1"),
		acked("SET", "k1", "behind the swap"),
		cmd("COPY", "k1", "k2", "DB", "3"),
		by(1, "FLUSHDB"),
		by(1, "SET", "k0", "behind the flush"),
		cmd("SWAPDB", "1", "2"),
		acked("MOVE", "k0", "3"),
		cmd("RENAME", "k1", "{t}1"),
		by(1, "MSET", "{t}2", "x", "{t}3", "y"),
		settled(),
	}
	flushes := []action{
		acked("FLUSHALL"),
		cmd("SET", "k0", "new"),
		by(1, "FLUSHDB"),
		acked("FLUSHALL"),
		cmd("MSET", "k0", "1", "k1", "2"),
		settled(),
	}
	return []script{
		{"log", small, join(fill, writes, databases, fill, writes, []action{restarted(nil)}, writes)},
		{"snapshots", small, join(fill, between(writes...), between(databases...), fill, between(writes...), []action{restarted(nil)}, writes)},
		{"flushes", small, join(fill, between(flushes...), fill, between(databases...), fill, between(flushes...))},
		{"restarts", small, join(fill, between(writes...), []action{restarted(func(w *world) {
			w.o.shards = 16
			w.source.StepWallMilli(-3_600_000)
		})}, between(databases...), []action{pass(100), acked("GET", "k1"), restarted(func(w *world) { w.o.shards = 1 })}, between(fill...))},
	}
}
