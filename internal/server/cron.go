package server

import (
	"time"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/shard"
)

// cron is what happens by itself: expiry, eviction, timeouts, rates. One
// executor runs it at a time, hz times a second, in small steps.
type cron struct {
	sampleNano int64 // when rates were sampled last
	sweepMilli int64 // when idle clients were looked for last
	expiring   bool  // the last step reclaimed much: there is more
	refusing   bool  // writes, since the log has no room to grow
}

const (
	expireStepBuckets = 64
	expireSliceNano   = int64(time.Millisecond) // per tick and unit of effort
	expireManyRatio   = 16                      // reclaimed entries per step that mean "go on soon"
	sampleNano        = int64(100 * time.Millisecond)
	sweepMilli        = 1000
)

// tickMilli is the time between two ticks.
func (s *Server) tickMilli(t *Tunables) int { return max(1000/t.Hz, 1) }

// soonMilli is the pause between two expiry slices while much has expired: a
// slice of 1 ms in 4 keeps it below a quarter of the time.
const soonMilli = 4

// tick runs one tick and returns after how many milliseconds the next is due.
func (s *Server) tick(ex *executor) int {
	now := s.eng.Clock.MonoNano()
	if now-s.cron.sampleNano >= sampleNano {
		s.cron.sampleNano = now
		s.totals.sample(now)
	}
	if ex.nowMilli-s.cron.sweepMilli >= sweepMilli {
		s.cron.sweepMilli = ex.nowMilli
		s.sweep(ex)
		s.trimHeap()
	}
	if ex.tx == nil {
		return s.tickMilli(ex.tun)
	}
	s.checkSpace(ex)
	s.tendSnapshots(ex.nowMilli)
	s.cron.expiring = ex.expire(now)
	if ex.tun.MaxMemory > 0 {
		ex.admit()
	}
	if s.cron.expiring {
		return soonMilli
	}
	return s.tickMilli(ex.tun)
}

// noSpace is the answer to writes while the log could not prepare its next
// segment; what is left of the present one is for deletes.
func (s *Server) noSpace() error {
	log := s.eng.Log()
	if log == nil {
		return nil
	}
	if err := log.SpaceErr(); err != nil {
		return command.Error("MISCONF Errors writing to the AOF file: " + err.Error())
	}
	return nil
}

// checkSpace logs when writes begin to be refused for that, and when that ends.
func (s *Server) checkSpace(ex *executor) {
	switch refusing := ex.noSpace != nil; {
	case refusing && !s.cron.refusing:
		s.logf(LevelWarning, "Writes are refused: %v", ex.noSpace)
	case !refusing && s.cron.refusing:
		s.logf(LevelWarning, "The log has room again: writes are accepted")
	}
	s.cron.refusing = ex.noSpace != nil
}

// expire reclaims expired entries until it came round or its time is over. It
// says whether there is likely much more.
func (ex *executor) expire(startNano int64) bool {
	limit := startNano + expireSliceNano*int64(max(ex.tun.ActiveExpireEffort, 1))
	steps, reclaimed := 0, 0
	for {
		ex.tx.Begin(ex.nowMilli, 0)
		n, wrapped := ex.tx.ExpireStep(expireStepBuckets)
		ex.tx.End()
		ex.observe(nil)
		steps, reclaimed = steps+1, reclaimed+n
		if wrapped || ex.srv.eng.Clock.MonoNano() >= limit {
			return !wrapped && reclaimed > steps*expireManyRatio
		}
		if steps >= expireMaxSteps {
			return false // a clock that stands still is no reason to stay
		}
	}
}

const expireMaxSteps = 4096

// Eviction per request is bounded in time, as in Redis: when there is still
// too much after that, but more could go, the request is let in; the next one
// goes on evicting.
const (
	evictLimitNano  = 500 * int64(time.Microsecond)
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
	ex.tx.Begin(ex.nowMilli, 0)
	defer func() {
		ex.tx.End()
		ex.observe(nil)
	}()
	for n := 1; store.UsedBytes() > ex.tun.MaxMemory; n++ {
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

// sweep closes clients that are idle for too long or over the soft output
// limit for too long.
func (s *Server) sweep(ex *executor) {
	t := ex.tun
	if t.TimeoutSec <= 0 && t.OutputSoftLimit <= 0 && t.OutputHardLimit <= 0 {
		return
	}
	for _, c := range s.clients.all() {
		c.mu.Lock()
		p := c.shown
		c.mu.Unlock()
		if t.TimeoutSec > 0 && !p.blocked && ex.nowMilli-p.seenMilli > int64(t.TimeoutSec)*1000 {
			s.logf(LevelVerbose, "Closing idle client %s", c.addr)
			c.kill()
			continue
		}
		hard := t.OutputHardLimit > 0 && int64(p.outputLen-p.lastReply) > t.OutputHardLimit
		soft := c.overSoftLimit(t, p.outputLen, ex.nowMilli)
		if (hard || soft) && c.kill() {
			ex.tally.outputLimitCloses++
			s.logf(LevelWarning, "Client %s scheduled to be closed ASAP for overcoming of output buffer limits: %d bytes unread", c.addr, p.outputLen)
		}
	}
}

// overSoftLimit says whether unread output was over the limit for its time
// without getting less. A client that reads, however slowly, may take as long
// as it needs for a large reply.
func (c *client) overSoftLimit(t *Tunables, outputLen int, nowMilli int64) bool {
	if t.OutputSoftLimit <= 0 || int64(outputLen) <= t.OutputSoftLimit {
		c.overSoftMilli = 0
		return false
	}
	if c.overSoftMilli == 0 || outputLen < c.softLen {
		c.overSoftMilli = nowMilli
	}
	c.softLen = outputLen
	return nowMilli-c.overSoftMilli >= int64(t.OutputSoftSec)*1000
}
