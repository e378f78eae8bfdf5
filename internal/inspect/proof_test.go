package inspect

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Each rule of IDEM, broken in a forged log: check names key, records, file,
// offset and rule, and nothing else.
func TestBrokenRules(t *testing.T) {
	t.Parallel()
	const deadline = 1000
	begun := entry{0, pending("k", "f", "me", deadline)}
	done := entry{10, completed("k", "f", "me", "r", deadline)}
	for _, c := range []struct {
		name, rule string
		log        []entry // the last one breaks the rule, the one before is what was there
	}{
		{"two owners", "two owners at once", []entry{begun, {20, pending("k", "f", "you", deadline)}}},
		{"two owners, another fingerprint", "two owners at once", []entry{begun, {20, pending("k", "g", "you", deadline)}}},
		{"two owners a millisecond early", "two owners at once", []entry{begun, {deadline - 1, pending("k", "f", "you", 2*deadline)}}},
		{"one owner twice", "the same owner acquired twice", []entry{begun, {20, pending("k", "f", "me", deadline)}}},
		{"begun again after completion", "a completed record was begun again before its deadline",
			[]entry{begun, done, {20, pending("k", "f", "me", deadline)}}},
		{"another result", "a completed result was changed", []entry{begun, done, {20, completed("k", "f", "me", "other", deadline)}}},
		{"another fingerprint", "completed with another fingerprint", []entry{begun, {20, completed("k", "g", "me", "r", deadline)}}},
		{"fingerprint changed afterwards", "completed with another fingerprint",
			[]entry{begun, done, {20, completed("k", "g", "me", "r", deadline)}}},
		{"another owner completes", "completed by another owner", []entry{begun, {20, completed("k", "f", "you", "r", deadline)}}},
		{"deadline later", "its deadline was moved from 2027-01-15T08:00:01.000Z (1800000001000) to 2027-01-15T08:00:01.001Z (1800000001001)",
			[]entry{begun, {20, completed("k", "f", "me", "r", deadline+1)}}},
		{"deadline earlier", "its deadline was moved from 2027-01-15T08:00:01.000Z (1800000001000) to 2027-01-15T08:00:00.999Z (1800000000999)",
			[]entry{begun, done, {20, completed("k", "f", "me", "r", deadline-1)}}},
		{"never begun", "completed without having been begun", []entry{{0, put("other", "x")}, {20, completed("k", "f", "me", "r", deadline)}}},
		{"no record", "IDEM wrote bytes that are no record", []entry{begun,
			{20, op.Op{Code: op.IdempotencyPut, Key: []byte("k"), Value: []byte("x"), DeadlineMilli: startMilli + deadline}}}},
		{"over a record without deadline", "IDEM wrote over a record without a deadline", []entry{begun,
			{20, op.Op{Code: op.SetDeadline, Key: []byte("k")}}, {30, pending("k", "f", "you", deadline)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			forge(t, fs, c.log...)
			r := check(t, fs, dir)
			require.Empty(t, r.Problems)
			require.False(t, r.Good())
			require.Len(t, r.Idem.Violations, 1, r.text(t))
			v := r.Idem.Violations[0]
			require.Equal(t, c.rule, v.Rule)
			require.Equal(t, "k", string(v.Key))
			require.Equal(t, wal.LSN(len(c.log)), v.LSN)
			require.Equal(t, path.Join(engine.WALDir, "wal-0000000000000001.seg"), v.File)
			require.Equal(t, offsetOf(t, fs, v.LSN), v.Offset)
			if c.rule != "completed without having been begun" {
				require.Equal(t, v.LSN-1, v.Before)
			}
			require.Contains(t, r.text(t), "BROKEN: ")
			require.Contains(t, r.text(t), "\ndamaged: the files are whole, but 1 broken rule of IDEM\n")
		})
	}
}

// offsetOf finds the frame of a record by another way than check.
func offsetOf(t *testing.T, fs vfs.FS, lsn wal.LSN) (offset int64) {
	t.Helper()
	_, err := wal.Inspect(wal.Options{FS: fs, Dir: path.Join(dir, engine.WALDir), FirstLSN: 1}, func(f *wal.Found) error {
		if f.LSN == lsn {
			offset = f.Offset
		}
		return nil
	}, nil)
	require.NoError(t, err)
	return offset
}

// What IDEM and other commands may do, and what of it is listed.
func TestAllowedHistories(t *testing.T) {
	t.Parallel()
	const deadline = 1000
	begun := entry{0, pending("k", "f", "me", deadline)}
	done := entry{10, completed("k", "f", "me", "r", deadline)}
	again := entry{20, pending("k", "g", "you", 2*deadline)}
	record := string(begun.op.Value)
	for _, c := range []struct {
		name     string
		log      []entry
		removals []string
		live     int64
	}{
		{"begun and completed", []entry{begun, done}, nil, 1},
		{"the same completion twice", []entry{begun, done, {20, done.op}}, nil, 1},
		{"another owner at the deadline", []entry{begun, {deadline, pending("k", "f", "you", 2*deadline)}}, nil, 1},
		{"another owner when a completed one is over", []entry{begun, done, {deadline, pending("k", "g", "you", 2*deadline)}}, nil, 1},
		{"completed at a T that the log had passed", []entry{begun, {deadline + 5, completed("k", "f", "me", "r", deadline)}}, nil, 0},
		{"deleted between", []entry{begun, {10, op.Op{Code: op.Delete, Key: []byte("k")}}, again}, []string{"deleted"}, 1},
		{"deleted when it was over", []entry{begun, {deadline, op.Op{Code: op.Delete, Key: []byte("k")}}}, nil, 0},
		{"overwritten, then deleted", []entry{begun, {10, put("k", "x")}, {15, op.Op{Code: op.Delete, Key: []byte("k")}}, again},
			[]string{"overwritten by another command"}, 1},
		{"deadline moved by another command", []entry{begun,
			{10, op.Op{Code: op.SetDeadline, Key: []byte("k"), DeadlineMilli: startMilli + 50}}, {50, again.op}},
			[]string{"another command changed its deadline"}, 1},
		{"completed with the moved deadline", []entry{begun,
			{10, op.Op{Code: op.SetDeadline, Key: []byte("k"), DeadlineMilli: startMilli + 5000}}, {20, completed("k", "f", "me", "r", 5000)}},
			[]string{"another command changed its deadline"}, 1},
		{"edited, so that anything may follow", []entry{begun,
			{10, op.Op{Code: op.Splice, Key: []byte("k"), Offset: 12, Value: []byte("x")}}, {20, completed("k", "f", "xx", "r", deadline)}},
			[]string{"another command edited its bytes"}, 1},
		{"copied to another key and completed there", []entry{begun,
			{10, op.Op{Code: op.Put, Key: []byte("copy"), Value: []byte(record), DeadlineMilli: startMilli + deadline}},
			{20, completed("copy", "f", "me", "r", deadline)}}, nil, 2},
		{"made by hand", []entry{{0, put("k", record[:3])},
			{10, op.Op{Code: op.Splice, Key: []byte("k"), Offset: 3, Value: []byte(record[3:])}},
			{20, op.Op{Code: op.SetDeadline, Key: []byte("k"), DeadlineMilli: startMilli + deadline}},
			{30, completed("k", "f", "me", "r", deadline)}}, nil, 1},
		{"made by hand from nothing like it", []entry{{0, put("k", "x")},
			{10, op.Op{Code: op.Splice, Key: []byte("k"), Offset: 0, Value: []byte(record)}},
			{20, op.Op{Code: op.SetDeadline, Key: []byte("k"), DeadlineMilli: startMilli + deadline}},
			{30, completed("k", "f", "me", "r", deadline)}}, nil, 1},
		{"flushed", []entry{begun, {5, pending("l", "f", "me", 3)}, {10, op.Op{Code: op.FlushDB}}, again},
			[]string{"the database was flushed, with 1 record"}, 1},
		{"all flushed", []entry{begun, {5, pending("l", "f", "me", deadline)}, {10, op.Op{Code: op.FlushAll}}, again},
			[]string{"the database was flushed, with 2 records"}, 1},
		{"another database", []entry{begun, {10, op.Op{Code: op.SwapDB, DB: 0, DB2: 3}}, again, {30, op.Op{Code: op.SwapDB, DB: 3, DB2: 0}}, done}, nil, 2},
		{"moved to another database", []entry{begun,
			{10, op.Op{Code: op.Put, DB: 1, Key: []byte("k"), Value: []byte(record), DeadlineMilli: startMilli + deadline}},
			{10, op.Op{Code: op.Delete, Key: []byte("k")}}, again}, []string{"deleted"}, 2},
		{"another command's string", []entry{{0, put("k", "v")}, {1, op.Op{Code: op.Splice, Key: []byte("k"), Offset: 1, Value: []byte("w")}}}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs := vfs.NewMem()
			forge(t, fs, c.log...)
			r := check(t, fs, dir)
			requireGood(t, r)
			var how []string
			for _, x := range r.Idem.Removals {
				how = append(how, x.How)
				require.Contains(t, r.text(t), "removed: record "+milliRecord(&x))
			}
			require.Equal(t, c.removals, how)
			require.Equal(t, c.live, r.Idem.Live)
		})
	}
}

func milliRecord(x *Removal) string { return x.Place.text()[len("record "):] }

// Memory holds live records only: what is over is dropped as the log goes by.
func TestClaimsThatAreOverAreDropped(t *testing.T) {
	t.Parallel()
	p := newProof()
	for i := range int64(20_000) {
		o := pending("key"+string(rune('a'+i%26))+milliTime(i), "f", "o", i+10)
		p.record(Place{LSN: wal.LSN(i + 1), TMilli: startMilli + i}, &o)
		require.LessOrEqual(t, p.size, int64(minSweep))
	}
	require.Equal(t, int64(10), p.finish().Live)
	require.Zero(t, p.report.Broken)
}

// More violations than are listed are still counted.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	p := newProof()
	for i := range 3 * maxListed {
		o := pending("k", "f", "o"+milliTime(int64(i)), 1000)
		p.record(Place{LSN: wal.LSN(i + 1), TMilli: startMilli}, &o)
		d := op.Op{Code: op.Delete, Key: []byte("l")}
		q := pending("l", "f", "o", 1000)
		p.record(Place{LSN: wal.LSN(i + 1), TMilli: startMilli}, &q)
		p.record(Place{LSN: wal.LSN(i + 1), TMilli: startMilli}, &d)
	}
	require.Equal(t, int64(3*maxListed-1), p.report.Broken)
	require.Len(t, p.report.Violations, maxListed)
	require.Equal(t, int64(3*maxListed), p.report.Removed)
	require.Len(t, p.report.Removals, maxListed)
}

// A refused transition in idem's own words: check accepts exactly what the
// transitions of IDEM produce.
func TestTransitionsOfIdemAreAccepted(t *testing.T) {
	t.Parallel()
	fs := vfs.NewMem()
	s := start(t, fs)
	for i := range 400 {
		key := string(rune('a' + i%7))
		s.begin(0, key, "f", string(rune('A'+i%3)), 5)
		s.complete(0, key, "f", string(rune('A'+i%2)), "r")
		if i%11 == 0 {
			s.src.AdvanceMilli(4)
		}
	}
	require.NotZero(t, s.Last())
	s.stop()
	r := check(t, fs, dir)
	requireGood(t, r)
	require.NotZero(t, r.Idem.Completed)
	require.Greater(t, r.Idem.Begun, r.Idem.Completed)
}
