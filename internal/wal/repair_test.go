package wal

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

const testSaveDir = "data/saved"

// repaired repairs what o.FS holds and checks the promise: Open accepts the
// rest, which is the beginning of the workload, and what is gone is in
// testSaveDir.
func repaired(t *testing.T, o Options, note string) (RepairReport, []record) {
	t.Helper()
	mem := o.FS.(*vfs.Mem)
	before := filesOf(t, mem, testDir)
	report, err := Repair(o, testSaveDir)
	require.NoError(t, err, note)
	checkCopies(t, before, mem, note)
	o.FS = mem.Crash(1)
	o.ReachLSN = min(o.ReachLSN, report.LastLSN)
	l, opened, got, err := openLog(o)
	require.NoError(t, err, note)
	require.Equal(t, report.LastLSN, l.Last(), note)
	require.NoError(t, l.Commit(appendRun(l, 1, "goes on")))
	if report.Damage != nil {
		require.Zero(t, opened.CutBytes, note)
	}
	if report.Damage != nil {
		o.FS = mem
		again, err := Repair(o, testSaveDir)
		require.NoError(t, err)
		require.Nil(t, again.Damage, "%s: repaired twice", note)
		require.Equal(t, report.LastLSN, again.LastLSN)
	}
	return report, got
}

// filesOf is every file in dir, without the zeros at its end.
func filesOf(t *testing.T, fsys vfs.FS, dir string) map[string][]byte {
	t.Helper()
	names, err := fsys.List(dir)
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, name := range names {
		b := readFile(t, fsys, dir+"/"+name)
		out[name] = b[:used(b)]
	}
	return out
}

// checkCopies looks for every byte that was in the log, but for zeros, in the
// log as it is now or in one of the copies.
func checkCopies(t *testing.T, before map[string][]byte, fsys vfs.FS, note string) {
	t.Helper()
	now := filesOf(t, fsys, testDir)
	saved := map[string][]byte{}
	if names, err := fsys.List("data"); err == nil && len(names) == 2 {
		saved = filesOf(t, fsys, testSaveDir)
	}
	for name, was := range before {
		if strings.HasSuffix(name, vfs.TempSuffix) {
			continue // was never a segment
		}
		is := now[name]
		if len(was) <= segmentHeaderBytes && bytes.Equal(was, saved[name]) || bytes.Equal(was, is) {
			continue
		}
		if is != nil && bytes.Equal(was[segmentHeaderBytes:], is[segmentHeaderBytes:]) {
			continue // only the size in the header is another
		}
		if whole, ok := saved[name]; ok && bytes.Equal(whole, was) {
			continue
		}
		found := false
		for copied, b := range saved {
			var from int
			rest, ok := strings.CutPrefix(copied, name+".cut-")
			if ok {
				rest, _, _ = strings.Cut(rest, "-")
				_, err := fmt.Sscan(rest, &from)
				require.NoError(t, err)
				found = found || from <= len(was) && bytes.Equal(b, was[from:]) &&
					bytes.HasPrefix(is[segmentHeaderBytes:], was[segmentHeaderBytes:from])
			}
		}
		require.True(t, found, "%s: %s is not in the copies", note, name)
	}
}

// Whatever byte changes, a repair leaves exactly the records before it, and
// when the change hit no frame, all.
func TestRepairOfEveryFlippedByte(t *testing.T) {
	t.Parallel()
	const n = 14
	mem := builtLog(t, n, true)
	whole := filesOf(t, mem, testDir)
	repairs, all := 0, 0
	for _, name := range segments(t, mem) {
		for at := range whole[bytesOf(name)] {
			if at%7 != 0 {
				continue
			}
			broken := mem.Kill()
			b := readFile(t, mem, name)
			b[at] ^= 1 << (at % 8)
			writeFile(t, broken, name, b)
			o := testOptions(broken)
			_, inspected, before := inspectAll(o)
			note := fmt.Sprintf("%s byte %d", name, at)
			report, got := repaired(t, o, note)
			require.Equal(t, inspected, report.Damage, note)
			require.Equal(t, report.LastLSN, LSN(len(got)), note)
			checkRecords(t, got, note)
			require.GreaterOrEqual(t, len(got), len(before), note)
			require.LessOrEqual(t, int64(len(got))+report.LostRecords, int64(n), note)
			if report.Damage != nil {
				repairs++
			}
			if len(got) == n {
				all++
			}
		}
	}
	require.Greater(t, repairs, 500)
	require.Positive(t, all)
}

// inspectAll reads what Inspect yields, with its damage if there is one.
func inspectAll(o Options) (Report, *DamageError, []record) {
	var got []record
	report, err := Inspect(o, func(f *Found) error {
		got = append(got, record{f.LSN, f.TMilli, string(f.Payload)})
		return nil
	}, nil)
	damage, _ := err.(*DamageError)
	return report, damage, got
}

func TestRepair(t *testing.T) {
	t.Parallel()
	type outcome struct {
		last, lost LSN
	}
	f := func(name string, want func(firsts []LSN) outcome, set func(o *Options), breakIt func(t *testing.T, mem *vfs.Mem, segs []string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := builtLog(t, 14, true)
			var firsts []LSN
			for _, info := range mustInspect(t, testOptions(mem)).Files {
				firsts = append(firsts, info.FirstLSN)
			}
			segs := segments(t, mem)
			require.Greater(t, len(segs), 4)
			breakIt(t, mem, segs)
			o := testOptions(mem)
			if set != nil {
				set(&o)
			}
			report, got := repaired(t, o, "")
			require.NotNil(t, report.Damage)
			require.Equal(t, want(firsts), outcome{report.LastLSN, LSN(report.LostRecords)})
			if len(got) > 0 {
				require.Equal(t, report.LastLSN, got[len(got)-1].lsn)
				checkTail(t, got, max(o.FirstLSN, 1)-1, "")
			}
		})
	}
	upTo := func(i int, lostFrom int) func([]LSN) outcome {
		return func(firsts []LSN) outcome {
			if lostFrom < 0 {
				return outcome{firsts[i] - 1, 0}
			}
			return outcome{firsts[i] - 1, 14 + 1 - firsts[lostFrom]}
		}
	}
	nothingLost := func([]LSN) outcome { return outcome{14, 0} }
	edit := func(i int, change func(b []byte) []byte) func(*testing.T, *vfs.Mem, []string) {
		return func(t *testing.T, mem *vfs.Mem, segs []string) {
			writeFile(t, mem, segs[i], change(readFile(t, mem, segs[i])))
		}
	}
	remove := func(i int) func(*testing.T, *vfs.Mem, []string) {
		return func(t *testing.T, mem *vfs.Mem, segs []string) { require.NoError(t, mem.Remove(segs[i])) }
	}
	f("first segment gone", func(firsts []LSN) outcome { return outcome{0, 14 + 1 - firsts[1]} }, nil, remove(0))
	f("middle segment gone", upTo(2, 3), nil, remove(2))
	f("damaged header", upTo(2, 3), nil, edit(2, func(b []byte) []byte { b[35]++; return b }))
	f("header of the first segment", func(firsts []LSN) outcome { return outcome{0, 14 + 1 - firsts[1]} }, nil,
		edit(0, func(b []byte) []byte { b[35]++; return b }))
	f("first frame of a segment", func(firsts []LSN) outcome { return outcome{firsts[2] - 1, 14 + 1 - firsts[2] - 1} }, nil,
		edit(2, func(b []byte) []byte { b[segmentHeaderBytes]++; return b }))
	f("empty file", upTo(2, 3), nil, edit(2, func([]byte) []byte { return nil }))
	f("rubbish behind an end", nothingLost, nil, edit(1, func(b []byte) []byte { b[len(b)-1] = 1; return b }))
	f("zeros lost behind an end", nothingLost, nil, edit(1, func(b []byte) []byte { return b[:used(b)] }))
	f("a name that only looks like a segment's", nothingLost, nil, func(t *testing.T, mem *vfs.Mem, segs []string) {
		writeFile(t, mem, testDir+"/wal-3.seg", readFile(t, mem, segs[2]))
	})
	f("the log was known to reach further", nothingLost, func(o *Options) { o.ReachLSN = 15 },
		func(*testing.T, *vfs.Mem, []string) {})
	f("all before the last segment is bad", nothingLost,
		func(o *Options) { o.FirstLSN = 14 },
		func(t *testing.T, mem *vfs.Mem, segs []string) {
			for i := range segs[:len(segs)-1] {
				edit(i, func(b []byte) []byte { b[segmentHeaderBytes+5]++; return b })(t, mem, segs)
			}
		})
	hit := func(lsns ...LSN) func(*testing.T, *vfs.Mem, []string) {
		return func(t *testing.T, mem *vfs.Mem, segs []string) {
			for _, lsn := range lsns {
				hitRecord(t, mem, lsn)
			}
		}
	}
	behind := func(lsn LSN) func(o *Options) { return func(o *Options) { o.FirstLSN = lsn + 1 } }
	f("before the snapshot's last record", nothingLost, behind(3), hit(1, 2))
	f("the snapshot's last record", nothingLost, behind(2), hit(2))
	f("before and behind the snapshot's last record", func([]LSN) outcome { return outcome{6, 14 - 7} }, behind(2), hit(1, 7))
	f("the record behind the snapshot too", func([]LSN) outcome { return outcome{2, 14 - 3} }, behind(2), hit(2, 3))
	f("no log where one must be", func([]LSN) outcome { return outcome{9, 0} },
		func(o *Options) { o.FirstLSN, o.FirstSegment, o.MustExist, o.LogID = 10, 7, true, 99 },
		func(t *testing.T, mem *vfs.Mem, segs []string) {
			for i := range segs {
				remove(i)(t, mem, segs)
			}
		})
}

// hitRecord damages the frame that holds a record alone.
func hitRecord(t *testing.T, mem *vfs.Mem, lsn LSN) {
	t.Helper()
	hits := 0
	for _, name := range segments(t, mem) {
		b := readFile(t, mem, name)
		for at := range framesOf(t, mem, name) {
			h, ok := decodeFrameHeader(b[at:], salt(b))
			require.True(t, ok)
			if h.records > 0 && h.firstLSN == lsn {
				b[at+frameHeaderBytes]++
				hits++
			}
		}
		writeFile(t, mem, name, b)
	}
	require.Equal(t, 1, hits)
}

// framesOf is the last record, or the one before, of each frame by its offset.
func framesOf(t *testing.T, mem *vfs.Mem, name string) map[int64]LSN {
	t.Helper()
	r := recovery{o: testOptions(mem)}
	defer r.closeFiles()
	file, err := r.openFile(path.Base(name))
	require.NoError(t, err)
	out := map[int64]LSN{}
	require.NoError(t, eachWholeFrame(file, segmentHeaderBytes, func(f *frame, _ bool) bool {
		out[f.offset] = f.firstLSN + LSN(f.records) - 1
		return true
	}))
	return out
}

func salt(segment []byte) uint64 {
	h, _ := decodeSegmentHeader(segment)
	return h.salt
}

// What a snapshot holds is not needed: whatever byte of a frame up to its last
// record changes, all records behind it stay.
func TestRepairKeepsWhatIsBehindTheSnapshot(t *testing.T) {
	t.Parallel()
	const n = 14
	mem := builtLog(t, n, true)
	cut, repairs := 0, 0
	for first := LSN(2); first <= n; first++ {
		for _, name := range segments(t, mem) {
			for at, last := range framesOf(t, mem, name) {
				if last >= first {
					continue
				}
				broken := mem.Kill()
				b := readFile(t, mem, name)
				b[at+int64(cut)%frameHeaderBytes]++
				cut++
				writeFile(t, broken, name, b)
				o := testOptions(broken)
				o.FirstLSN = first
				note := fmt.Sprintf("%s frame at %d, from %d", name, at, first)
				report, got := repaired(t, o, note)
				require.EqualValues(t, n, report.LastLSN, note)
				require.Zero(t, report.LostRecords, note)
				require.Len(t, got, int(n+1-first), note)
				checkTail(t, got, first-1, note)
				if report.Damage != nil {
					repairs++
					require.Positive(t, report.BeginsLSN, note)
					require.LessOrEqual(t, report.BeginsLSN, first, note)
					require.False(t, report.Unreadable, note)
				}
			}
		}
	}
	require.Greater(t, repairs, 15)
}

// A repair says when there may have been records that nothing tells of.
func TestRepairKnowsWhatItCannotKnow(t *testing.T) {
	t.Parallel()
	f := func(name string, want bool, breakIt func(t *testing.T, mem *vfs.Mem, segs []string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := builtLog(t, 14, true)
			breakIt(t, mem, segments(t, mem))
			report, err := Repair(testOptions(mem), "")
			require.NoError(t, err)
			require.NotNil(t, report.Damage)
			require.Equal(t, want, report.Unreadable)
		})
	}
	f("a frame", true, func(t *testing.T, mem *vfs.Mem, _ []string) { hitRecord(t, mem, 14) })
	f("the last segments are gone", true, func(t *testing.T, mem *vfs.Mem, segs []string) {
		for _, name := range segs[3:] {
			require.NoError(t, mem.Remove(name))
		}
	})
	f("a name that is no segment's", false, func(t *testing.T, mem *vfs.Mem, segs []string) {
		writeFile(t, mem, testDir+"/wal-3.seg", readFile(t, mem, segs[2]))
	})
	f("rubbish behind an end", false, func(t *testing.T, mem *vfs.Mem, segs []string) {
		b := readFile(t, mem, segs[1])
		b[len(b)-1] = 1
		writeFile(t, mem, segs[1], b)
	})
}

func mustInspect(t *testing.T, o Options) Report {
	t.Helper()
	report, damage, _ := inspectAll(o)
	require.Nil(t, damage)
	return report
}

// A frame with bad records goes whole, its good records too.
func TestRepairTakesFramesWhole(t *testing.T) {
	t.Parallel()
	o := forge(t, func(h *frameHeader, p []byte) []byte {
		h.records = 3 // there are two
		return p
	})
	report, err := Repair(o, testSaveDir)
	require.NoError(t, err)
	require.Equal(t, DamageRecord, report.Damage.Kind)
	require.Zero(t, report.LastLSN)
	require.EqualValues(t, frameHeaderBytes+13, report.CutBytes)
	require.Equal(t, []string{segmentName(1) + ".cut-64"}, report.Saved)
	_, _, got := mustOpen(t, o)
	require.Empty(t, got)
}

// What a repair is not for stays as it is.
func TestRepairRefuses(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	o := testOptions(mem)
	o.LogID = 5
	_, err := Repair(o, testSaveDir)
	require.ErrorContains(t, err, "it belongs to log")
	o.LogID = 0
	segs := segments(t, mem)
	b := readFile(t, mem, segs[1])
	h, err := decodeSegmentHeader(b)
	require.NoError(t, err)
	h.version = 2
	writeFile(t, mem, segs[1], append(h.encode(), b[segmentHeaderBytes:]...))
	before := filesOf(t, mem, testDir)
	_, err = Repair(o, testSaveDir)
	require.ErrorContains(t, err, "newer Hapax")
	require.Equal(t, before, filesOf(t, mem, testDir))
	names, err := mem.List("data")
	require.NoError(t, err)
	require.Equal(t, []string{"wal"}, names)
}

// The machine stops after every operation of a repair. What is there then is
// refused still, or ends where the repair was to end; the next repair finishes
// it; and no byte is gone.
func TestEveryCrashPointOfRepair(t *testing.T) {
	t.Parallel()
	built := builtLog(t, 14, true)
	segs := segments(t, built)
	f := func(name string, snapshot, want LSN, breakIt func(mem *vfs.Mem)) {
		options := func(fsys vfs.FS) Options {
			o := testOptions(fsys)
			o.FirstLSN = snapshot + 1
			return o
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := built.Kill()
			breakIt(broken)
			before := filesOf(t, broken, testDir)
			for step, finished := 0, false; !finished; step++ {
				for seed := range uint64(4) {
					mem := broken.Kill()
					faulty := vfs.NewFaulty(mem)
					faulty.HaltAfter(step)
					_, err := Repair(options(faulty), testSaveDir)
					finished = err == nil
					left := mem.Crash(seed)
					note := fmt.Sprintf("step %d seed %d", step, seed)
					checkCopies(t, before, left, note)
					opened := left.Kill()
					if l, _, _, err := openLog(options(opened)); err == nil {
						require.Equal(t, want, l.Last(), note)
					} else {
						require.ErrorContains(t, err, "log damaged", note)
						require.False(t, finished, note)
					}
					report, got := repaired(t, options(left), note)
					require.Equal(t, want, report.LastLSN, note)
					require.Len(t, got, int(want-snapshot), note)
					checkCopies(t, before, left, note)
				}
			}
		})
	}
	files := mustInspect(t, testOptions(built)).Files
	f("frame in the middle", 0, files[2].FirstLSN, func(mem *vfs.Mem) {
		b := readFile(t, mem, segs[2])
		second := segmentHeaderBytes + frameHeaderBytes + int(b[segmentHeaderBytes+8]) + int(b[segmentHeaderBytes+9])<<8
		b[second]++
		writeFile(t, mem, segs[2], b)
	})
	f("segment gone", 0, files[3].FirstLSN-1, func(mem *vfs.Mem) {
		require.NoError(t, mem.Remove(segs[3]))
		require.NoError(t, mem.SyncDir(testDir))
	})
	f("first header", 0, 0, func(mem *vfs.Mem) {
		b := readFile(t, mem, segs[0])
		b[40]++
		writeFile(t, mem, segs[0], b)
	})
	last := files[3].FirstLSN // of what the snapshot holds
	f("before the snapshot's last record", last+1, 14, func(mem *vfs.Mem) { hitRecord(t, mem, last) })
	f("the snapshot's last record", last, 14, func(mem *vfs.Mem) { hitRecord(t, mem, last) })
	f("before the snapshot's last record, and behind", last, last+3, func(mem *vfs.Mem) {
		hitRecord(t, mem, last)
		hitRecord(t, mem, last+4)
	})
}

// A repair that cannot go on says so, and can be run again.
func TestRepairFailsOnEveryFailedOperation(t *testing.T) {
	t.Parallel()
	built := builtLog(t, 14, true)
	segs := segments(t, built)
	b := readFile(t, built, segs[2])
	b[segmentHeaderBytes+20]++
	writeFile(t, built, segs[2], b)
	before := filesOf(t, built, testDir)
	for _, op := range []vfs.Op{vfs.OpMkdir, vfs.OpList, vfs.OpOpen, vfs.OpRead, vfs.OpSize, vfs.OpCreate,
		vfs.OpWrite, vfs.OpSync, vfs.OpRename, vfs.OpRemove, vfs.OpSyncDir} {
		hits := 0
		for nth := 1; ; nth++ {
			mem := built.Kill()
			faulty := vfs.NewFaulty(mem)
			faulty.Inject(vfs.Fault{Op: op, Nth: nth, Err: syscall.EIO})
			_, err := Repair(testOptions(faulty), testSaveDir)
			checkCopies(t, before, mem, "")
			if err == nil {
				break
			}
			hits++
			require.ErrorIs(t, err, syscall.EIO)
			repaired(t, testOptions(mem), "again")
		}
		require.Positive(t, hits, "operation %d", op)
	}
}
