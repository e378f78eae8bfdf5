package sim

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/hapaxkv/hapax/internal/shard"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed alone")
	seedsFlag = flag.Int("seeds", ordinarySeeds, "how many seeds the random tests run")
	firstFlag = flag.Uint64("first", 1, "the first of them")
	wholeFlag = flag.Bool("whole", false, "crash at every pair of operations, not at a sample")
	showFlag  = flag.Bool("show", false, "print what happens, with -seed")
)

// hashSeed fixes the order of keys for the process, so that a seed gives the
// same run in every process.
const hashSeed = 1

func TestMain(m *testing.M) {
	flag.Parse()
	shard.SeedHash(hashSeed)
	code := m.Run()
	fmt.Println(total.String())
	os.Exit(code)
}

// total counts over all tests of the process.
var total counts

type counts struct {
	seeds, restarts, kills, powerCuts atomic.Int64
	recoveryCrashes                   atomic.Int64
	snapshots, damaged, faults        atomic.Int64
	run, acknowledged, refused        atomic.Int64
}

func (c *counts) String() string {
	return fmt.Sprintf("sim: %d seeds, %d crash points (%d kills, %d power cuts, %d of them during recovery), "+
		"%d restarts in order, %d snapshots, %d of them damaged later, %d faults, %d commands run, %d acknowledged and checked, %d refused by a full disk",
		c.seeds.Load(), c.kills.Load()+c.powerCuts.Load(), c.kills.Load(), c.powerCuts.Load(), c.recoveryCrashes.Load(),
		c.restarts.Load(), c.snapshots.Load(), c.damaged.Load(), c.faults.Load(), c.run.Load(), c.acknowledged.Load(), c.refused.Load())
}

// seeds are those that a random test runs.
func seeds() []uint64 {
	if *seedFlag != 0 {
		return []uint64{*seedFlag}
	}
	var out []uint64
	for i := range uint64(*seedsFlag) {
		out = append(out, *firstFlag+i)
	}
	return out
}
