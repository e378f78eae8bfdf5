package snapshot

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// A caller that does not keep the order of a snapshot gets an error, at once
// and from then on, and no file that a reader would take for whole.
func TestWriterRefuses(t *testing.T) {
	t.Parallel()
	tick := op.Append(nil, &op.Op{Code: op.Tick})
	whole := func(w *Writer) error {
		if err := w.EndPiece(Piece{End: 7, LSN: 10}); err != nil {
			return err
		}
		return w.EndPiece(Piece{End: PlaceEnd, LSN: 12})
	}
	f := func(name, want string, run func(w *Writer) error) {
		t.Helper()
		var file bytesFile
		w := NewWriter(&file, Header{})
		_ = run(w) // comes again from Finish
		_, err := w.Finish(1)
		require.ErrorContains(t, err, want, name)
		_, err = w.Finish(1)
		require.ErrorContains(t, err, want, name)
		require.ErrorContains(t, w.EndPiece(Piece{End: PlaceEnd, LSN: 12}), want, name)
		require.ErrorContains(t, w.Record(11, 1, tick), want, name)
		_, _, err = loadFrom(&file, LoadOptions{})
		require.Error(t, err, name)
	}
	f("nothing", "the pieces end at 0x0", func(*Writer) error { return nil })
	f("the last piece is missing", "the pieces end at 0x7", func(w *Writer) error {
		return w.EndPiece(Piece{End: 7})
	})
	f("an entry of no piece", "before the end", func(w *Writer) error {
		o := put(0, "k", "v", 0)
		w.Entry(&o)
		return nil
	})
	f("an entry behind the last piece", "before the end", func(w *Writer) error {
		o := put(0, "k", "v", 0)
		err := whole(w)
		w.Entry(&o)
		return err
	})
	f("an entry behind a record", "without a piece", func(w *Writer) error {
		o := put(0, "k", "v", 0)
		_ = whole(w)
		_ = w.Record(11, 1, tick)
		w.Entry(&o)
		return w.Record(12, 1, tick)
	})
	f("an entry behind all records", "the records end", func(w *Writer) error {
		o := put(0, "k", "v", 0)
		_ = whole(w)
		_ = w.Record(11, 1, tick)
		_ = w.Record(12, 1, tick)
		w.Entry(&o)
		return nil
	})
	f("an entry that is no Put", "opcode 2", func(w *Writer) error {
		w.Entry(&op.Op{Code: op.Delete, Key: []byte("k")})
		return whole(w)
	})
	f("an empty stretch", "behind one that ends at 0x7", func(w *Writer) error {
		_ = w.EndPiece(Piece{End: 7})
		return w.EndPiece(Piece{End: 7})
	})
	f("backwards", "behind one that ends at 0x7", func(w *Writer) error {
		_ = w.EndPiece(Piece{End: 7})
		return w.EndPiece(Piece{End: 6})
	})
	f("beyond all places", "a piece ends at", func(w *Writer) error {
		return w.EndPiece(Piece{End: PlaceEnd + 1})
	})
	f("an older piece", "a piece of record 9 comes behind one of record 10", func(w *Writer) error {
		_ = w.EndPiece(Piece{End: 7, LSN: 10})
		return w.EndPiece(Piece{End: PlaceEnd, LSN: 9})
	})
	f("a piece behind a record", "a piece comes behind the records", func(w *Writer) error {
		_ = whole(w)
		_ = w.Record(11, 1, tick)
		return w.EndPiece(Piece{End: PlaceEnd, LSN: 12})
	})
	f("no records", "the records end with 10, before that of the last piece, 12", whole)
	f("one record short", "the records end with 11, before that of the last piece, 12", func(w *Writer) error {
		_ = whole(w)
		return w.Record(11, 1, tick)
	})
	f("records begin too early", "record 10 comes behind record 10", func(w *Writer) error {
		_ = whole(w)
		return w.Record(10, 1, tick)
	})
	f("records begin too late", "record 12 comes behind record 10", func(w *Writer) error {
		_ = whole(w)
		return w.Record(12, 1, tick)
	})
	f("a record left out", "record 13 comes behind record 11", func(w *Writer) error {
		_ = whole(w)
		_ = w.Record(11, 1, tick)
		return w.Record(13, 1, tick)
	})
	f("time runs backwards", "record 12 has an earlier time", func(w *Writer) error {
		_ = whole(w)
		_ = w.Record(11, 5, tick)
		return w.Record(12, 4, tick)
	})
	f("negative time", "record 11 has an earlier time", func(w *Writer) error {
		_ = whole(w)
		return w.Record(11, -1, tick)
	})
	f("an empty record", "record 11 is empty", func(w *Writer) error {
		_ = whole(w)
		return w.Record(11, 1, nil)
	})
	f("records before the pieces", "the pieces end at 0x0", func(w *Writer) error {
		return w.Record(1, 1, tick)
	})
}

// T of a snapshot is at least any T in it, whatever the caller's clock says.
func TestLastTCoversTheRecords(t *testing.T) {
	t.Parallel()
	c := small()
	c.lastT = 5
	require.EqualValues(t, 1_700_000_001_000, writeTo(t, &bytesFile{}, c).LastT)
	c.records, c.pieces = nil, []piece{{Piece{End: PlaceEnd}, nil}}
	require.EqualValues(t, 1_700_000_000_000, writeTo(t, &bytesFile{}, c).LastT)
}

// Every write and every sync that fails is heard of, and none comes after it.
func TestWriterStopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	c := large()
	run := func(fault vfs.Fault) (changes int, err error) {
		fsys := vfs.NewFaulty(vfs.NewMem())
		file, err := fsys.Create("snap")
		require.NoError(t, err)
		before := fsys.Changes()
		if fault.Err != nil {
			fsys.Inject(fault)
		}
		w := NewWriter(file, c.header)
		w.blockBytes, w.syncBytes = c.blockBytes, 5*int64(c.blockBytes)
		var first error
		keep := func(err error) {
			if first == nil {
				first = err
			}
			require.Equal(t, first, err)
		}
		for i := range c.pieces {
			for j := range c.pieces[i].entries {
				w.Entry(&c.pieces[i].entries[j])
			}
			keep(w.EndPiece(c.pieces[i].Piece))
		}
		for i := range c.records {
			keep(w.Record(c.records[i].lsn, c.records[i].tMilli, op.Append(nil, &c.records[i].op)))
		}
		_, err = w.Finish(c.lastT)
		keep(err)
		return fsys.Changes() - before, first
	}
	all, err := run(vfs.Fault{})
	require.NoError(t, err)
	require.Greater(t, all, 15)
	for _, kind := range []vfs.Op{vfs.OpWrite, vfs.OpSync} {
		for nth := 1; ; nth++ {
			changes, err := run(vfs.Fault{Op: kind, Nth: nth, Err: syscall.EIO, ShortBytes: 700})
			if err == nil {
				require.Equal(t, all, changes)
				require.Greater(t, nth, 1)
				break
			}
			require.ErrorIs(t, err, syscall.EIO)
			require.Less(t, changes, all)
		}
	}
}
