package shard

import "errors"

// ErrNoMemory says that the system gave no memory; nothing was appended.
var ErrNoMemory = errors.New("out of memory")
