//go:build unix && !linux

package vfs

import "errors"

// OpenDirect implements FS.
func (osFS) OpenDirect(name string) (DirectFile, error) {
	return nil, pathError("open", name, errors.ErrUnsupported)
}
