package shard

import (
	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/wal"
)

// HashSecrets are what keys the hash of this process. A snapshot carries them,
// because its pieces end inside of slots that hold very many keys.
func HashSecrets() [4]uint64 { return secrets }

// SeedHash makes the hash, and with it the order of keys, a function of seed.
// For simulations; before the first key of the process is hashed.
func SeedHash(seed uint64) { panic("unwritten") }

// PlaceOf is key's place under secrets.
func PlaceOf(key []byte, secrets *[4]uint64) Place { panic("unwritten") }

// Loader fills an empty store from a snapshot: Insert everything, then Pieces,
// then Apply the snapshot's records in order. Each record is applied exactly
// where the snapshot does not hold its effect yet, whole-database records
// included. Nobody else uses the store meanwhile.
type Loader struct{ unwritten struct{} }

// NewLoader begins to load a snapshot made under secrets.
func (s *Store) NewLoader(secrets [4]uint64) *Loader { panic("unwritten") }

// Insert adds entries, op.Puts. Safe for concurrent use. A key that is there
// already is an error: the snapshot is damaged.
func (l *Loader) Insert(entries []op.Op) error { panic("unwritten") }

// Pieces tells the LSN of every place, when all entries are in.
func (l *Loader) Pieces(p []Piece) error { panic("unwritten") }

// Apply applies one record of the snapshot (I2).
func (l *Loader) Apply(lsn wal.LSN, o *op.Op) error { panic("unwritten") }

// Reset empties the store, for another try with another snapshot.
func (s *Store) Reset() { panic("unwritten") }
