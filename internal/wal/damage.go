package wal

import (
	"errors"
	"fmt"
	"path"
)

var errRecordTooLarge = errors.New("log failed: a record is larger than 4 GiB")

// Damage is what is wrong with a log that refuses to open (I9).
type Damage uint8

const (
	DamageMissing  Damage = iota + 1 // a segment or the records of one are gone
	DamageForeign                    // a file belongs elsewhere
	DamageVersion                    // written by a newer Hapax
	DamageHeader                     // a segment's header is unreadable
	DamageFrame                      // a frame that was written whole is unreadable
	DamageChain                      // a good frame is not the one that belongs here
	DamageRecord                     // a good frame with bad records
	DamageSize                       // a file lost its end
	DamagePrepared                   // a segment not yet in use is not empty
)

var damageAdvice = map[Damage]string{
	DamageMissing:  "put the missing file back",
	DamageForeign:  "move the file out of the directory if it does not belong there, or put the right one back",
	DamageVersion:  "start the newer Hapax that wrote it",
	DamageHeader:   "restore the file from a backup",
	DamageFrame:    "restore the file from a backup",
	DamageChain:    "put the files of one and the same log back",
	DamageRecord:   "restore the file from a backup, and please report it: this is an error in the program that wrote it",
	DamageSize:     "restore the whole file from a backup",
	DamagePrepared: "move the file out of the directory: no record is in it",
}

// DamageError names the place and what to do. Nothing was changed on disk.
type DamageError struct {
	Kind    Damage
	Dir     string
	Segment string // file name in Dir
	Offset  int64
	After   LSN // the last record before the place that is good
	Reason  string
}

// Advice is what to do about it.
func (e *DamageError) Advice() string { return damageAdvice[e.Kind] }

// Error implements error.
func (e *DamageError) Error() string {
	return fmt.Sprintf("log damaged: %s, offset %d, after record %d: %s. Nothing was changed. "+
		"To go on, %s; copy the whole directory %s before trying anything else",
		path.Join(e.Dir, e.Segment), e.Offset, e.After, e.Reason, e.Advice(), e.Dir)
}
