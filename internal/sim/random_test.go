package sim

import (
	"errors"
	"fmt"
	"path"
	"syscall"
	"testing"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// A random run is rounds that each end with a restart: an orderly one, a kill,
// a power cut, at a moment between two steps or inside one, during recovery
// too. Everything that is checked is in world_test.go and client_test.go.

const (
	roundsPerSeed = 6
	stepsPerRound = 60
)

func TestRandom(t *testing.T) {
	for _, seed := range seeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			runRandom(t, seed, false)
		})
	}
}

// The same with another order of keys after every start, as real processes
// have. They share one, so these runs come one after the other.
func TestRandomSecrets(t *testing.T) {
	defer shard.SeedHash(hashSeed)
	for i, seed := range seeds() {
		if i%4 == 0 {
			shard.SeedHash(seed)
			runRandom(t, seed, true)
		}
	}
}

// A seed replays bit for bit: the trace holds every command, reply, log line
// and crash.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 10; seed++ {
		first, second := runRandom(t, seed, false), runRandom(t, seed, false)
		if first != second {
			t.Fatalf("seed %d gave two runs", seed)
		}
	}
}

// runRandom returns the hash of the trace.
func runRandom(t *testing.T, seed uint64, newSecrets bool) uint64 {
	total.seeds.Add(1)
	w := prepare(t, seed, options{})
	w.seed = seed
	r := &random{world: w, gen: generator{rnd: w.rnd, gentle: seed%4 == 0}, newSecrets: newSecrets}
	r.choose()
	if err := w.open(); err != nil {
		w.fail("the first start: %v", err)
	}
	for range roundsPerSeed {
		r.round()
	}
	w.discard()
	return w.trace.Sum64()
}

type random struct {
	*world
	gen        generator
	newSecrets bool // at every start
}

// choose is what may differ from one start to the next.
func (r *random) choose() {
	policies := []wal.Policy{wal.Always, wal.Always, wal.Never}
	r.o = options{
		clients:      1 + r.rnd.IntN(4),
		shards:       1 << r.rnd.IntN(4),
		policy:       policies[r.rnd.IntN(len(policies))],
		segmentBytes: 8 << 10 << r.rnd.IntN(3),
		direct:       r.rnd.IntN(2) == 0,
	}
	r.o.memoryOnly = r.rnd.IntN(8) == 0
	if r.rnd.IntN(3) == 0 {
		r.o.rules = engine.CheckpointRules{LogMinBytes: 4 << 10, LogGrowthPercent: 100}
	}
	r.note("options %+v", r.o)
}

// round runs steps until the server stops, and starts it again.
func (r *random) round() {
	r.plan()
	for range stepsPerRound {
		if r.step(); r.eng.Err() != nil || r.halted() {
			r.again(crash(r.rnd.IntN(2)))
			return
		}
	}
	if r.rnd.IntN(3) > 0 {
		r.again(crash(r.rnd.IntN(2)))
		return
	}
	if err := r.stop(); err != nil {
		r.note("the stop failed: %v", err)
		r.again(crash(r.rnd.IntN(2)))
		return
	}
	r.again(kill)
}

// plan decides how the machine fails in this round, if it does.
func (r *random) plan() {
	switch r.rnd.IntN(8) {
	case 0, 1:
		n := r.rnd.IntN(120)
		r.note("the machine stops after %d operations", n)
		r.fs.HaltAfter(n)
	case 2, 3:
		r.fault()
	case 4:
		r.fillDisk()
	}
}

// fault makes one operation fail, for good or for once.
func (r *random) fault() {
	ops := []vfs.Op{vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpSyncDir, vfs.OpCreate, vfs.OpRemove, vfs.OpTruncate, vfs.OpOpen, vfs.OpRead}
	errs := []error{syscall.EIO, syscall.EIO, syscall.ENOSPC}
	f := vfs.Fault{Op: ops[r.rnd.IntN(len(ops))], Nth: 1 + r.rnd.IntN(40), Err: errs[r.rnd.IntN(len(errs))]}
	if f.Op == vfs.OpWrite {
		f.ShortBytes = r.rnd.IntN(2000)
	}
	r.inject(f)
}

// fillDisk makes the disk full, or only new files fail, until the round ends or
// there is room again.
func (r *random) fillDisk() {
	switch {
	case r.o.memoryOnly:
	case r.rnd.IntN(2) == 0:
		r.inject(vfs.Fault{Op: vfs.OpCreate, Nth: 1 + r.rnd.IntN(6), Err: syscall.ENOSPC, Sticky: true})
	default:
		r.note("the disk is full")
		total.faults.Add(1)
		r.settleAll()
		r.faulty, r.full = true, true
		r.fs.Full(true)
	}
}

func (r *random) inject(f vfs.Fault) {
	r.note("fault %v in call %d of %x, after %d bytes", f.Err, f.Nth, f.Op, f.ShortBytes)
	total.faults.Add(1)
	r.faulty = true
	if f.Err == syscall.ENOSPC && !r.o.memoryOnly && r.eng != nil {
		r.settleAll()
		r.full = true
	}
	r.fs.Inject(f)
}

// again brings the machine back, through crashes of recovery itself.
func (r *random) again(how crash) {
	r.crashed(how)
	r.choose()
	if r.newSecrets {
		shard.SeedHash(r.rnd.Uint64())
	}
	if r.o.memoryOnly && how == kill {
		// Without a log a start changes nothing on disk, so what only the
		// kernel has would stay so, and a later power cut be another start.
		how = power
		r.crashed(power)
	}
	r.elapse()
	r.damage()
	for tries := r.rnd.IntN(3); tries > 0; tries-- {
		n := r.rnd.IntN(40)
		r.fs.HaltAfter(n)
		err := r.open()
		if err == nil && !r.halted() {
			break
		}
		if err != nil && !errors.Is(err, vfs.ErrHalted) {
			r.fail("the server does not start again: %v", err)
		}
		next := crash(r.rnd.IntN(2))
		if r.o.memoryOnly {
			next = power
		}
		total.recoveryCrashes.Add(1)
		r.note("the machine stopped again, after %d operations of recovery", n)
		r.crashed(next)
		how = max(how, next)
	}
	r.fs.Clear()
	if r.eng == nil && r.rnd.IntN(4) == 0 {
		r.failingStart()
	}
	if r.eng == nil {
		r.recover(how)
	} else {
		r.checkRecovered(how)
	}
}

// failingStart starts on a disk that fails once. The server may come up all the
// same, or say why not; then nothing is lost, and the next start finds it all.
func (r *random) failingStart() {
	r.fault()
	if err := r.open(); err != nil {
		r.note("no start: %v", err)
	}
	r.fs.Clear()
	if r.eng != nil {
		r.commit() // there may be no next segment yet
	}
}

// damage breaks the newest snapshot now and then, when another way leads to the
// same state: the one before it with its log, or the whole log. None leads to a
// snapshot that was made without a log.
func (r *random) damage() {
	m, err := engine.ReadManifest(r.mem, dataDir)
	if err != nil {
		r.fail("the manifest: %v", err)
	}
	if m == nil || m.LogID == 0 || r.o.memoryOnly || r.rnd.IntN(4) > 0 {
		return
	}
	switch len(m.Snapshots) {
	case 0:
		return
	case 1:
		if m.FirstSegment > 1 || r.logged < wholeLog {
			return
		}
	default:
		if r.logged < 2 {
			return
		}
	}
	if r.logged < wholeLog {
		r.logged = 1 // this one is gone then
	}
	name := path.Join(dataDir, engine.SnapshotDir, engine.SnapshotName(m.Snapshots[0].ID))
	f, err := r.mem.Open(name)
	if err != nil {
		r.fail("a snapshot that the manifest names: %v", err)
	}
	defer f.Close()
	size, _ := f.Size()
	at, b := r.rnd.Int64N(size), []byte{0}
	_, _ = f.ReadAt(b, at)
	b[0] ^= byte(1 + r.rnd.IntN(255))
	_, _ = f.WriteAt(b, at)
	_ = f.Sync()
	total.damaged.Add(1)
	r.broken = name
	r.note("byte %d of %s is another", at, name)
}

// elapse is what happens to the clocks while the server is down.
func (r *random) elapse() {
	switch r.rnd.IntN(4) {
	case 0:
		r.source.StepWallMilli(-r.rnd.Int64N(100_000))
	case 1:
		r.source.StepWallMilli(r.rnd.Int64N(5_000))
	case 2:
		r.source.AdvanceMilli(r.rnd.Int64N(5_000))
	}
}

func (r *random) step() {
	c := r.clients[r.rnd.IntN(len(r.clients))]
	switch n := r.rnd.IntN(24); {
	case n < 9:
		r.send(c, r.gen.next()...)
	case n < 12:
		for range 2 + r.rnd.IntN(6) {
			r.send(c, r.gen.next()...)
		}
	case n < 14:
		_ = r.settle(c) // round looks at the log's error
	case n < 15:
		r.settleAll()
	case n < 16:
		r.commit()
	case n < 21:
		r.background()
	default:
		r.tick()
	}
	r.collectAll()
}

// background is what the server does by itself.
func (r *random) background() {
	switch r.rnd.IntN(12) {
	case 0:
		r.expire()
	case 1:
		r.sync()
	case 2:
		r.cron()
	case 3:
		if r.rnd.IntN(4) == 0 {
			r.note("cancel: %t", r.eng.CancelSnapshot())
		}
	case 4:
		if r.full && r.rnd.IntN(3) == 0 {
			r.note("the disk has room again")
			r.fs.Clear()
			r.fs.Full(false)
		}
	case 5, 6:
		r.startSnapshot()
	default:
		r.stepSnapshot(1 + r.rnd.IntN(12))
	}
}

// tick lets time pass.
func (r *random) tick() {
	switch r.rnd.IntN(6) {
	case 0:
		r.source.StepWallMilli(r.rnd.Int64N(4000) - 2000)
	case 1:
		r.source.AdvanceMilli(r.rnd.Int64N(3000))
	default:
		r.source.AdvanceMilli(r.rnd.Int64N(100))
	}
	r.note("T %d", r.now()-startMilli)
}
