package server

import (
	"time"
)

// cron is what happens by itself: expiry, eviction, timeouts, rates. One
// executor runs it at a time, hz times a second, in small steps.
type cron struct {
	sampleNano int64 // when rates were sampled last
	sweepMilli int64 // when idle clients were looked for last
	expiring   bool  // the last step reclaimed much: there is more
	space      space // as it was logged last
}

const (
	expireStepBuckets = 64
	evictLimitNano    = 500 * int64(time.Microsecond)
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
// While compaction runs it is called more often, for that alone.
func (s *Server) tick(ex *executor) int {
	c := &s.compactor
	if !c.running || ex.nowMilli >= c.tickMilli {
		next := s.wholeTick(ex)
		c.tickMilli = ex.nowMilli + int64(next)
		if ex.tx == nil {
			return next
		}
		s.compactDue(ex)
	}
	next := max(int(c.tickMilli-ex.nowMilli), 1)
	if pause := s.compact(ex); pause > 0 {
		next = min(next, pause)
	}
	return next
}

// wholeTick does all but compaction and returns after how many milliseconds the
// next is due.
func (s *Server) wholeTick(ex *executor) int {
	now := s.eng.Clock.MonoNano()
	if now-s.cron.sampleNano >= sampleNano {
		s.cron.sampleNano = now
		s.totals.sample(now)
	}
	if ex.nowMilli-s.cron.sweepMilli >= sweepMilli {
		s.cron.sweepMilli = ex.nowMilli
		s.sweep(ex)
		s.trim.droppedBytes.Add(s.requests.trim())
		s.trimHeap()
	}
	if ex.tx == nil {
		return s.tickMilli(ex.tun)
	}
	s.checkSpace(ex)
	s.tendSnapshots(ex.nowMilli)
	if err := s.eng.Err(); err != nil {
		s.fail(err) // of a snapshot's directory: nobody's commit has seen it
	}
	s.cron.expiring = ex.expire(now)
	if ex.tun.MaxMemory > 0 {
		ex.admit()
	}
	if s.cron.expiring {
		return soonMilli
	}
	return s.tickMilli(ex.tun)
}

// checkSpace logs when writes begin to be refused for want of room on disk,
// and when that ends.
func (s *Server) checkSpace(ex *executor) {
	now := hasRoom
	if ex.log != nil {
		if ex.room(1, true) != nil {
			now = onlyReserve
		}
		if ex.room(1, false) != nil {
			now = noRoom
		}
	}
	before := s.cron.space
	switch s.cron.space = now; {
	case now == before:
	case now == hasRoom:
		s.logf(LevelWarning, "The log has room again: writes are accepted")
	case now == noRoom:
		s.logf(LevelWarning, "All writes are refused, and nothing expires: %v", ex.appendErr)
	case before == hasRoom:
		s.logf(LevelWarning, "Writes are refused, but for those that make room: %v", ex.growErr)
	default:
		s.logf(LevelWarning, "Writes that make room are accepted again")
	}
}

// space is what room the log has.
type space uint8

const (
	hasRoom     space = iota
	onlyReserve       // for deletes and what happens by itself
	noRoom
)

// expire reclaims expired entries until it came round or its time is over. It
// says whether there is likely much more.
func (ex *executor) expire(startNano int64) bool {
	limit := startNano + expireSliceNano*int64(max(ex.tun.ActiveExpireEffort, 1))
	steps, reclaimed := 0, 0
	for {
		ex.tx.Begin(ex.ctx.NowMilli, 0)
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
