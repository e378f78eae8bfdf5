package server

import (
	"errors"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// admission decides what may write while something is short.
//
// The disk: the log says in advance whether what a command appends is sure to
// find room. Once it cannot get another segment, what may grow the data is
// refused; deletes, deadlines and what happens by itself go on, from the rest
// of the present segment. When that is used up as well, every write is refused,
// and T stands still at the last that the log holds: to see a key expire would
// take a record (I10), so nothing expires until there is room again. A late
// expiry only keeps a record longer. Reads go on all the time.
//
// Memory: what may grow the data is refused when eviction makes no room.
//
// Snapshots, as Redis has it: with save rules, all writes are refused while
// the last snapshot is one that failed, if stop-writes-on-bgsave-error.
type admission struct {
	log *wal.Log
	// What the log has promised and this round has not used.
	mayGrow, mayAppend int64
	growErr, appendErr error // why not, once it said no in this round
	saveFailed         bool
}

const (
	// argBytes is more than what an argument can take in the log besides
	// itself: the most is a record for each.
	argBytes = 48
	// grantBytes is what is asked for beyond a command's need, so that not
	// every command asks.
	grantBytes = 4 << 10
	// evictionBytes is more than most records of an eviction take.
	evictionBytes = 512
)

const errSaveFailed = command.Error("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
	"Commands that may modify the data set are disabled, because this instance is configured to report errors during writes if RDB " +
	"snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.")

// beginAdmission starts a round.
func (ex *executor) beginAdmission() {
	ex.admission = admission{log: ex.srv.eng.Log(), saveFailed: ex.srv.snaps.denies.Load()}
	ex.ctx.NowMilli = ex.nowMilli
	if ex.log == nil || ex.log.SpaceErr() == nil {
		return
	}
	// Is there room for the ticks that this round's reads may need?
	if ex.room(1, false) != nil {
		ex.ctx.NowMilli = min(ex.nowMilli, ex.log.LastT())
	}
}

// refusal says why a command is refused that writes, or probes whether writes
// are refused.
func (ex *executor) refusal(cmd *command.Command, args [][]byte) error {
	grows := cmd.Flags&command.DenyOOM != 0
	if ex.saveFailed {
		return errSaveFailed
	}
	if cmd.Flags&command.Write == 0 {
		return nil
	}
	if ex.log != nil {
		bytes := int64(len(args)) * argBytes
		for _, a := range args {
			bytes += int64(len(a))
		}
		if err := ex.room(bytes, grows); err != nil {
			return err
		}
	}
	if grows && ex.tun.MaxMemory > 0 && !ex.admit() {
		return command.ErrOOM
	}
	return nil
}

// room says why this many bytes may not be appended, nil if they may.
func (ex *executor) room(bytes int64, grows bool) error {
	granted, said := &ex.mayAppend, &ex.appendErr
	if grows {
		granted, said = &ex.mayGrow, &ex.growErr
	}
	if bytes <= *granted {
		*granted -= bytes
		return nil
	}
	if *said != nil && bytes <= grantBytes {
		return *said
	}
	var err error
	if grows {
		err = ex.log.MayGrow(bytes + grantBytes)
	} else {
		err = ex.log.MayAppend(bytes + grantBytes)
	}
	if err == nil {
		*granted = grantBytes
		return nil
	}
	var space *wal.SpaceError
	if !errors.As(err, &space) {
		return nil // the log failed: nothing is answered any more (I8)
	}
	err = command.Error("MISCONF Errors writing to the AOF file: " + err.Error())
	*said = err
	return err
}

// Room implements command.Host.
func (h host) Room(bytes int) error {
	if h.ex.log == nil {
		return nil
	}
	return h.ex.room(int64(bytes), true)
}

// Eviction per request is bounded in time, as in Redis: when there is still
// too much after that, but more could go, the request is let in; the next one
// goes on evicting.
const (
	evictCheckEvery = 16
	evictMaxKeys    = 1 << 14 // ends a loop under a clock that stands still
)

// admit makes room for a write under maxmemory, by policy, and says whether
// there is.
func (ex *executor) admit() bool {
	store := ex.srv.eng.Store
	if store.UsedBytes() <= ex.tun.MaxMemory {
		return true
	}
	if ex.tx == nil || ex.tun.Eviction == shard.NoEviction {
		return false
	}
	start := ex.srv.eng.Clock.MonoNano()
	ex.tx.Begin(ex.ctx.NowMilli, 0)
	defer func() {
		ex.tx.End()
		ex.observe(nil)
	}()
	for n := 1; store.UsedBytes() > ex.tun.MaxMemory; n++ {
		if ex.log != nil && ex.room(evictionBytes, false) != nil {
			return false
		}
		if _, ok := ex.tx.Evict(ex.rnd.Uint64()); !ok {
			return false
		}
		ex.tally.evicted++
		if n%evictCheckEvery == 0 && (n >= evictMaxKeys || ex.srv.eng.Clock.MonoNano()-start > evictLimitNano) {
			return true
		}
	}
	return true
}
