package snapshot

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// reseal makes every checksum, salt, block number and the index of b right, as
// far as b has the shape of a snapshot. So what is wrong otherwise is reached.
func reseal(b []byte) []byte {
	if len(b) < headerBytes+footerBytes {
		return b
	}
	seal := func(b []byte) { binary.LittleEndian.PutUint32(b[len(b)-4:], checksum(b[:len(b)-4])) }
	seal(b[:headerBytes])
	salt := saltOf(b[:headerBytes])
	foot := b[len(b)-footerBytes:]
	rest := b[headerBytes : len(b)-footerBytes]
	var index []byte
	for seq := uint32(1); len(rest) >= blockHeaderBytes; seq++ {
		payload := rest[blockHeaderBytes:]
		if stored := binary.LittleEndian.Uint64(rest[8:]); stored <= uint64(len(payload)) {
			payload = payload[:stored]
		}
		if kind(rest[48]) == kindIndex {
			copy(payload, index)
		}
		binary.LittleEndian.PutUint64(rest, salt)
		binary.LittleEndian.PutUint32(rest[40:], seq)
		binary.LittleEndian.PutUint32(rest[56:], checksum(payload))
		seal(rest[:blockHeaderBytes])
		index = append(index, rest[:blockHeaderBytes]...)
		rest = rest[blockHeaderBytes+len(payload):]
	}
	binary.LittleEndian.PutUint64(foot, salt)
	seal(foot)
	return b
}

// Where things are in the file of small().
func smallParts(t testing.TB, whole []byte) (pieces, records, index, foot int64) {
	t.Helper()
	r, err := Open(&bytesFile{b: whole}, "snap")
	require.NoError(t, err)
	require.Len(t, r.blocks, 2)
	last := &r.blocks[1]
	return r.blocks[0].at, last.at, last.at + blockHeaderBytes + int64(last.storedBytes), int64(len(whole)) - footerBytes
}

// What a later version may bring is called that, whole as it is; it is not
// guessed at and not called damage (I7).
func TestNewerIsNotDamage(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, small())
	require.Equal(t, whole, reseal(slices.Clone(whole)))
	pieces, records, index, foot := smallParts(t, whole)
	f := func(name string, at int64, value byte, reason string) {
		t.Helper()
		b := slices.Clone(whole)
		b[at] = value
		damage := requireDamage(t, reseal(b), "%s", name)
		require.True(t, damage.Newer, "%s: %v", name, damage)
		require.Contains(t, damage.Reason, reason, name)
	}
	f("version", 8, 2, "unknown version of the format")
	f("version", 11, 1, "unknown version of the format")
	f("flags", 12, 1, "unknown flags in the header")
	f("field in the header", 123, 1, "unknown flags in the header")
	f("kind", pieces+48, 4, "unknown kind of block")
	f("kind", records+48, 0, "unknown kind of block")
	f("codec", pieces+49, 1, "unknown compression of a block")
	f("codec", records+49, 255, "unknown compression of a block")
	f("codec of the index", index+49, 1, "unknown compression of a block")
	f("field of a block", records+50, 1, "unknown fields in the header of a block")
	f("field in the footer", foot+100, 1, "unknown fields in the footer")
	f("opcode of an entry", pieces+blockHeaderBytes+1, 200, "unknown opcode 200")
	f("opcode of a record", records+blockHeaderBytes+2, 99, "unknown opcode 99")
	require.EqualError(t, requireDamage(t, reseal(append(slices.Clone(whole[:8]), append([]byte{7}, whole[9:]...)...)), "7"),
		"snapshot not known: snap, offset 8: unknown version of the format. Nothing was changed. "+
			"To go on, start the newer Hapax that wrote it")
}

// A later version may lay out everything anew but the first 12 bytes of the
// header and its checksum; it is still told from damage.
func TestNewerVersionOfAnyShape(t *testing.T) {
	t.Parallel()
	b := make([]byte, 4096)
	for i := range b {
		b[i] = byte(i * 7)
	}
	copy(b, fileMagic)
	binary.LittleEndian.PutUint32(b[8:], 2)
	binary.LittleEndian.PutUint32(b[headerBytes-4:], checksum(b[:headerBytes-4]))
	require.True(t, requireDamage(t, b, "version 2").Newer)
}

// Files that a broken writer could make: every checksum is right.
func TestImpossibleContentIsRefused(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, small())
	pieces, records, index, foot := smallParts(t, whole)
	f := func(name string, edit func(b []byte), reason string) {
		t.Helper()
		b := slices.Clone(whole)
		edit(b)
		damage := requireDamage(t, reseal(b), "%s", name)
		require.False(t, damage.Newer, "%s: %v", name, damage)
		require.Contains(t, damage.Reason, reason, name)
	}
	add := func(at int64, n uint64) func(b []byte) {
		return func(b []byte) {
			binary.LittleEndian.PutUint64(b[at:], binary.LittleEndian.Uint64(b[at:])+n)
		}
	}
	const less = ^uint64(0)
	f("pieces begin late", add(pieces+24, 1), "block 1 does not follow")
	f("first LSN of the block", add(pieces+32, 1), "the first piece is not of the record")
	f("an entry more", add(pieces+40, 1<<32), "there are 7 entries, not 6")
	f("records begin late", add(records+24, 1), "block 2 does not follow")
	f("a record more", add(records+40, 1<<32), "there are 10 records between 40 and 49")
	f("T of the first record", add(records+32, 1<<63), "block 2 does not follow")
	f("T beyond the end", add(records+32, 1_700_000_000_000), "the time of a record is not possible")
	f("records as pieces", func(b []byte) { b[records+48] = byte(kindPieces) }, "block 2 does not follow")
	f("pieces as records", func(b []byte) { b[pieces+48] = byte(kindRecords) }, "kind that does not belong there")
	f("an index among the blocks", func(b []byte) { b[records+48] = byte(kindIndex) }, "kind that does not belong there")
	f("no index", func(b []byte) { b[index+48] = byte(kindRecords) }, "the index does not match")
	f("index of another length", add(index+8, less), "")
	f("two lengths", add(pieces+16, 1), "has two lengths")
	f("place of the index", add(foot+8, blockHeaderBytes), "")
	f("place of the index", add(foot+8, 1), "place of the index is impossible")
	f("place of the index", add(foot+8, 1<<40), "place of the index is impossible")
	f("place of the index", add(foot+8, 1<<63), "place of the index is impossible")
	f("first LSN", add(foot+16, less), "block 2 does not follow")
	f("last LSN", add(foot+24, 1), "there are 9 records between 40 and 50")
	f("T at the end", add(foot+32, 1<<63), "earlier time than it began")
	f("T at the end before T at the beginning", add(64, 1_000_000), "earlier time than it began")
	f("pieces", add(foot+40, 1), "there are 4 pieces, not 5")
	f("keys", add(foot+48, less), "there are 6 entries, not 5")
	f("records", add(foot+56, 1), "there are 9 records between")

	entry := pieces + blockHeaderBytes
	f("an entry that is too long", func(b []byte) { b[entry] = 0xff; b[entry+1] = 0x7f }, "an entry is longer than its block")
	f("an entry with a needless byte in its length", func(b []byte) { b[entry], b[entry+1] = 0x80, 0 }, "an entry is longer")
	f("an entry that is no Put", func(b []byte) { b[entry+1] = byte(op.Delete) }, "bytes after the end")
	f("a piece that ends too early", add(records-16, less), "block 1 does not end where the next one begins")
	f("a piece of a later record", add(records-8, 5), "block 1 does not end where the next one begins")
	f("a record that is too long", func(b []byte) { b[records+blockHeaderBytes] = 100 }, "a record is longer than its block")
	f("a record that is too short", func(b []byte) { b[records+blockHeaderBytes]-- }, "")
	both := func(edits ...func(b []byte)) func(b []byte) {
		return func(b []byte) {
			for _, edit := range edits {
				edit(b)
			}
		}
	}
	f("an entry more, in the footer too", both(add(pieces+40, 1<<32), add(foot+48, 1)), "block 1 does not end where")
	f("a record less, in the footer too", both(add(records+40, 1<<64-1<<32), add(foot+24, less), add(foot+56, less)),
		"something behind the last record")
	f("an entry that deletes", func(b []byte) {
		copy(b[entry+1:], op.Append(nil, &op.Op{Code: op.Delete, Key: []byte("12345")}))
	}, "an entry has opcode 2")
	first := entry // of the end of the first piece
	for i := range small().pieces[0].entries {
		first += int64(len(appendEntry(nil, &small().pieces[0].entries[i])))
	}
	require.Zero(t, whole[first])
	third := records - pieceEndBytes
	for i := range small().pieces[3].entries {
		third -= int64(len(appendEntry(nil, &small().pieces[3].entries[i])))
	}
	third -= pieceEndBytes
	require.Zero(t, whole[third])
	f("a first piece of a later record", add(first+9, 1), "a piece does not follow")
	f("a first piece without places", func(b []byte) { clear(b[first+1 : first+9]) }, "a piece does not follow")
	f("a piece that ends before it begins", add(third+1, 1<<64-15996<<32), "a piece does not follow")
	f("a piece of an earlier record", add(third+9, less), "a piece does not follow")
	f("a first record with a time of its own", func(b []byte) { b[records+blockHeaderBytes+1] = 1 }, "time of a record")
}

// Each of these is one checksum or field off where another one, a little later,
// would find it too; the first line of defence has to hold alone.
func TestRefusedAtTheFirstSight(t *testing.T) {
	t.Parallel()
	c := small()
	c.blockBytes = 1 // a block for each piece
	whole := bytesOf(t, c)
	r, err := Open(&bytesFile{b: whole}, "snap")
	require.NoError(t, err)
	require.Greater(t, r.pieces, 2)
	foot := int64(len(whole)) - footerBytes
	index := foot - blockHeaderBytes*int64(len(r.blocks)+1)
	sealAt := func(b []byte, at, size int64) {
		binary.LittleEndian.PutUint32(b[at+size-4:], checksum(b[at:at+size-4]))
	}
	f := func(name, reason string, edit func(b []byte) []byte) {
		t.Helper()
		_, err := Open(&bytesFile{b: edit(slices.Clone(whole))}, "snap")
		require.ErrorContains(t, err, reason, name)
	}
	// inSecond edits the header of the second block, in the index too.
	inSecond := func(edit func(header []byte)) func(b []byte) []byte {
		return func(b []byte) []byte {
			at, listed := r.blocks[1].at, index+2*blockHeaderBytes
			edit(b[at:])
			sealAt(b, at, blockHeaderBytes)
			copy(b[listed:listed+blockHeaderBytes], b[at:])
			binary.LittleEndian.PutUint32(b[index+56:], checksum(b[index+blockHeaderBytes:foot]))
			sealAt(b, index, blockHeaderBytes)
			return b
		}
	}
	f("salt of a block", "block 2 belongs to another snapshot", inSecond(func(h []byte) { h[0]++ }))
	f("number of a block", "block 3 stands where block 2 belongs", inSecond(func(h []byte) { h[40]++ }))
	f("a block that begins where the first does", "block 1 does not follow", inSecond(func(h []byte) { clear(h[24:32]) }))
	f("a block that begins behind the next", "block 2 does not follow", inSecond(func(h []byte) { h[24+5] = 0x3f }))
	f("checksum of the index", "the index does not match", func(b []byte) []byte {
		b[index+56]++
		sealAt(b, index, blockHeaderBytes)
		return b
	})
	f("a place in the index", "the index does not match", func(b []byte) []byte {
		b[index+24]++
		sealAt(b, index, blockHeaderBytes)
		return b
	})
	f("bytes between blocks and index", "something between the last block and the index", func(b []byte) []byte {
		b = slices.Insert(b, int(index), 1, 2, 3)
		binary.LittleEndian.PutUint64(b[foot+3+8:], uint64(index+3))
		sealAt(b, foot+3, footerBytes)
		return b
	})
}

func TestTimeRunsBackwardsBetweenBlocks(t *testing.T) {
	t.Parallel()
	c := small()
	c.blockBytes = 1
	b := bytesOf(t, c)
	r, err := Open(&bytesFile{b: b}, "snap")
	require.NoError(t, err)
	binary.LittleEndian.PutUint64(b[r.blocks[len(r.blocks)-1].at+32:], 1_600_000_000_000)
	damage := requireDamage(t, reseal(b), "time runs backwards")
	require.Contains(t, damage.Reason, "time runs backwards between two blocks")
}

// An entry behind the last piece of its block belongs to no piece.
func TestEntryOfNoPieceIsRefused(t *testing.T) {
	t.Parallel()
	whole := bytesOf(t, small())
	_, records, _, _ := smallParts(t, whole)
	last := put(0, "longer", strings.Repeat("y", 130), 0)
	from := int(records) - pieceEndBytes - len(appendEntry(nil, &last))
	end := slices.Clone(whole[records-pieceEndBytes : records])
	b := slices.Delete(slices.Clone(whole), int(records)-pieceEndBytes, int(records))
	b = slices.Insert(b, from, end...)
	damage := requireDamage(t, reseal(b), "an entry of no piece")
	require.Contains(t, damage.Reason, "block 1 does not end where")
}

// A file has as many bytes as it declares, or nothing is reserved for it.
func TestDeclaredLengthsReserveNothing(t *testing.T) {
	whole := bytesOf(t, small())
	pieces, records, index, foot := smallParts(t, whole)
	for _, at := range []int64{pieces + 8, records + 8, index + 8, foot + 8, foot + 40, foot + 48, foot + 56} {
		for _, value := range []uint64{1 << 34, 1<<63 - 1, 1 << 63, 1<<64 - 64, 1<<64 - 1} {
			b := slices.Clone(whole)
			binary.LittleEndian.PutUint64(b[at:], value)
			if at == pieces+8 || at == records+8 {
				binary.LittleEndian.PutUint64(b[at+8:], value)
			}
			b = reseal(b)
			// reseal could not follow a length beyond the file; the index can.
			copy(b[index+blockHeaderBytes:], b[pieces:pieces+blockHeaderBytes])
			copy(b[index+2*blockHeaderBytes:], b[records:records+blockHeaderBytes])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			requireDamage(t, b, "%d at %d", value, at)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
		}
	}
}

// rewrite writes what f holds with a new Writer. It needs to see the pieces
// between the entries, so it decodes by itself.
func rewrite(t *testing.T, r *Reader, foot int64) []byte {
	t.Helper()
	var out bytesFile
	w := NewWriter(&out, r.info.Header)
	worker := worker{load: &load{r: r}}
	for i := range r.pieces {
		payload, err := worker.payload(&r.blocks[i])
		require.NoError(t, err)
		b := &r.blocks[i]
		d := pieceDecoder{rest: payload, last: Piece{End: b.begin, LSN: wal.LSN(b.base)}, first: true}
		for len(d.rest) > 0 {
			var o op.Op
			entry, err := d.next(&o)
			require.NoError(t, err)
			if entry {
				w.Entry(&o)
			} else {
				require.NoError(t, w.EndPiece(d.last))
			}
		}
	}
	var records collector
	require.NoError(t, r.Load(&recordsOnly{w: w, t: t, collector: &records}, LoadOptions{}))
	_, err := w.Finish(foot)
	require.NoError(t, err)
	return out.b
}

type recordsOnly struct {
	*collector
	t *testing.T
	w *Writer
}

func (s *recordsOnly) Entries([]op.Op) error { return nil }
func (s *recordsOnly) Record(lsn wal.LSN, tMilli int64, o *op.Op) error {
	return s.w.Record(lsn, tMilli, op.Append(nil, o))
}

// Whatever bytes come: no panic, damage has its own error, and what is
// accepted is byte for byte what a Writer makes of the same content.
func FuzzLoad(f *testing.F) {
	f.Add(bytesOf(f, small()))
	f.Add(bytesOf(f, &content{pieces: []piece{{Piece{End: PlaceEnd}, nil}}}))
	f.Add(bytesOf(f, &content{pieces: []piece{{Piece{End: PlaceEnd, LSN: 9}, []op.Op{put(0, "k", "v", 0)}}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, reseal(slices.Clone(b))} {
			r, err := Open(&bytesFile{b: b}, "snap")
			if err == nil {
				err = r.Load(nullSink{}, LoadOptions{Workers: 2})
			}
			var damage *DamageError
			if err != nil {
				require.True(t, errors.As(err, &damage), "%v", err)
				continue
			}
			if r.pieces == 1 && len(r.blocks) <= 2 { // a writer's blocks are larger
				require.Equal(t, b, rewrite(t, r, r.info.LastT))
			}
		}
	})
}
