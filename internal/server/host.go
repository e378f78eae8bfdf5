package server

import (
	"crypto/subtle"
	"net/netip"
	"time"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/wal"
)

// host is the server as the handlers of one executor see it.
type host struct{ ex *executor }

var _ command.Host = host{}

func (h host) Clients(f func(ci *command.ClientInfo)) {
	for _, s := range h.ex.srv.clients.all() {
		ci := h.describe(s)
		f(&ci)
	}
}

// describe takes a session's own state as it is now, others' as published.
func (h host) describe(s *Session) command.ClientInfo {
	if s == h.ex.cur {
		s.out, s.pieces, s.lentBytes = h.ex.out.Buf, h.ex.out.Pieces, h.ex.out.LentBytes
		s.lastCmd, s.metaChanged = h.ex.ctx.Cmd, true
		s.mu.Lock()
		s.publish()
		s.mu.Unlock()
	}
	return s.info(h.ex.nowMilli)
}

func (h host) Client(*command.Session) command.ClientInfo { return h.describe(h.ex.cur) }

func (h host) Kill(ids []int64, self int64) int {
	killed := 0
	for _, id := range ids {
		if id == self {
			continue
		}
		if s := h.ex.srv.clients.get(id); s != nil && s.kill() {
			killed++
		}
	}
	return killed
}

func (h host) Unblock(id int64, withError bool) bool {
	s := h.ex.srv.clients.get(id)
	return s != nil && s.unblock(withError)
}

func (h host) Databases() int { return h.ex.srv.eng.Store.Databases() }

// Authenticate compares in constant time, so that the time of the answer says
// nothing about how much of a guess was right.
func (h host) Authenticate(user, password string) bool {
	want := h.ex.srv.tun.Load().Password
	same := subtle.ConstantTimeCompare([]byte(password), []byte(want)) == 1
	return user == defaultUser && want != "" && same
}

func (h host) PasswordSet() bool { return h.ex.srv.tun.Load().Password != "" }

func (h host) ConfigGet(patterns []string) [][2]string {
	if c := h.ex.srv.opts.Config; c != nil {
		return c.Get(patterns)
	}
	return nil
}

func (h host) ConfigSet(pairs [][2]string) error {
	c := h.ex.srv.opts.Config
	if c == nil {
		return command.Error("ERR the server runs without a configuration")
	}
	err := c.Set(pairs)
	h.ex.tun = h.ex.srv.tun.Load() // the rest of the pipeline runs under the new values
	h.ex.ctx.MaxBulkBytes = h.ex.tun.MaxBulkBytes
	return err
}

func (h host) ConfigRewrite() error {
	if c := h.ex.srv.opts.Config; c != nil {
		return c.Rewrite()
	}
	return command.Error("ERR The server is running without a config file")
}

func (h host) ResetStats() {
	h.ex.srv.totals.publish(&h.ex.tally, h.ex.tx)
	h.ex.srv.totals.reset()
	h.ex.srv.compactor.reset(h.ex.srv.eng.Store.Compaction())
}

func (h host) PurgeMemory() { h.ex.srv.purgeMemory() }

func (h host) Shutdown(m command.ShutdownMode) (refused func() bool, err error) {
	if m.Abort {
		// The last snapshot is taken while nobody is heard, so there is no
		// time at which a stop that has begun could be called off.
		return nil, command.Error("ERR No shutdown in progress.")
	}
	goesOn := h.ex.srv.Stop(m)
	return func() bool {
		select {
		case <-goesOn:
			return true
		default:
			return false
		}
	}, nil
}

func (h host) Snapshots() command.SnapshotView { return h.ex.srv.viewSnapshots() }

func (h host) StartSnapshot(cause command.SnapshotCause) (int64, error) {
	return h.ex.srv.startSnapshot(cause)
}

func (h host) ScheduleSnapshot(cause command.SnapshotCause) { h.ex.srv.scheduleSnapshot(cause) }
func (h host) CancelSnapshot()                              { h.ex.srv.eng.CancelSnapshot() }
func (h host) UnscheduleSnapshot()                          { h.ex.srv.unscheduleSave() }

func (h host) SnapshotOver(number int64) (bool, error) { return h.ex.srv.snapshotOver(number) }

func (h host) SleepMilli(ms int64) { time.Sleep(time.Duration(ms) * time.Millisecond) }

func (h host) DebugEnabled(*command.Session) bool {
	switch h.ex.tun.DebugCommand {
	case "yes":
		return true
	case "local":
		return h.ex.cur.local()
	}
	return false
}

// local says whether the client is on this machine.
func (c *client) local() bool {
	if c.unixSocket {
		return true
	}
	ap, err := netip.ParseAddrPort(c.addr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

func (h host) UnixMicro() int64 { return h.ex.nowMilli * 1000 }

func (h host) Random64() uint64 { return h.ex.rnd.Uint64() }

func (h host) Durable() wal.LSN { return h.ex.srv.eng.Durable() }
func (h host) Synced() wal.LSN  { return h.ex.srv.eng.Synced() }

// Last also makes the reply wait for everything appended so far: who asks for
// it reports on the whole store (I5).
func (h host) Last() wal.LSN {
	last := h.ex.srv.eng.Last()
	h.observeAll(last)
	return last
}

// Stats counts keys and bytes of the whole store, so its reader observes all
// of it (I5).
func (h host) Stats() *command.Stats {
	h.ex.srv.totals.publish(&h.ex.tally, h.ex.tx)
	st := h.ex.srv.stats(h.ex)
	h.observeAll(st.LastLSN)
	return st
}

func (h host) observeAll(last wal.LSN) {
	h.ex.observed = max(h.ex.observed, last)
	if h.ex.cur != nil {
		h.ex.cur.need = max(h.ex.cur.need, last)
	}
}
