package wal

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// breakAtRandom does one kind of harm to a log.
func breakAtRandom(t *testing.T, rnd *rand.Rand, mem *vfs.Mem) string {
	segs := segments(t, mem)
	if len(segs) == 0 {
		return "nothing left"
	}
	i := rnd.IntN(len(segs))
	name := segs[i]
	b := readFile(t, mem, name)
	at := 0
	if len(b) > 0 {
		at = rnd.IntN(len(b))
	}
	switch kind := rnd.IntN(7); {
	case kind == 0:
		require.NoError(t, mem.Remove(name))
		return "removed " + name
	case kind == 1:
		other := segs[rnd.IntN(len(segs))]
		writeFile(t, mem, name, readFile(t, mem, other))
		return name + " is a copy of " + other
	case len(b) == 0:
		return "nothing in " + name
	case kind == 2:
		writeFile(t, mem, name, b[:at])
		return fmt.Sprintf("%s truncated at %d", name, at)
	case kind == 3:
		clear(b[at:min(at+sectorBytes, len(b))])
	case kind == 4:
		copy(b[at:], b[:min(300, at)])
	case kind == 5:
		copy(b[at:], "rubbish")
	default:
		b[at] ^= 1 << rnd.IntN(8)
	}
	writeFile(t, mem, name, b)
	return fmt.Sprintf("%s changed at %d", name, at)
}

// Whatever happened to a log, a repair leaves one that opens, with the records
// of the workload up to some record, and copies of all that went.
func TestRepairOfRandomDamage(t *testing.T) {
	t.Parallel()
	built := builtLog(t, 14, true)
	report := mustInspect(t, testOptions(built))
	repairs, whole := 0, 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		mem := built.Kill()
		note := fmt.Sprintf("seed %d", seed)
		for range 1 + rnd.IntN(3) {
			note += ", " + breakAtRandom(t, rnd, mem)
		}
		require.NoError(t, mem.SyncDir(testDir))
		o := testOptions(mem)
		if rnd.IntN(2) == 0 {
			o.FirstLSN = LSN(1 + rnd.IntN(15))
		}
		if rnd.IntN(2) == 0 {
			o.LogID, o.MustExist = report.LogID, true
		}
		note += fmt.Sprintf(", from %d", o.FirstLSN)
		got, records := repaired(t, o, note)
		if got.Damage != nil {
			repairs++
		} else if got.LastLSN == 14 {
			whole++
		}
		first := max(o.FirstLSN, 1)
		checkTail(t, records, first-1, note)
		require.Equal(t, got.LastLSN, first-1+LSN(len(records)), note)
	}
	require.Greater(t, repairs, 200)
	require.Positive(t, whole)
}
