package snapshot

import (
	"errors"
	"fmt"

	"github.com/hapaxkv/hapax/internal/op"
)

// ErrStopped is what Load returns when LoadOptions.Stopped said so.
var ErrStopped = errors.New("the load of the snapshot was stopped")

// DamageError says what is wrong with a snapshot that is refused. Nothing was
// changed on disk. An error of the file system is never one of these.
type DamageError struct {
	File   string
	Offset int64
	Reason string
	Newer  bool // whole as far as can be seen, but of a later version of Hapax (I7)
}

// Error implements error.
func (e *DamageError) Error() string {
	if e.Newer {
		return fmt.Sprintf("snapshot not known: %s, offset %d: %s. Nothing was changed. "+
			"To go on, start the newer Hapax that wrote it", e.File, e.Offset, e.Reason)
	}
	return fmt.Sprintf("snapshot damaged: %s, offset %d: %s. Nothing was changed. "+
		"To go on, restore the file from a backup", e.File, e.Offset, e.Reason)
}

// fault is a DamageError whose file its maker does not know.
type fault struct {
	at     int64 // from the beginning of what was looked at
	reason string
	newer  bool
}

func (f *fault) Error() string { return f.reason }

func damaged(at int64, format string, args ...any) *fault {
	return &fault{at: at, reason: fmt.Sprintf(format, args...)}
}

// badOp is what a record that cannot be decoded means.
func badOp(at int64, err error) *fault {
	var unknown *op.UnknownCodeError
	if errors.As(err, &unknown) {
		return &fault{at: at, reason: fmt.Sprintf("unknown opcode %d", unknown.Code), newer: true}
	}
	return damaged(at, "%v", err)
}
