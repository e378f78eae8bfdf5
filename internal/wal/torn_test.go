package wal

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/vfs"
)

// killedLog is a log of one prepared segment, killed behind its last frame,
// which holds payload alone. lead bytes come before it in the same segment.
type killedLog struct {
	o          Options
	mem        *vfs.Mem
	name       string
	whole      []byte
	start, end int // of the last frame
}

func newKilledLog(t *testing.T, lead int, payload string) *killedLog {
	t.Helper()
	k := &killedLog{mem: vfs.NewMem()}
	k.o = testOptions(k.mem)
	k.o.SegmentBytes = 1 << 13
	l, _, _ := mustOpen(t, k.o)
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("l", lead))))
	k.start = int(l.w.offset)
	require.NoError(t, l.Commit(appendRun(l, 1, payload)))
	k.end = int(l.w.offset)
	k.name = segments(t, k.mem)[0]
	k.whole = readFile(t, k.mem, k.name)
	return k
}

// leadTo is a lead after which the last frame starts at an offset.
func leadTo(offset int) int {
	return offset - segmentHeaderBytes - frameHeaderBytes - recordHeaderBytes - 1
}

// opened opens the log after edit changed its segment.
func (k *killedLog) opened(t *testing.T, edit func(b []byte)) (Report, []record, error) {
	t.Helper()
	o := k.o
	o.FS = k.mem.Kill()
	b := bytes.Clone(k.whole)
	edit(b)
	writeFile(t, o.FS, k.name, b)
	_, report, got, err := openLog(o)
	if err != nil {
		require.Equal(t, b, readFile(t, o.FS, k.name), "refusing changes nothing")
	} else if report.CutBytes > 0 {
		require.Equal(t, b[k.start:k.start+int(report.CutBytes)], readFile(t, o.FS, report.CutSavedAs))
	}
	return report, got, err
}

// A byte that changes in the last frame of a killed run, behind which nothing
// proves it synced, is no torn write: no sector of the frame is as it was
// before (I9).
func TestFlippedByteAfterSIGKILL(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"short", strings.Repeat("long", 400)} {
		k := newKilledLog(t, leadTo(1500), payload) // the header crosses a sector
		for at := segmentHeaderBytes; at < k.end; at++ {
			_, _, err := k.opened(t, func(b []byte) { b[at] ^= 0x40 })
			var damage *DamageError
			require.ErrorAs(t, err, &damage, "byte %d", at)
			require.Equal(t, DamageFrame, damage.Kind)
			switch {
			case at < k.start:
				require.ErrorContains(t, err, "proves that it was synced")
			case at < k.start+frameHeaderBytes:
				require.ErrorContains(t, err, "the header of frame 2 was written whole")
				require.EqualValues(t, k.start, damage.Offset)
			default:
				require.ErrorContains(t, err, "every sector of frame 2 was written")
				require.EqualValues(t, k.start, damage.Offset)
			}
		}
	}
}

// Whatever sectors a torn write left out, wherever the frame begins, the tail
// is cut; and never when it left out none.
func TestTornFrameIsCut(t *testing.T) {
	t.Parallel()
	for start := 1100; start < 1100+sectorBytes; start += 7 {
		k := newKilledLog(t, leadTo(start), strings.Repeat("x", 1500))
		require.Equal(t, start, k.start)
		first, sectors := k.start/sectorBytes, (k.end-1)/sectorBytes-k.start/sectorBytes+1
		for lost := range 1 << sectors {
			report, got, err := k.opened(t, func(b []byte) {
				for i := range sectors {
					if lost>>i&1 == 1 {
						from := max(k.start, (first+i)*sectorBytes)
						clear(b[from:min(k.end, (first+i+1)*sectorBytes)])
					}
				}
			})
			require.NoError(t, err, "frame at %d, lost sectors %b", start, lost)
			require.Equal(t, lost != 0 && lost != 1<<sectors-1, report.CutBytes > 0)
			if lost == 0 {
				require.Len(t, got, 2)
				continue
			}
			require.Len(t, got, 1)
		}
	}
}

// What cannot be proven is cut: a frame one of whose sectors holds zeros when
// it is whole, and a frame that goes beyond the prepared space.
func TestFlippedByteWhereNothingIsProven(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"a sector of zeros": "a" + strings.Repeat("\x00", 2*sectorBytes) + "b",
		"beyond the space":  strings.Repeat("x", 1<<14),
	} {
		k := newKilledLog(t, leadTo(1100), payload)
		if name == "beyond the space" {
			k.o.FS = vfs.NewMem()
			k.mem = k.o.FS.(*vfs.Mem)
			l, _, _ := mustOpen(t, k.o)
			k.start = int(l.w.offset)
			require.NoError(t, l.Commit(appendRun(l, 1, payload)))
			k.end = int(l.w.offset)
			k.whole = readFile(t, k.mem, k.name)
		}
		report, _, err := k.opened(t, func(b []byte) { b[k.start+frameHeaderBytes+5] ^= 1 })
		require.NoError(t, err, name)
		require.EqualValues(t, k.end-k.start, report.CutBytes, name)
		// The header is one that a torn write leaves whole or not at all.
		_, _, err = k.opened(t, func(b []byte) { b[k.start+20] ^= 1 })
		require.ErrorContains(t, err, "was written whole", name)
	}
}

// Bytes that somebody appended are no torn frame of this log.
func TestRubbishBehindTheLastFrame(t *testing.T) {
	t.Parallel()
	k := newKilledLog(t, leadTo(1100), "last")
	_, _, err := k.opened(t, func(b []byte) { copy(b[k.end:], "rubbish") })
	require.ErrorContains(t, err, "the header of frame 3 was written whole")
}

// A crash between the copy and the cut leaves the copy; the next one at the
// same place is kept apart from it.
func TestCutsAreKeptApart(t *testing.T) {
	t.Parallel()
	k := newKilledLog(t, leadTo(1100), strings.Repeat("x", 2000))
	var saved, torn []string
	for lost := 2; lost < 4; lost++ {
		b := bytes.Clone(k.whole)
		clear(b[(k.start/sectorBytes+lost-1)*sectorBytes:][:sectorBytes])
		writeFile(t, k.mem, k.name, b)
		_, report, got := mustOpen(t, k.o)
		require.Len(t, got, 1)
		require.EqualValues(t, k.end-k.start, report.CutBytes)
		saved, torn = append(saved, report.CutSavedAs), append(torn, string(b[k.start:k.end]))
	}
	require.NotEqual(t, saved[0], saved[1])
	for i := range saved {
		require.Equal(t, torn[i], string(readFile(t, k.mem, saved[i])))
	}
}

// Under EverySec a power cut may keep a later frame and lose an earlier one.
// None of them was known to be synced, so that is a torn tail.
func TestUnsyncedFramesMayBeLostOutOfOrder(t *testing.T) {
	t.Parallel()
	mem := vfs.NewMem()
	o := testOptions(mem)
	o.SegmentBytes, o.Policy = 1<<16, Never
	l, _, _ := mustOpen(t, o)
	require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("s", 1000))))
	require.NoError(t, l.syncWritten())
	var ends []int64
	for range 3 {
		require.NoError(t, l.Commit(appendRun(l, 1, strings.Repeat("u", 1000))))
		ends = append(ends, l.w.offset)
	}
	name := segments(t, mem)[0]
	lose := func(at int64) {
		broken := mem.Kill()
		b := readFile(t, broken, name)
		clear(b[at/sectorBytes*sectorBytes:][:sectorBytes])
		writeFile(t, broken, name, b)
		o.FS = broken
	}
	lose(ends[0] + sectorBytes) // a sector in the second of the unsynced frames
	_, report, got := mustOpen(t, o)
	require.Len(t, got, 2)
	require.Equal(t, ends[2]-ends[0], report.CutBytes)

	lose(sectorBytes) // in the frame that was synced
	_, _, _, err := openLog(o)
	require.ErrorContains(t, err, "proves that it was synced")
}

// Frames of all sizes on their way at once, a power cut at a random moment,
// over and over: nothing that a crash leaves is taken for damage.
func TestNoCrashLooksLikeDamage(t *testing.T) {
	t.Parallel()
	cuts := 0
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 9))
		mem := vfs.NewMem()
		o := testOptions(mem)
		o.SegmentBytes, o.Policy = 1<<14, Policy(seed%3)
		l, _, _ := mustOpen(t, o)
		for range 1 + rnd.IntN(12) {
			payload := strings.Repeat(string(rune(rnd.IntN(3))), rnd.IntN(1<<rnd.IntN(13)))
			require.NoError(t, l.Commit(appendRun(l, 1, payload)))
			if rnd.IntN(5) == 0 {
				require.NoError(t, l.syncWritten())
			}
		}
		synced := l.Synced()
		for crash := range uint64(12) {
			o.FS = mem.Crash(crash)
			_, report, got, err := openLog(o)
			require.NoError(t, err, "seed %d, crash %d", seed, crash)
			require.GreaterOrEqual(t, LSN(len(got)), synced)
			if report.CutBytes > 0 {
				cuts++
			}
		}
	}
	require.Greater(t, cuts, 100)
}

// What is written to a segment that is only prepared is damage of that one,
// and the good live segment before it is not to blame.
func TestRubbishInAPreparedSegment(t *testing.T) {
	t.Parallel()
	for _, records := range []int{0, 1, 13} {
		for _, at := range []int{segmentHeaderBytes, 200, 800} {
			mem := builtLog(t, records, false)
			l, _, _ := mustOpen(t, testOptions(mem))
			l.prepareOne()
			mem = mem.Kill()
			names := segments(t, mem)
			prepared := names[len(names)-1]
			b := readFile(t, mem, prepared)
			require.Equal(t, segmentHeaderBytes, used(b))
			b[at] ^= 4
			b[at+9] ^= 1
			writeFile(t, mem, prepared, b)
			kind, err := kindOf(t, testOptions(mem))
			require.Equal(t, DamagePrepared, kind)
			require.ErrorContains(t, err, prepared)
			var damage *DamageError
			require.ErrorAs(t, err, &damage)
			require.EqualValues(t, at, damage.Offset)
			// The advice is good.
			require.NoError(t, mem.Rename(prepared, "data/aside"))
			_, _, got := mustOpen(t, testOptions(mem))
			require.Len(t, got, records)
		}
	}
}

// A segment that lost its end is to blame itself when a later one holds frames,
// whatever became of the first of them.
func TestLostEndBeforeASegmentInUse(t *testing.T) {
	t.Parallel()
	for _, behind := range []int{1, 2, -1} { // -1: the end frame is there, but not whole
		wiped := behind > 0
		behind = max(behind, 1)
		mem := builtLog(t, 12, true)
		names := segments(t, mem)
		edit := func(name string, change func(b []byte)) {
			b := readFile(t, mem, name)
			change(b)
			writeFile(t, mem, name, b)
		}
		lost, next := names[len(names)-1-behind], names[len(names)-behind]
		edit(lost, func(b []byte) {
			end := used(b) - controlFrameBytes
			b[end]++
			if wiped {
				clear(b[end:])
			}
		})
		refused := func() {
			kind, err := kindOf(t, testOptions(mem))
			require.Equal(t, DamageFrame, kind)
			require.ErrorContains(t, err, lost)
		}
		refused()
		edit(next, func(b []byte) { b[segmentHeaderBytes+1]++ })
		refused()
		// Nothing of the next one is left. But one more is there, or the
		// end frame that is not whole shows that there was one.
		if behind > 1 || !wiped {
			edit(next, func(b []byte) { copy(b[segmentHeaderBytes:], bytes.Repeat([]byte("x"), used(b)-segmentHeaderBytes)) })
			refused()
		}
	}
}
