package engine

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// cell is where a key is, and what the model holds for it.
type cell struct {
	db  int
	key string
}

type held struct {
	value    string
	deadline int64
}

// state is a whole store, as the model sees it.
type state map[cell]held

// world is an engine on files that crash, beside a model that remembers the
// state after every operation: what a crash leaves has to be one of these, not
// older than the last that was acknowledged.
type world struct {
	t     *testing.T
	mem   *vfs.Mem
	fs    *vfs.Faulty
	clock *clock.Manual
	log   *lines
	opts  Options
	eng   *Engine
	rnd   *rand.Rand

	states []state // after each operation; the last is what is in memory
	acked  int     // index in states
	failed int     // snapshots
	err    error   // of the first operation that failed: the machine is down
}

func newWorld(t *testing.T, seed uint64, change ...func(o *Options)) *world {
	t.Helper()
	w := &world{t: t, mem: vfs.NewMem(), clock: clock.NewManual(startMilli), states: []state{{}},
		rnd: rand.New(rand.NewPCG(seed, 7))}
	if seed%2 == 0 { // frames are written directly, but for those at the end of a segment
		w.mem.DirectBlockBytes = 1024
	}
	w.start(change...)
	return w
}

// inlineOptions are for a store that does nothing by itself.
func (w *world) inlineOptions() Options {
	salt := uint64(0)
	o := Options{Dir: "data", Log: true, Shards: 2, Databases: 3, SegmentBytes: 4096 + 300, DirectIO: true, Inline: true,
		Salt: func() uint64 { salt++; return w.rnd.Uint64() | 1 }}
	return o
}

// start makes an engine on what w.mem holds. It is not recovered yet.
func (w *world) start(change ...func(o *Options)) {
	w.fs = vfs.NewFaulty(w.mem)
	w.log = &lines{}
	w.opts = w.inlineOptions()
	for _, f := range change {
		f(&w.opts)
	}
	w.opts.FS, w.opts.Clock, w.opts.Logf = w.fs, clock.New(w.clock, nil), w.log.logf
	w.err = nil
}

// open opens and recovers.
func (w *world) open() error {
	var err error
	if w.eng, err = Open(w.opts); err != nil {
		return err
	}
	return w.eng.Recover()
}

// crashed is the world after a power cut.
func (w *world) crashed(seed uint64, change ...func(o *Options)) *world {
	return w.after(w.mem.Crash(seed), change...)
}

// killed is the world after SIGKILL: what was written is there, but a power
// cut may still take it.
func (w *world) killed(change ...func(o *Options)) *world {
	return w.after(w.mem.Kill(), change...)
}

func (w *world) after(mem *vfs.Mem, change ...func(o *Options)) *world {
	next := &world{t: w.t, mem: mem, clock: clock.NewManual(startMilli - 1000), rnd: w.rnd,
		states: slices.Clone(w.states), acked: w.acked}
	next.start(change...)
	return next
}

// leave gives up an engine whose machine is down: only its memory is freed.
func (w *world) leave() {
	if w.eng != nil {
		w.eng.Store.Close()
		w.eng = nil
	}
}

// try notes the first failure; later operations do nothing.
func (w *world) try(f func() error) {
	if w.err == nil {
		w.err = f()
	}
}

func (w *world) now() state { return w.states[len(w.states)-1] }

// do runs one transaction on all shards and notes what the model has then.
func (w *world) do(db int, write func(tx *shard.Tx) error, model func(s state)) {
	w.try(func() error {
		tx := w.eng.Store.NewTx()
		tx.Begin(w.eng.Clock.NowMilli(), db)
		tx.LockAll()
		defer tx.End()
		tx.Atomic()
		if err := write(tx); err != nil {
			return err
		}
		next := maps.Clone(w.now())
		model(next)
		w.states = append(w.states, next)
		return nil
	})
}

func (w *world) put(db int, key, value string, deadline int64) {
	w.do(db, func(tx *shard.Tx) error {
		k := shard.MakeKey([]byte(key))
		return tx.Put(&k, shard.Value{Bytes: []byte(value), DeadlineMilli: deadline})
	}, func(s state) { s[cell{db, key}] = held{value, deadline} })
}

func (w *world) putMany(db int, keys []string, value string) {
	w.do(db, func(tx *shard.Tx) error {
		for _, key := range keys {
			k := shard.MakeKey([]byte(key))
			if err := tx.Put(&k, shard.Value{Bytes: []byte(value)}); err != nil {
				return err
			}
		}
		return nil
	}, func(s state) {
		for _, key := range keys {
			s[cell{db, key}] = held{value, 0}
		}
	})
}

func (w *world) del(db int, key string) {
	w.do(db, func(tx *shard.Tx) error {
		k := shard.MakeKey([]byte(key))
		tx.Delete(&k)
		return nil
	}, func(s state) { delete(s, cell{db, key}) })
}

func (w *world) appendTo(db int, key, more string) {
	w.do(db, func(tx *shard.Tx) error {
		k := shard.MakeKey([]byte(key))
		v, _ := tx.Get(&k)
		_, err := tx.Splice(&k, len(v.Bytes), []byte(more))
		return err
	}, func(s state) {
		h := s[cell{db, key}]
		h.value += more
		s[cell{db, key}] = h
	})
}

func (w *world) flushDB(db int) {
	w.do(db, func(tx *shard.Tx) error { tx.FlushDB(); return nil },
		func(s state) { maps.DeleteFunc(s, func(c cell, _ held) bool { return c.db == db }) })
}

func (w *world) flushAll() {
	w.do(0, func(tx *shard.Tx) error { tx.FlushAll(); return nil }, func(s state) { clear(s) })
}

func (w *world) swap(a, b int) {
	w.do(0, func(tx *shard.Tx) error { tx.Swap(a, b); return nil }, func(s state) {
		old := maps.Clone(s)
		clear(s)
		for c, h := range old {
			switch c.db {
			case a:
				c.db = b
			case b:
				c.db = a
			}
			s[c] = h
		}
	})
}

// commit acknowledges everything so far.
func (w *world) commit() {
	w.try(func() error {
		if l := w.eng.Log(); l != nil {
			if err := l.Commit(l.Last()); err != nil {
				return err
			}
			w.acked = len(w.states) - 1
		}
		return nil
	})
}

// random does one operation.
func (w *world) random() {
	db := w.rnd.IntN(3)
	key := fmt.Sprintf("k%d", w.rnd.IntN(40))
	if w.rnd.IntN(3) == 0 {
		key = "{tag}" + key
	}
	value := strings.Repeat(string(rune('a'+w.rnd.IntN(26))), 1+w.rnd.IntN(90))
	switch w.rnd.IntN(14) {
	case 0, 1:
		w.del(db, key)
	case 2:
		w.appendTo(db, key, value)
	case 3:
		w.putMany(db, []string{key, key + "x", key + "y", key + "z"}, value)
	case 4:
		w.put(db, key, value, startMilli+1_000_000)
	case 5:
		switch w.rnd.IntN(6) {
		case 0:
			w.flushDB(db)
		case 1:
			w.flushAll()
		default:
			w.swap(db, (db+1)%3)
		}
	default:
		w.put(db, key, value, 0)
	}
}

// snapshot takes one, with steps in between.
func (w *world) snapshot(between func()) {
	w.try(func() error { _, err := w.eng.StartSnapshot("test"); return err })
	for w.err == nil && !w.eng.StepSnapshot() {
		if between != nil {
			between()
		}
	}
	w.try(func() error {
		err := w.eng.SnapshotStatus().LastErr
		if err == nil || errors.Is(err, vfs.ErrHalted) {
			return err
		}
		// A snapshot that fails is none of the clients' business.
		w.failed++
		return w.eng.Err()
	})
}

// found is what the engine's store holds.
func found(e *Engine) state {
	s := state{}
	tx := e.Store.NewTx()
	for db := range e.Store.Databases() {
		tx.Begin(e.Clock.NowMilli(), db)
		tx.LockAll()
		tx.Scan(0, 1<<30, func(key []byte, v shard.Value) {
			s[cell{db, string(key)}] = held{string(v.Bytes), v.DeadlineMilli}
		})
		tx.End()
	}
	return s
}

// alive is s without what is dead at t.
func (s state) alive(t int64) state {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(_ cell, h held) bool { return h.deadline != 0 && h.deadline <= t })
	return out
}

// check compares a store that was just recovered with the model: it has to be
// the state after some operation, the last acknowledged one or a later. That
// state is where the model goes on.
func (w *world) check(what string) {
	w.t.Helper()
	require.NoError(w.t, w.eng.Store.Check())
	got := found(w.eng)
	now := w.eng.Clock.NowMilli()
	for i := len(w.states) - 1; i >= w.acked; i-- {
		if maps.Equal(got, w.states[i].alive(now)) {
			w.states, w.acked = []state{w.states[i]}, 0
			return
		}
	}
	require.Equal(w.t, w.now().alive(now), got, "%s: neither the acknowledged state nor a later one\n%s", what, w.log.text())
}

// files is the names in dir that end with suffix.
func files(t *testing.T, fs vfs.FS, dir, suffix string) []string {
	t.Helper()
	names, err := fs.List(dir)
	require.NoError(t, err)
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, suffix) })
}

func segments(t *testing.T, fs vfs.FS) []uint64 {
	t.Helper()
	seqs, err := wal.Segments(fs, "data/wal")
	require.NoError(t, err)
	return seqs
}
