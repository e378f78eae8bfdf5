package shard

import "github.com/hapaxkv/hapax/internal/wal"

// Place is a key's place in the order that SCAN and Walk follow: its slot in
// the high half, its position in the slot's hash order in the low one.
type Place uint64

// PlaceEnd is behind every key.
const PlaceEnd = Place(1) << 46

// Piece is a stretch of places that one holding of a shard's lock covered: it
// ends before End, and what was found in it contains every record up to LSN
// about keys in it, and none after.
type Piece struct {
	End Place
	LSN wal.LSN
}

// Walk visits every entry of every database once, piece by piece, for a
// snapshot. Expired entries that are still there are visited too, so that the
// records behind a piece fit what it holds.
type Walk struct{ unwritten struct{} }

// NewWalk begins a walk. One goroutine uses it; transactions go on beside it.
func (s *Store) NewWalk() *Walk { panic("unwritten") }

// Next visits the next piece: emit is called under the shard's lock, database
// by database within a slot, with bytes borrowed for the call. A piece ends
// when about limitBytes were visited. more is false when the walk is at its
// end; the pieces tile all places.
func (w *Walk) Next(limitBytes int, emit func(db int, key []byte, v Value)) (p Piece, more bool) {
	panic("unwritten")
}
