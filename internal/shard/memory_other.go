//go:build unix && !linux

package shard

import "golang.org/x/sys/unix"

const adviceRelease = unix.MADV_FREE

func smallPages([]byte) {}
