//go:build !linux

package server

// residentBytes and systemBytes are unknown here; INFO estimates the first.
func residentBytes() int64 { return 0 }
func systemBytes() int64   { return 0 }
