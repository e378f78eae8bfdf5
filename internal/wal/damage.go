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
	DamageForeign:  "move the file away if it does not belong there, or put the right one back",
	DamageVersion:  "start the newer Hapax that wrote it",
	DamageHeader:   "put a good copy of the file there",
	DamageFrame:    "put a good copy of the file there",
	DamageChain:    "put the files of one and the same log back",
	DamageRecord:   "please report it, this is an error in the program that wrote it",
	DamageSize:     "put a whole copy of the file there",
	DamagePrepared: "move the file out of the directory: no record is in it",
}

// DamageError names the place and what to do. Nothing was changed on disk.
type DamageError struct {
	Kind    Damage
	Dir     string
	Segment string // file name in Dir
	Offset  int64  // -1 for the whole file
	After   LSN    // the last record before the place that is good; 0 when none was read
	Reason  string
}

// Advice is what to do about it.
func (e *DamageError) Advice() string { return damageAdvice[e.Kind] }

// Where is the place below Dir, as far as it is known.
func (e *DamageError) Where() string {
	where := e.Segment
	if e.Offset >= 0 {
		where += fmt.Sprintf(", offset %d", e.Offset)
	}
	if e.After > 0 {
		where += fmt.Sprintf(", after record %d", e.After)
	}
	return where
}

// Error implements error.
func (e *DamageError) Error() string {
	what, tools := "damaged", "; else hapax-server restore a backup, or see what hapax-server repair can keep"
	switch e.Kind {
	case DamageVersion:
		what, tools = "not known", ""
	case DamagePrepared:
		tools = "" // nothing is lost
	}
	return fmt.Sprintf("log %s: %s: %s. Nothing was changed. To go on, %s%s",
		what, path.Join(e.Dir, e.Where()), e.Reason, e.Advice(), tools)
}
