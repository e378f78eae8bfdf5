package main

import (
	"fmt"
	"math"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/hapaxkv/hapax/internal/config"
)

// reservedFiles is how many open files the server needs besides its clients:
// listeners, the log, pollers.
const reservedFiles = 32

// limitClients raises the limit of open files for maxclients, or lowers
// maxclients to what the system grants, with a warning as Redis gives.
func limitClients(cfg *config.Config, log *logger) (*config.Config, error) {
	wanted := cfg.Int("maxclients")
	granted := raiseFileLimit(wanted)
	if granted >= wanted {
		return cfg, nil
	}
	if granted < 1 {
		return nil, fmt.Errorf("the limit of open files (ulimit -n) leaves none for clients: raise it above %d", reservedFiles)
	}
	log.warning("You requested maxclients of %d requiring at least %d max file descriptors.", wanted, wanted+reservedFiles)
	log.warning("Current maximum open files is %d. maxclients has been reduced to %d to compensate for low ulimit. If you need higher maxclients increase 'ulimit -n'.", granted+reservedFiles, granted)
	return cfg.With("maxclients", strconv.FormatInt(granted, 10)), nil
}

// raiseFileLimit asks for as many open files as clients need, and returns how
// many clients the system has files for. An answer that it does not give is
// taken for a yes: accept will tell.
func raiseFileLimit(clients int64) (granted int64) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return clients
	}
	needed := uint64(clients) + reservedFiles
	if limit.Cur < needed {
		more := unix.Rlimit{Cur: needed, Max: max(limit.Max, needed)}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &more) != nil {
			// Without the right to raise the hard limit, take all of it.
			more = unix.Rlimit{Cur: min(needed, limit.Max), Max: limit.Max}
			if unix.Setrlimit(unix.RLIMIT_NOFILE, &more) != nil {
				more = limit
			}
		}
		limit = more
	}
	return int64(min(limit.Cur, math.MaxInt64)) - reservedFiles
}
