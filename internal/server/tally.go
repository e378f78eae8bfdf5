package server

import (
	"sync"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
)

// tally is what one executor counts, without atomics. Its sums reach the
// server's totals at the end of a round.
//
// Time per command: two readings of the clock would cost a tenth of a GET, so
// of the grouped commands, which are short, one call in sampleCalls is timed
// and stands for the others of its row. The rest are timed one by one.
type tally struct {
	rows     []rowTally // by Command.ID
	touched  []int      // rows to publish
	counters command.Counters
	errors   map[string]int64

	nowNano int64 // when the clock was last read; 0 when it wasn't in this turn

	commands                                     int64
	netIn, netOut                                int64
	errorReplies, protocolErrors                 int64
	outputLimitCloses, queryLimitCloses, evicted int64
	groupCommits, groupedReplies                 int64
}

// rowTally is one row of the command table.
type rowTally struct {
	calls, rejected, failed int64
	timedCalls, timedNano   int64
	touched                 bool
}

const (
	sampleCalls  = 16
	fewArguments = 8 // more may take long even in a short command
	untimed      = 0
)

func (t *tally) touch(row *rowTally, id int) {
	if !row.touched {
		row.touched = true
		t.touched = append(t.touched, id)
	}
}

// begin counts a call. It returns when it began, or untimed.
func (t *tally) begin(row *rowTally, cmd *command.Command, argc int, c *clock.Clock) int64 {
	t.touch(row, cmd.ID())
	t.commands++
	row.calls++
	if cmd.Group == command.Grouped && argc <= fewArguments && row.calls%sampleCalls != 1 {
		return untimed
	}
	t.nowNano = max(c.MonoNano(), 1)
	return t.nowNano
}

// finish adds the time of a call that was timed.
func (t *tally) finish(started int64, row *rowTally, c *clock.Clock) {
	if started != untimed {
		t.nowNano = max(c.MonoNano(), started)
		row.timedCalls++
		row.timedNano += t.nowNano - started
	}
}

func (t *tally) errorReply(code string) {
	if t.errors == nil {
		t.errors = make(map[string]int64)
	}
	t.errors[code]++
	t.errorReplies++
}

// totals are the sums over all executors.
type totals struct {
	mu       sync.Mutex
	rows     []rowTally
	counters command.Counters
	errors   map[string]int64
	sum      sums
	rates    rates
}

// sums are plain counters since the start or the last CONFIG RESETSTAT.
type sums struct {
	connections, rejectedConnections        int64
	commands, netIn, netOut                 int64
	errorReplies, protocolErrors            int64
	outputLimitCloses, queryLimitCloses     int64
	hits, misses, expired, evicted, changes int64
	groupCommits, groupedReplies            int64
}

func (t *totals) init() {
	t.rows = make([]rowTally, command.Count())
	t.errors = make(map[string]int64)
}

// publish moves what from counted since the last time into the totals. tx may
// be nil.
func (t *totals) publish(from *tally, tx *shard.Tx) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range from.touched {
		row := &from.rows[id]
		total := &t.rows[id]
		total.calls += row.calls
		total.rejected += row.rejected
		total.failed += row.failed
		total.timedCalls += row.timedCalls
		total.timedNano += row.timedNano
		*row = rowTally{}
	}
	from.touched = from.touched[:0]
	t.counters.Add(&from.counters)
	from.counters = command.Counters{}
	for code, n := range from.errors {
		t.errors[code] += n
	}
	clear(from.errors)

	s := &t.sum
	s.commands += from.commands
	s.netIn += from.netIn
	s.netOut += from.netOut
	s.errorReplies += from.errorReplies
	s.protocolErrors += from.protocolErrors
	s.outputLimitCloses += from.outputLimitCloses
	s.queryLimitCloses += from.queryLimitCloses
	s.evicted += from.evicted
	s.groupCommits += from.groupCommits
	s.groupedReplies += from.groupedReplies
	from.commands, from.netIn, from.netOut, from.errorReplies, from.protocolErrors = 0, 0, 0, 0, 0
	from.outputLimitCloses, from.queryLimitCloses, from.evicted = 0, 0, 0
	from.groupCommits, from.groupedReplies = 0, 0
	if tx != nil {
		s.hits += tx.Hits
		s.misses += tx.Misses
		s.expired += tx.Expired
		s.changes += tx.Writes
		tx.Hits, tx.Misses, tx.Expired, tx.Writes = 0, 0, 0, 0
	}
}

// add changes sums outside of a round.
func (t *totals) add(change func(s *sums)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.sum)
}

// reset is CONFIG RESETSTAT.
func (t *totals) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.rows)
	clear(t.errors)
	t.counters = command.Counters{}
	changes := t.sum.changes // since the start, not a statistic
	t.sum = sums{changes: changes}
	t.rates = rates{}
}

// micro is the time all calls of a row took, those not timed estimated by
// those that were.
func (r *rowTally) micro() int64 {
	if r.timedCalls == 0 {
		return 0
	}
	return int64(float64(r.timedNano) / 1000 * float64(r.calls) / float64(r.timedCalls))
}

// rates are sampled by cron.
type rates struct {
	samples [rateSamples]rateSample
	next    int
	last    sums // at the last sample
	lastAt  int64
}

const rateSamples = 16

type rateSample struct{ commands, in, out float64 } // per second

// sample notes what went by since the last one.
func (t *totals) sample(nowNano int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.rates
	if elapsed := float64(nowNano-r.lastAt) / 1e9; r.lastAt > 0 && elapsed > 0 {
		r.samples[r.next%rateSamples] = rateSample{
			commands: float64(t.sum.commands-r.last.commands) / elapsed,
			in:       float64(t.sum.netIn-r.last.netIn) / elapsed,
			out:      float64(t.sum.netOut-r.last.netOut) / elapsed,
		}
		r.next++
	}
	r.last, r.lastAt = t.sum, nowNano
}

// mean is the average of the samples.
func (r *rates) mean() (m rateSample) {
	for _, s := range r.samples {
		m.commands += s.commands / rateSamples
		m.in += s.in / rateSamples
		m.out += s.out / rateSamples
	}
	return m
}
