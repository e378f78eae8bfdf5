//go:build unix

package vfs

import (
	"errors"

	"golang.org/x/sys/unix"
)

// errNoSpace is what a full disk answers.
const errNoSpace = unix.ENOSPC

// IsNoSpace tells whether err says that there is no room: on the disk, in a
// quota.
func IsNoSpace(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// IsBusy tells whether err says that the machine lacks something other than
// room, for now: file descriptors, memory.
func IsBusy(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EAGAIN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// IsUnsupported tells whether err says that this cannot be done here at all,
// and that nothing of it was done: direct writes on a file system without them.
func IsUnsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL)
}
