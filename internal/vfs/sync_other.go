//go:build unix && !linux

package vfs

import "os"

// syncContent is F_FULLFSYNC on darwin (the os package does that), which also
// empties the drive's cache, and fsync elsewhere.
func syncContent(f *os.File) error { return f.Sync() }
