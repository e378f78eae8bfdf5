package script

import (
	"fmt"
	"hash/fnv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCrash runs every script with a power cut after every step: what was not
// synced is lost, kept or torn, the server starts on the rest, and the script
// goes on as if nothing had happened. The whole state is compared as well,
// since a script sees only the keys it asks for.
func TestCrash(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *Script) {
		if s.NoCrash != "" {
			t.Skip("not with crashes: " + s.NoCrash)
		}
		// What survives depends on neither protocol nor shards; two runs
		// cover both of each.
		for _, o := range []struct{ shards, proto int }{{1, 3}, {4, 2}} {
			if s.Resp != 0 {
				o.proto = s.Resp
			}
			t.Run(fmt.Sprintf("shards%d/resp%d", o.shards, o.proto), func(t *testing.T) {
				target := startMemory(t, localOptions{shards: o.shards})
				seed := seedOf(t.Name())
				r := Runner{Target: target, Proto: o.proto, Crash: func() error {
					seed++
					return target.crash(seed)
				}}
				require.NoError(t, r.Run(s))
			})
		}
	})
}

// seedOf gives each run crashes of its own, the same ones every time.
func seedOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// crash cuts the power and starts again; the state must be the same.
func (m *memory) crash(seed uint64) error {
	fs := m.fs.Crash(seed)
	before := m.dump(m.eng)
	if err := m.restart(fs); err != nil {
		return err
	}
	err := sameState(before, m.dump(m.eng))
	if err == nil {
		err = m.eng.Store.Check()
	}
	if err != nil {
		return fmt.Errorf("after a crash with seed %d: %w", seed, err)
	}
	return nil
}
