package script

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// localOptions is what differs between the runs of a script on Hapax.
type localOptions struct {
	shards      int
	loops       int
	backend     string
	plain       bool // a system call for each read and write
	systemClock bool // real time in place of time moved by @clock
	inline      bool // no goroutines: snapshots go on when the test steps them
	noLog       bool // appendonly no: only snapshots are on disk
}

// local is one Hapax in this process, its files in memory and its time moved
// by hand. How connections reach it is the business of memory and tcp.
type local struct {
	t      *testing.T
	o      localOptions
	fs     *vfs.Mem
	manual *clock.Manual
	eng    *engine.Engine
	srv    *server.Server
}

const (
	dataDir      = "/data"
	databases    = 16
	segmentBytes = 64 << 10 // small, so that scripts cross segments
	startMilli   = 1_900_000_000_000
)

func newLocal(t *testing.T, o localOptions) *local {
	l := &local{t: t, o: o, fs: vfs.NewMem(), manual: clock.NewManual(startMilli)}
	l.open()
	return l
}

// open starts an engine and a server on l.fs.
func (l *local) open() {
	l.eng = l.openEngine(l.fs)
	srv, err := server.New(server.Options{
		Binds:   []string{"127.0.0.1"},
		IOLoops: max(l.o.loops, 1),
		Backend: l.o.backend, NoURing: l.o.plain,
		Version: "test",
		Config:  &settings{l: l},
		Logf:    func(_ server.Level, format string, args ...any) { l.t.Logf(format, args...) },
	}, l.eng)
	require.NoError(l.t, err)
	l.srv = srv
}

// openEngine opens and recovers the store that fs holds.
func (l *local) openEngine(fs vfs.FS) *engine.Engine {
	source := clock.Source(l.manual)
	if l.o.systemClock {
		source = clock.System()
	}
	e, err := engine.Open(engine.Options{
		FS: fs, Dir: dataDir, Log: !l.o.noLog, SegmentBytes: segmentBytes, Inline: l.o.inline,
		Shards: l.o.shards, Databases: databases, Clock: clock.New(source, nil),
	})
	require.NoError(l.t, err)
	require.NoError(l.t, e.Recover())
	return e
}

// Advance moves time.
func (l *local) Advance(milli int64) error {
	l.manual.AdvanceMilli(milli)
	return nil
}

// checkReplay compares the state with what a fresh store makes of the log as
// SIGKILL would leave it now: nothing may exist that the log does not hold.
func (l *local) checkReplay() error {
	replayed := l.openEngine(l.fs.Kill())
	defer replayed.Close()
	for _, e := range []*engine.Engine{l.eng, replayed} {
		if err := e.Store.Check(); err != nil {
			return err
		}
	}
	return sameState(l.dump(l.eng), l.dump(replayed))
}

// sameState says which line of two dumps differs first.
func sameState(want, got string) error {
	if want == got {
		return nil
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		a, b := "nothing", "nothing"
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Errorf("state differs:\nwant %s\n got %s", a, b)
		}
	}
	return nil
}

// dump is every live key of every database with all that is kept of it.
func (l *local) dump(e *engine.Engine) string {
	var lines []string
	tx := e.Store.NewTx()
	for db := range databases {
		for cursor := uint64(0); ; {
			tx.Begin(e.Clock.NowMilli(), db)
			cursor = tx.Scan(cursor, 1000, func(key []byte, v shard.Value) {
				lines = append(lines, fmt.Sprintf("db %d key %s type %d raw %t deadline %d value %s",
					db, brief(key), v.Type, v.Raw, v.DeadlineMilli, brief(v.Bytes)))
			})
			tx.End()
			if cursor == 0 {
				break
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n") // SCAN may show a key twice
}

// brief is b, or what tells it from others when it is long.
func brief(b []byte) string {
	if len(b) <= 100 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%d bytes %x", len(b), sha256.Sum256(b))
}

// settings is as much of CONFIG as scripts change.
type settings struct {
	l   *local
	now server.Tunables
}

func (s *settings) Get([]string) [][2]string { return nil }
func (s *settings) Rewrite() error {
	return command.Error("ERR The server is running without a config file")
}

func (s *settings) Set(pairs [][2]string) error {
	t := s.now
	for _, p := range pairs {
		switch p[0] {
		case "requirepass":
			t.Password = p[1]
		case "proto-max-bulk-len":
			n, err := strconv.ParseInt(p[1], 10, 64)
			if err != nil {
				return err
			}
			t.MaxBulkBytes = n
		case "maxmemory-policy":
			policy, ok := policies[p[1]]
			if !ok {
				return fmt.Errorf("no policy %s", p[1])
			}
			t.Eviction = policy
		default:
			return fmt.Errorf("scripts do not change %s", p[0])
		}
	}
	s.now = t
	s.l.srv.Retune(t)
	return nil
}

var policies = map[string]shard.EvictionPolicy{
	"noeviction":  shard.NoEviction,
	"allkeys-lru": shard.AllKeysLRU,
	"allkeys-lfu": shard.AllKeysLFU,
}
