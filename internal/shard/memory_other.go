//go:build unix && !linux

package shard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const adviceRelease = unix.MADV_FREE

func smallPages([]byte) {}

func populateMemory(unsafe.Pointer, int64) {}
