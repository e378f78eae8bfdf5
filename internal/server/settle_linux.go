package server

import "github.com/hapaxkv/hapax/internal/wal"

// maxUnwritten bounds what is appended while the syncer waits for the disk.
const maxUnwritten = 64 << 20

// settle ends a round: replies that are durable leave, the rest is committed
// here or left to the syncer, and follows.
func (l *loop) settle() {
	if l.srv.broken() {
		return
	}
	eng := l.srv.eng
	durable := eng.Durable()
	spoke, parked := len(l.dirty), len(l.pending) > 0
	l.collectPending(durable)
	l.flushDirty(spoke, parked || l.place.behind)
	if l.place.behind {
		l.place.ended()
	}
	target := l.ex.observed
	for _, c := range l.later {
		target = max(target, c.need)
	}
	if log := eng.Log(); log != nil && target > durable {
		latency := log.SyncLatencyMicro()
		inLoop := l.place.inLoop(l.ex.tun, latency)
		if !inLoop && log.BufferBytes() > maxUnwritten {
			inLoop = true // the disk is far behind: nobody goes on until it caught up (I12)
		}
		l.inLoop.Store(inLoop)
		l.ex.tally.groupCommits++
		if inLoop {
			l.place.began()
			for _, c := range l.later {
				c.commit = l.place.commit
			}
			if err := log.Commit(target); err != nil {
				l.srv.fail(err)
				return
			}
			l.flushLater()
			l.place.behind = l.place.counts(l.ex.tun, latency)
		}
		l.park()
		if !inLoop {
			// After park has told that somebody waits: the syncer's notice
			// for this request cannot be missed.
			log.Kick()
		}
	} else {
		l.park()
	}
	l.publish()
}

// collectPending takes parked sessions up again when the log advanced.
func (l *loop) collectPending(durable wal.LSN) {
	if len(l.pending) == 0 || durable == l.pendingAt {
		return
	}
	l.pendingAt = durable
	l.place.ended()
	l.place.began()
	for _, c := range l.pending {
		c.isPending = false
		if !c.closed {
			l.ex.tally.groupedReplies++
			l.touch(c)
		}
	}
	clear(l.pending)
	l.pending = l.pending[:0]
}

// flushDirty writes what may leave and sorts out what waits for the log. The
// first spoke of dirty said something in this round; beside says that a commit
// was under way then.
func (l *loop) flushDirty(spoke int, beside bool) {
	l.later = l.later[:0]
	for rest := l.dirty; len(rest) > 0; {
		n, durable := l.flushSome(rest)
		for i, c := range rest[:n] {
			switch {
			case c.closed:
			case c.waitsForLog(durable):
				l.later = append(l.later, c)
			case beside && i < spoke:
				c.commit = l.place.saw(c.commit)
			}
		}
		rest, spoke = rest[n:], spoke-n
	}
}

// flushLater writes what waited for this round's commit.
func (l *loop) flushLater() {
	kept := l.later[:0]
	for rest := l.later; len(rest) > 0; {
		n, _ := l.flushSome(rest)
		for _, c := range rest[:n] {
			l.ex.tally.groupedReplies++
			if !c.closed && c.waitsForLog(l.srv.eng.Durable()) {
				kept = append(kept, c)
			}
		}
		rest = rest[n:]
	}
	l.later = kept
}

// park leaves what still waits to the syncer.
func (l *loop) park() {
	for _, c := range l.later {
		if !c.isPending {
			c.isPending = true
			l.pending = append(l.pending, c)
		}
	}
	l.parkedN.Store(int64(len(l.pending)))
	l.waiting.Store(int64(len(l.pending) + len(l.blocked)))
}

// publish shows others what the round changed.
func (l *loop) publish() {
	if len(l.dirty) == 0 {
		return
	}
	l.shownMu.Lock()
	for _, c := range l.dirty {
		c.isDirty = false
		if !c.closed {
			c.Session.publish()
		}
	}
	l.shownMu.Unlock()
	clear(l.dirty)
	l.dirty = l.dirty[:0]
}
