package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fillAndDelete leaves one key in ten of those it writes, in slabs that are
// mostly empty.
func fillAndDelete(m *mem) {
	for i := range 20_000 {
		require.Equal(m.t, "+OK\r\n", m.do("SET", fmt.Sprint("key", i), strings.Repeat("v", 300)))
	}
	for i := range 20_000 {
		if i%10 != 0 {
			require.Equal(m.t, ":1\r\n", m.do("DEL", fmt.Sprint("key", i)))
		}
	}
}

func (l *lab) compactBy(r CompactionRules) {
	t := *l.srv.tun.Load()
	t.Compaction = r
	l.srv.Retune(t)
}

func (l *lab) tickUntil(m *mem, what string, done func() bool) {
	l.t.Helper()
	for range 20_000 {
		if done() {
			return
		}
		m.ex.begin()
		if next := l.srv.tick(m.ex); l.clock != nil {
			l.clock.AdvanceMilli(int64(next))
		}
		m.ex.end()
	}
	require.Fail(l.t, "it never came to that", what)
}

// Memory of keys that went is compacted when that is switched on, at once with
// CONFIG SET, and INFO tells.
func TestCompactionRuns(t *testing.T) {
	l := newLab(t)
	m := l.session()
	fillAndDelete(m)
	waste := func() int64 { w, _ := l.eng.Store.Waste(); return w }
	before := waste()
	for range 50 {
		m.ex.begin()
		l.srv.tick(m.ex)
		m.ex.end()
	}
	require.Zero(t, l.eng.Store.Compaction().Passes, "nobody switched it on")
	l.compactBy(CompactionRules{Enabled: true, IgnoreBytes: 1 << 20, LowerPercent: 10, UpperPercent: 50, MinShare: 1, MaxShare: 25})
	l.tickUntil(m, "memory falls", func() bool { return waste() < before/2 })
	require.NotZero(t, l.eng.Store.Compaction().KeysMoved)
	l.tickUntil(m, "a round ends", func() bool { return !l.srv.compactor.running })
	info := m.do("INFO", "memory", "stats")
	require.Contains(t, info, "active_defrag_running:0\r\n")
	require.NotContains(t, info, "active_defrag_hits:0\r\n")
	require.NotContains(t, info, "active_defrag_key_hits:0\r\n")
	require.Equal(t, "+OK\r\n", m.do("CONFIG", "RESETSTAT"))
	require.Contains(t, m.do("INFO", "stats"), "active_defrag_hits:0\r\n")
	require.NoError(t, l.eng.Store.Check())
	require.Contains(t, m.do("GET", "key10"), strings.Repeat("v", 300))
}

// MEMORY PURGE compacts although that is switched off, and gives back empty
// slabs that would stay warm.
func TestPurge(t *testing.T) {
	l := newLab(t)
	m := l.session()
	fillAndDelete(m)
	waste := func() int64 { w, _ := l.eng.Store.Waste(); return w }
	before := waste()
	require.Equal(t, "+OK\r\n", m.do("MEMORY", "PURGE"))
	l.tickUntil(m, "memory falls", func() bool { return waste() < before/2 && !l.srv.compactor.running })
	passes := l.eng.Store.Compaction().Passes
	require.NotZero(t, passes)
	for range 50 {
		m.ex.begin()
		l.srv.tick(m.ex)
		m.ex.end()
	}
	require.Equal(t, passes, l.eng.Store.Compaction().Passes, "a purge is one round")
	require.NoError(t, l.eng.Store.Check())
}

// What compaction may take of a processor grows with the waste, between the
// bounds.
func TestCompactionShare(t *testing.T) {
	r := CompactionRules{LowerPercent: 10, UpperPercent: 50, MinShare: 5, MaxShare: 25}
	f := func(waste, live, want int64) {
		t.Helper()
		require.Equal(t, want, r.shareFor(waste, live))
	}
	f(0, 100, 5)
	f(10, 100, 5)
	f(30, 100, 15)
	f(50, 100, 25)
	f(500, 100, 25)
	f(1, 0, 25)
	r = CompactionRules{LowerPercent: 10, UpperPercent: 5, MinShare: 30, MaxShare: 20}
	f(20, 100, 30)
}

// While a round runs, ticks come more often, and the rest of a tick does not.
func TestCompactionPauses(t *testing.T) {
	l := newLab(t)
	m := l.session()
	fillAndDelete(m)
	l.compactBy(CompactionRules{Enabled: true, IgnoreBytes: 1, UpperPercent: 1, MinShare: 10, MaxShare: 10})
	m.ex.begin()
	next := l.srv.tick(m.ex)
	require.True(t, l.srv.compactor.running || l.eng.Store.Compaction().Passes > 0)
	if l.srv.compactor.running {
		require.LessOrEqual(t, next, 2, "a slice of 0.1 ms is a tenth of the time")
	}
	whole := l.srv.compactor.tickMilli
	l.srv.tick(m.ex)
	if l.srv.compactor.running {
		require.Equal(t, whole, l.srv.compactor.tickMilli, "a whole tick came early")
	}
	m.ex.end()
}
