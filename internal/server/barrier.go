package server

import "github.com/hapaxkv/hapax/internal/wal"

// placeChooser decides where a loop's commits run (design: the place of the
// sync follows its measured latency). In the loop a commit costs no hand-over,
// which is best while the disk is fast; on the syncer thread it stalls no
// reader, which is best when it is slow.
type placeChooser struct {
	onSyncer bool
	rounds   int // of commits handed to the syncer since the last probe
}

const (
	// The latency must cross the threshold by a quarter to change the place,
	// so that it does not flap.
	hysteresisDivisor = 4
	// A probe is one commit in the loop although the syncer's turn it is. It
	// is made only while the average is near enough for it to be cheap.
	probeRounds    = 256
	probeThreshold = 4
)

// inLoop says where the next commit runs. latencyMicro is the log's average.
func (p *placeChooser) inLoop(t *Tunables, latencyMicro int64) bool {
	switch {
	case t.SyncPlace == "loop":
		p.onSyncer = false
		return true
	case t.SyncPlace == "syncer":
		p.onSyncer = true
		return false
	case t.Fsync != wal.Always:
		// A commit is a write to the kernel; the log syncs on its own.
		p.onSyncer = false
		return true
	}
	limit := t.SyncThresholdMicro
	slack := limit / hysteresisDivisor
	if !p.onSyncer {
		p.onSyncer = latencyMicro > limit+slack
		p.rounds = 0
		return !p.onSyncer
	}
	if latencyMicro < limit-slack {
		p.onSyncer = false
		return true
	}
	p.rounds++
	if p.rounds >= probeRounds && latencyMicro < probeThreshold*limit {
		p.rounds = 0
		return true
	}
	return false
}
