// Package snapshot is the format of a snapshot file: writer and reader.
//
// A snapshot is a store at one LSN, in one file that needs no other: the
// entries, piece by piece, each piece with the LSN up to which it is complete;
// then the records of the log from the first piece's LSN to the last one's,
// which bring every piece to the same LSN. So a backup is a copy of one file.
//
// It promises that a file which Open and Load accept is, byte for byte, what a
// Writer finished: every byte is under a checksum, and no length is trusted
// before it was compared with what is left of the file. It never decides what
// a snapshot is for, never renames, never removes (engine does).
//
// The bytes are in docs/format/snapshot.md.
package snapshot

import (
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

// Header is what is known when a snapshot begins.
type Header struct {
	ID           uint64 // number of the snapshot, from 1, in its name
	LogID        uint64 // of the log it belongs to; 0 when nothing was logged
	HashSecrets  [4]uint64
	Databases    int
	CreatedMilli int64 // T at the beginning
}

// Info describes a finished snapshot.
type Info struct {
	Header
	FirstLSN  wal.LSN // of the first piece; the records that follow begin with the next
	LastLSN   wal.LSN // the snapshot is the store as of this record
	LastT     int64   // T is at least this when it is loaded (I10)
	Pieces    int64
	Keys      int64
	Records   int64 // log records in it
	Blocks    int
	SizeBytes int64
}

// Piece is a stretch of the walk, see shard.Piece: it ends before place End
// and holds every record up to LSN for the keys in it.
type Piece struct {
	End uint64
	LSN wal.LSN
}

// Writer writes one snapshot to a file in one pass.
type Writer struct{ unwritten struct{} }

// NewWriter begins a snapshot in f, an empty file. It writes nothing yet.
func NewWriter(f vfs.File, h Header) *Writer { panic("unwritten") }

// Entry adds one entry, an op.Put, to the present piece. It only copies to
// memory, as it is called under a shard's lock.
func (w *Writer) Entry(o *op.Op) { panic("unwritten") }

// EndPiece ends the present piece, and writes when enough has gathered. Pieces
// come in ascending order; LSNs never decrease. Not under a lock.
func (w *Writer) EndPiece(p Piece) error { panic("unwritten") }

// Record adds a record of the log behind the last piece: from the one after
// FirstLSN to LastLSN, without gaps. payload is an op's encoding.
func (w *Writer) Record(lsn wal.LSN, tMilli int64, payload []byte) error { panic("unwritten") }

// Finish writes what is left, index and footer. The caller syncs the file and
// gives it its name.
func (w *Writer) Finish(lastT int64) (Info, error) { panic("unwritten") }

// SizeBytes and Keys tell how far the writer is.
func (w *Writer) SizeBytes() int64 { panic("unwritten") }
func (w *Writer) Keys() int64      { panic("unwritten") }

// Reader reads a finished snapshot.
type Reader struct{ unwritten struct{} }

// DamageError says what is wrong with a snapshot that is refused.
type DamageError struct {
	File   string
	Offset int64
	Reason string
}

// Error implements error.
func (e *DamageError) Error() string { panic("unwritten") }

// Open checks header, footer and index of f. name is for messages.
func Open(f vfs.File, name string) (*Reader, error) { panic("unwritten") }

// Info describes the snapshot.
func (r *Reader) Info() Info { panic("unwritten") }

// Sink receives a snapshot's content. What it is given is borrowed for the
// call. An error ends the load and is returned as it is.
type Sink interface {
	// Entries gets op.Puts, in batches of one block or less, from several
	// goroutines at once; each goroutine delivers a contiguous stretch of
	// places in order.
	Entries(ops []op.Op) error
	// Pieces gets all pieces, ascending, when every entry was delivered.
	Pieces(p []Piece) error
	// Record gets the records that follow, in order.
	Record(lsn wal.LSN, tMilli int64, o *op.Op) error
}

// LoadOptions configures Load; the zero value is fine.
type LoadOptions struct {
	Workers  int                     // goroutines that read and decode; 0 is one
	Progress func(done, total int64) // bytes, from any worker
	Stopped  func() bool             // asked between blocks; true ends with ErrStopped
}

// Load checks every byte and hands everything to s.
func (r *Reader) Load(s Sink, o LoadOptions) error { panic("unwritten") }
