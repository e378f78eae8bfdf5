package wal

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// builtLog is a log of several segments and n records. Sealed logs were closed
// in order, the others are as SIGKILL leaves them.
func builtLog(t *testing.T, n int, sealed bool) *vfs.Mem {
	t.Helper()
	mem := vfs.NewMem()
	l, _, _ := mustOpen(t, testOptions(mem))
	for range n {
		require.NoError(t, l.Commit(appendScripted(l, 1)))
	}
	if sealed {
		require.NoError(t, l.Close())
	}
	return mem.Kill()
}

// used is the content of a segment without the zeros at its end.
func used(b []byte) int { return trimZeros(b) }

// Whatever single byte changes in a log that was closed in order, or opened
// again after it was not, opening it refuses or yields every record: nothing is lost in silence.
func TestFlippedByteIsNeverSilentLoss(t *testing.T) {
	t.Parallel()
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		flipEveryByte(t, builtLog(t, 14, true), 14)
	})
	t.Run("killed and opened", func(t *testing.T) {
		t.Parallel()
		mem := builtLog(t, 14, false)
		_, _, _ = mustOpen(t, testOptions(mem))
		flipEveryByte(t, mem.Kill(), 14)
	})
	t.Run("sectors lost after the sync", func(t *testing.T) {
		t.Parallel()
		loseEverySector(t)
	})
}

// loseEverySector takes sectors back to the zeros they held before, as a torn
// write leaves them: only a later frame can tell that they were synced.
func loseEverySector(t *testing.T) {
	mem := vfs.NewMem()
	o := testOptions(mem)
	o.SegmentBytes = 1 << 16
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendScripted(l, 6)))
	require.NoError(t, l.Commit(appendScripted(l, 8)))
	require.NoError(t, l.Close())
	name := segments(t, mem)[0]
	whole := readFile(t, mem, name)
	seal := used(whole) - controlFrameBytes
	require.Greater(t, seal, 8*sectorBytes)
	for at := sectorBytes; at+sectorBytes <= seal; at += sectorBytes {
		o.FS = mem.Kill()
		b := bytes.Clone(whole)
		clear(b[at : at+sectorBytes])
		writeFile(t, o.FS, name, b)
		kind, err := kindOf(t, o)
		require.Equal(t, DamageFrame, kind)
		require.ErrorContains(t, err, "proves that it was synced", "sector at %d", at)
	}
}

func flipEveryByte(t *testing.T, mem *vfs.Mem, n int) {
	names := segments(t, mem)
	require.Greater(t, len(names), 3)
	refused, kept := 0, 0
	for i, name := range names {
		whole := readFile(t, mem, name)
		for at := range whole {
			if at > used(whole)+70 && at%97 != 0 {
				continue // zeros are alike
			}
			broken := mem.Kill()
			b := bytes.Clone(whole)
			b[at] ^= 1 << (at % 8)
			writeFile(t, broken, name, b)
			_, _, got, err := openLog(testOptions(broken))
			var damage *DamageError
			if errors.As(err, &damage) {
				refused++
				require.Equal(t, bytesOf(name), damage.Segment, "%s byte %d", name, at)
				require.Equal(t, testDir, damage.Dir)
				require.LessOrEqual(t, damage.Offset, int64(at))
				continue
			}
			require.NoError(t, err)
			kept++
			require.Len(t, got, n, "%s byte %d", name, at)
			checkRecords(t, got, name)
			// What may change without a refusal is space not written to.
			require.Equal(t, len(names)-1, i)
			require.GreaterOrEqual(t, at, used(whole))
		}
	}
	require.Greater(t, refused, 3000)
	require.Positive(t, kept)
}

func bytesOf(path string) string { return path[len(testDir)+1:] }

// kindOf opens a log and returns the kind of its damage, with the whole error.
func kindOf(t *testing.T, o Options) (Damage, error) {
	t.Helper()
	_, _, _, err := openLog(o)
	var damage *DamageError
	require.ErrorAs(t, err, &damage)
	require.ErrorContains(t, err, "Nothing was changed")
	require.ErrorContains(t, err, damageAdvice[damage.Kind])
	return damage.Kind, err
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := func(name string, want Damage, breakIt func(t *testing.T, mem *vfs.Mem, segs []string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := builtLog(t, 14, true)
			breakIt(t, mem, segments(t, mem))
			writeFile(t, mem, testDir+"/wal-0000000000000099.seg.tmp", []byte("unfinished"))
			faulty := vfs.NewFaulty(mem)
			kind, err := kindOf(t, testOptions(faulty))
			require.Equal(t, want, kind, "%v", err)
			require.Equal(t, 1, faulty.Changes(), "nothing but the directory was asked for")
		})
	}
	remove := func(i func(n int) int) func(*testing.T, *vfs.Mem, []string) {
		return func(t *testing.T, mem *vfs.Mem, segs []string) {
			require.NoError(t, mem.Remove(segs[i(len(segs))]))
		}
	}
	edit := func(i int, change func(b []byte) []byte) func(*testing.T, *vfs.Mem, []string) {
		return func(t *testing.T, mem *vfs.Mem, segs []string) {
			writeFile(t, mem, segs[i], change(readFile(t, mem, segs[i])))
		}
	}
	f("first segment gone", DamageMissing, remove(func(int) int { return 0 }))
	f("middle segment gone", DamageMissing, remove(func(n int) int { return n / 2 }))
	f("last segment gone", DamageMissing, remove(func(n int) int { return n - 1 }))
	f("last two segments gone", DamageMissing, func(t *testing.T, mem *vfs.Mem, segs []string) {
		require.NoError(t, mem.Remove(segs[len(segs)-1]))
		require.NoError(t, mem.Remove(segs[len(segs)-2]))
	})
	f("two segments exchanged", DamageForeign, func(t *testing.T, mem *vfs.Mem, segs []string) {
		require.NoError(t, mem.Rename(segs[1], "data/aside"))
		require.NoError(t, mem.Rename(segs[2], segs[1]))
		require.NoError(t, mem.Rename("data/aside", segs[2]))
	})
	f("segment of another log", DamageForeign, func(t *testing.T, mem *vfs.Mem, segs []string) {
		other := vfs.NewMem()
		o := testOptions(other)
		o.Salt = saltsFrom(99)
		l, _, _ := mustOpen(t, o)
		for range 14 {
			require.NoError(t, l.Commit(appendScripted(l, 1)))
		}
		require.NoError(t, l.Close())
		writeFile(t, mem, segs[2], readFile(t, other, segs[2]))
	})
	f("older copy of a segment", DamageFrame, edit(1, func(b []byte) []byte {
		clear(b[used(b)-controlFrameBytes:])
		return b
	}))
	f("name that only looks like a segment's", DamageForeign, func(t *testing.T, mem *vfs.Mem, segs []string) {
		writeFile(t, mem, testDir+"/wal-3.seg", readFile(t, mem, segs[2]))
	})
	f("empty file", DamageHeader, edit(1, func([]byte) []byte { return nil }))
	f("other file", DamageForeign, edit(1, func([]byte) []byte { return bytes.Repeat([]byte("text"), 100) }))
	f("damaged header", DamageHeader, edit(1, func(b []byte) []byte { b[35]++; return b }))
	f("newer version", DamageVersion, edit(1, func(b []byte) []byte {
		h, err := decodeSegmentHeader(b)
		require.NoError(t, err)
		h.version = 2
		return append(h.encode(), b[segmentHeaderBytes:]...)
	}))
	f("truncated", DamageSize, edit(0, func(b []byte) []byte { return b[:len(b)-1] }))
	f("last one truncated between frames", DamageSize, func(t *testing.T, mem *vfs.Mem, segs []string) {
		name := segs[len(segs)-1]
		writeFile(t, mem, name, readFile(t, mem, name)[:segmentHeaderBytes])
	})
	f("rubbish behind the end", DamageFrame, edit(0, func(b []byte) []byte { b[len(b)-1] = 1; return b }))
}

// A second segment is prepared only behind one that was ended, so two empty
// ones tell that an end is lost; one tells nothing.
func TestEmptySegmentsBehindALostEnd(t *testing.T) {
	t.Parallel()
	for _, records := range []int{0, 2} {
		mem := builtLog(t, records, false)
		h, err := decodeSegmentHeader(readFile(t, mem, segments(t, mem)[0]))
		require.NoError(t, err)
		for seq := uint64(2); seq <= 3; seq++ {
			h.seq, h.sizeBytes = seq, segmentHeaderBytes
			writeFile(t, mem, testDir+"/"+segmentName(h.seq), h.encode())
			_, _, got, err := openLog(testOptions(mem.Kill()))
			if seq < 3 {
				require.NoError(t, err)
				require.Len(t, got, records)
				continue
			}
			require.Error(t, err, "%d records, %d segments", records, seq)
			kind, err := kindOf(t, testOptions(mem.Kill()))
			require.Equal(t, DamageFrame, kind)
			require.ErrorContains(t, err, "the end of the segment is lost")
		}
	}
}

// forge writes a segment with one frame that is good but for what change does.
func forge(t *testing.T, change func(h *frameHeader, payload []byte) []byte) Options {
	t.Helper()
	mem := vfs.NewMem()
	require.NoError(t, mem.MkdirAll(testDir))
	sh := segmentHeader{version: formatVersion, logID: 1, seq: 1, salt: 2, sizeBytes: segmentHeaderBytes}
	h := frameHeader{salt: 2, seq: 1, firstLSN: 1, records: 2, firstT: 100}
	payload := change(&h, []byte{2, 0, 0, 0, 0, 'a', 3, 0, 0, 0, 5, 'b', 'c'})
	h.payloadBytes, h.payloadCRC = uint64(len(payload)), checksum(payload)
	frame := append(make([]byte, frameHeaderBytes), payload...)
	h.put(frame)
	writeFile(t, mem, testDir+"/"+segmentName(1), append(sh.encode(), frame...))
	return testOptions(mem)
}

// A frame whose checksums are right but whose content is not was never torn.
func TestForgedFramesAreRefused(t *testing.T) {
	t.Parallel()
	_, _, got := mustOpen(t, forge(t, func(_ *frameHeader, p []byte) []byte { return p }))
	require.Equal(t, []record{{1, 100, "a"}, {2, 105, "bc"}}, got)

	f := func(name string, want Damage, change func(h *frameHeader, payload []byte) []byte) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, err := kindOf(t, forge(t, change))
			require.Equal(t, want, kind, "%v", err)
		})
	}
	same := func(set func(h *frameHeader)) func(*frameHeader, []byte) []byte {
		return func(h *frameHeader, p []byte) []byte { set(h); return p }
	}
	f("sequence gap", DamageChain, same(func(h *frameHeader) { h.seq = 2 }))
	f("record gap", DamageChain, same(func(h *frameHeader) { h.firstLSN = 2 }))
	f("other chain", DamageChain, same(func(h *frameHeader) { h.prevCRC = 7 }))
	f("too few records", DamageRecord, same(func(h *frameHeader) { h.records = 1 }))
	f("too many records", DamageRecord, same(func(h *frameHeader) { h.records = 3 }))
	f("records without any", DamageRecord, same(func(h *frameHeader) { h.records = 0 }))
	f("T overflows", DamageRecord, same(func(h *frameHeader) { h.firstT = 1<<63 - 3 }))
	f("T before the log's", DamageChain, same(func(h *frameHeader) { h.firstT = -5 }))
	f("unknown control frame", DamageRecord, func(h *frameHeader, _ []byte) []byte {
		h.records = 0
		return []byte{9}
	})
	f("record longer than the frame", DamageRecord, func(_ *frameHeader, p []byte) []byte { p[0] = 200; return p })
	f("record of four gigabytes", DamageRecord, func(_ *frameHeader, p []byte) []byte {
		return append([]byte{255, 255, 255, 255}, p...)
	})
	f("empty record", DamageRecord, func(h *frameHeader, _ []byte) []byte {
		h.records = 1
		return []byte{0, 0, 0, 0}
	})
	f("T delta without end", DamageRecord, func(h *frameHeader, _ []byte) []byte {
		h.records = 1
		return []byte{2, 0, 0, 0, 0x80, 0x80}
	})
}

// A length that points behind the file is not believed.
func TestHugeFrameLengthIsATornTail(t *testing.T) {
	t.Parallel()
	o := forge(t, func(_ *frameHeader, p []byte) []byte { return p })
	name := testDir + "/" + segmentName(1)
	for _, n := range []uint64{14, 1 << 40, 1<<64 - 1} {
		b := readFile(t, o.FS, name)[:segmentHeaderBytes+frameHeaderBytes+13]
		h := frameHeader{salt: 2, seq: 1, firstLSN: 1, records: 2, firstT: 100, payloadBytes: n}
		h.put(b[segmentHeaderBytes:])
		mem := vfs.NewMem()
		require.NoError(t, mem.MkdirAll(testDir))
		writeFile(t, mem, name, b)
		fresh := o
		fresh.FS = mem
		_, report, got := mustOpen(t, fresh)
		require.Empty(t, got)
		require.Positive(t, report.CutBytes, "%d", n)
	}
}

func TestLogThatASnapshotPrecedes(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	o := testOptions(mem)
	open := func(first LSN) error {
		o.FS, o.FirstLSN = mem.Kill(), first
		_, _, _, err := openLog(o)
		return err
	}
	require.NoError(t, open(15), "the snapshot holds all of it")
	require.ErrorContains(t, open(16), "ends before record 16")
	segs := segments(t, mem)
	require.NoError(t, mem.Remove(segs[0]))
	o.FS, o.FirstLSN = mem.Kill(), 14
	l, report, got := mustOpen(t, o)
	require.EqualValues(t, 14, report.FirstLSN)
	require.Equal(t, []record{{14, tOf(14), payloadOf(14)}}, got)
	require.EqualValues(t, 14, report.LastLSN)
	first := l.keep.starts[0].first
	require.Greater(t, first, LSN(1))
	require.NoError(t, open(first))
	require.ErrorContains(t, open(first-1), fmt.Sprintf("the log begins at record %d", first))
	for _, s := range segments(t, mem) {
		require.NoError(t, mem.Remove(s))
	}
	o.MustExist = true
	require.ErrorContains(t, open(2), "there is no log")
}

// What a crash leaves unfinished goes, what is not the log's stays.
func TestOtherFilesInTheDirectory(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 3, true)
	for _, name := range []string{"wal-0000000000000009.seg.tmp", "wal-0000000000000001.seg.cut-64.tmp", "notes.txt", "other.tmp"} {
		writeFile(t, mem, testDir+"/"+name, []byte("x"))
	}
	_, _, got := mustOpen(t, testOptions(mem))
	require.Len(t, got, 3)
	names, err := mem.List(testDir)
	require.NoError(t, err)
	require.Contains(t, names, "notes.txt")
	require.Contains(t, names, "other.tmp")
	for _, name := range names {
		require.False(t, name != "other.tmp" && bytes.HasSuffix([]byte(name), []byte(vfs.TempSuffix)), name)
	}
}

func TestReadErrorNamesThePlace(t *testing.T) {
	t.Parallel()
	mem := builtLog(t, 14, true)
	for nth := 1; ; nth++ {
		faulty := vfs.NewFaulty(mem.Kill())
		broken := errors.New("bad sector")
		faulty.Inject(vfs.Fault{Op: vfs.OpRead, Nth: nth, Err: broken})
		_, _, _, err := openLog(testOptions(faulty))
		if err == nil {
			require.Greater(t, nth, 20)
			return
		}
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, "wal-")
	}
}

// A message names what is known of the place, no more.
func TestDamageMessages(t *testing.T) {
	t.Parallel()
	const tools = "; else hapax-server restore a backup, or see what hapax-server repair can keep"
	f := func(name, want string, set func(o *Options), breakIt func(t *testing.T, mem *vfs.Mem, segs []string)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := builtLog(t, 14, true)
			o := testOptions(mem)
			o.LogID = mustInspect(t, o).LogID
			segs := segments(t, mem)
			breakIt(t, mem, segs)
			set(&o)
			_, _, _, err := openLog(o)
			what, place, _ := strings.Cut(want, ": ")
			require.EqualError(t, err, "log "+what+": data/wal/"+place)
		})
	}
	from := func(lsn LSN, segment uint64) func(o *Options) {
		return func(o *Options) { o.FirstLSN, o.FirstSegment = lsn, segment }
	}
	f("before any frame", "damaged: wal-0000000000000001.seg, offset 300: the file has 300 bytes, it was made with 900. "+
		"Nothing was changed. To go on, put a whole copy of the file there"+tools, from(1, 1),
		func(t *testing.T, mem *vfs.Mem, segs []string) {
			writeFile(t, mem, segs[0], readFile(t, mem, segs[0])[:300])
		})
	f("behind a frame", "damaged: wal-0000000000000003.seg, offset 64, after record 4: no whole frame is here, but the segment was "+
		"synced to its end before the next one was begun. Nothing was changed. To go on, put a good copy of the file there"+tools,
		from(1, 1), func(t *testing.T, mem *vfs.Mem, segs []string) {
			b := readFile(t, mem, segs[2])
			b[segmentHeaderBytes]++
			writeFile(t, mem, segs[2], b)
		})
	missing := "damaged: wal-0000000000000003.seg: the log begins with this file, which is not there. " +
		"Nothing was changed. To go on, put the missing file back" + tools
	f("the first file", missing, from(5, 3), func(t *testing.T, mem *vfs.Mem, segs []string) {
		for _, name := range segs[:3] {
			require.NoError(t, mem.Remove(name))
		}
	})
	f("the first file, and the next is empty", missing, from(5, 3), func(t *testing.T, mem *vfs.Mem, segs []string) {
		b := readFile(t, mem, segs[3])
		clear(b[segmentHeaderBytes:])
		writeFile(t, mem, segs[3], b)
		for i, name := range segs {
			if i != 3 {
				require.NoError(t, mem.Remove(name))
			}
		}
	})
	f("all files", "damaged: wal-0000000000000003.seg, after record 4: there is no log, but a snapshot needs it from record 5 on. "+
		"Nothing was changed. To go on, put the missing file back"+tools,
		func(o *Options) { o.FirstLSN, o.FirstSegment, o.MustExist = 5, 3, true },
		func(t *testing.T, mem *vfs.Mem, segs []string) {
			for _, name := range segs {
				require.NoError(t, mem.Remove(name))
			}
		})
	f("a newer version", "not known: wal-0000000000000001.seg, offset 8: the segment has a format version that this Hapax does not know (2, this one knows 1). "+
		"Nothing was changed. To go on, start the newer Hapax that wrote it", from(1, 1),
		func(t *testing.T, mem *vfs.Mem, segs []string) {
			b := readFile(t, mem, segs[0])
			h, err := decodeSegmentHeader(b)
			require.NoError(t, err)
			h.version = 2
			writeFile(t, mem, segs[0], append(h.encode(), b[segmentHeaderBytes:]...))
		})
}
