package server

import "github.com/hapaxkv/hapax/internal/wal"

// placeChooser decides where a loop's commits run. In the loop a commit costs
// no hand-over: with one client and a sync of 340 µs that is half the CPU per
// request and a third more requests. But it stalls whoever has something to
// say meanwhile and wouldn't have to wait for the log. So, in auto:
//
//   - While a sync takes less than the threshold, in the loop: nobody is
//     stalled for long.
//   - While it takes several times as long, on the syncer: the hand-over
//     doesn't count any more. (With 2 ms and 50 writers both are equal.)
//   - In between, in the loop unless there are bystanders: connections that
//     said something while a commit was under way and got their answer without
//     waiting for one. Writers are none, however many they are.
type placeChooser struct {
	onSyncer bool
	crowd    int64 // bystanders of a commit, moving average in 1/crowdUnit

	// Of the present commit, or the last one in the loop.
	commit     uint32 // which one: a connection is counted once
	bystanders int64
	behind     bool // this round is the first one behind a commit in the loop
}

const (
	// The latency must cross a limit by a quarter to change the place, so that
	// it does not flap.
	hysteresisDivisor = 4
	farThreshold      = 4 // times the threshold: the syncer, whoever is there

	// A commit in four with a bystander is too many for the loop, one in eight
	// few enough. A client that says something now and then changes nothing.
	crowdUnit   = 1 << 10
	crowdWeight = 32 // commits that the average looks back on, about
	crowded     = crowdUnit / 4
	deserted    = crowdUnit / 8
	crowdMax    = 8 // more bystanders than this count as this many
)

// inLoop says where the next commit runs. latencyMicro is the log's average.
func (p *placeChooser) inLoop(t *Tunables, latencyMicro int64) bool {
	switch {
	case t.SyncPlace == "loop":
		p.onSyncer = false
	case t.SyncPlace == "syncer":
		p.onSyncer = true
	case t.Fsync != wal.Always:
		// A commit is a write to the kernel; the log syncs on its own.
		p.onSyncer = false
	case p.onSyncer:
		p.onSyncer = !under(latencyMicro, t.SyncThresholdMicro) &&
			(p.crowd > deserted || !under(latencyMicro, farThreshold*t.SyncThresholdMicro))
	default:
		p.onSyncer = over(latencyMicro, t.SyncThresholdMicro) &&
			(p.crowd > crowded || over(latencyMicro, farThreshold*t.SyncThresholdMicro))
	}
	return !p.onSyncer
}

func over(micro, limit int64) bool  { return micro > limit+limit/hysteresisDivisor }
func under(micro, limit int64) bool { return micro < limit-limit/hysteresisDivisor }

// counts says whether bystanders matter, so that it pays to look for them.
func (p *placeChooser) counts(t *Tunables, latencyMicro int64) bool {
	return t.SyncPlace == "auto" && t.Fsync == wal.Always && !under(latencyMicro, t.SyncThresholdMicro)
}

// began starts the count for another commit.
func (p *placeChooser) began() {
	p.commit++
	p.bystanders = 0
}

// ended takes the count of a commit into the average.
func (p *placeChooser) ended() {
	p.crowd += (min(p.bystanders, crowdMax)*crowdUnit - p.crowd) / crowdWeight
	p.bystanders, p.behind = 0, false
}

// saw counts a connection that said something during the present commit and
// did not wait for the log. last is the commit it waited for or was counted
// with; the result is what last is then.
func (p *placeChooser) saw(last uint32) uint32 {
	if last != p.commit {
		p.bystanders++
	}
	return p.commit
}
