package shard

import "golang.org/x/sys/unix"

const adviceRelease = unix.MADV_DONTNEED

// smallPages refuses huge pages: the first touch of one takes 4 to 8 ms.
func smallPages(b []byte) { _ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) }
