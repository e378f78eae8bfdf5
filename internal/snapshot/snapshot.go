// Package snapshot is the format of a snapshot file: writer and reader.
//
// A snapshot is a store at one LSN, in one file that needs no other: the
// entries, piece by piece, each piece with the LSN up to which it is complete;
// then the records of the log from the first piece's LSN to the last one's or
// some further, which bring every piece to the same LSN. So a backup is a copy
// of one file.
//
// It promises that a file which Open and Load accept is, byte for byte, what a
// Writer finished: every byte is under a checksum, and no length is trusted
// before it was compared with what is left of the file. It never decides what
// a snapshot is for, never renames, never removes (engine does).
//
// The bytes are in docs/format/snapshot.md.
package snapshot

import "github.com/hapaxkv/hapax/internal/wal"

// PlaceEnd is where the last piece ends: behind every key. A place is a slot
// in the high half and a position in the slot's hash order in the low one.
const PlaceEnd = uint64(1) << 46

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
