package wal

// start runs what goes on beside the commits: the syncer that Kick asks, the
// ticker, the preparer of segments. Three goroutines, because a slow sync of
// the ticker must not hold up a Kick that only needs a write.
func (l *Log) start() {
	l.wantSegment()
	if l.o.Inline {
		return
	}
	l.done.Go(l.commitWhenKicked)
	l.done.Go(l.prepareSegments)
	if l.o.Tick != nil {
		l.done.Go(l.syncEveryTick)
	}
}

// Kick asks the syncer goroutine for a Commit of everything appended so far
// and returns at once; notify functions are called after it. Kicks that arrive
// during a commit share the next one.
func (l *Log) Kick() {
	if l.o.Inline {
		l.commitAndNotify()
		l.prepareOne()
		return
	}
	l.wakeNotifier()
}

// OnDurable registers f to be called (from the syncer) whenever Durable or
// Synced advanced there, or the log failed. f must not block. Calls that
// tell nothing new happen too.
func (l *Log) OnDurable(f func()) {
	for {
		old := l.notify.Load()
		var all []func()
		if old != nil {
			all = append(all, *old...)
		}
		all = append(all, f)
		if l.notify.CompareAndSwap(old, &all) {
			return
		}
	}
}

func (l *Log) wakeNotifier() {
	select {
	case l.kick <- struct{}{}:
	default: // one is under way that has not begun
	}
}

func (l *Log) commitWhenKicked() {
	for {
		select {
		case <-l.stop:
			return
		case <-l.kick:
			l.commitAndNotify()
		}
	}
}

func (l *Log) commitAndNotify() {
	// An error is in Err then, which whoever is notified looks at.
	_ = l.Commit(l.Last())
	l.notifyAll()
}

func (l *Log) notifyAll() {
	if all := l.notify.Load(); all != nil {
		for _, f := range *all {
			f()
		}
	}
}

func (l *Log) syncEveryTick() {
	for {
		select {
		case <-l.stop:
			return
		case <-l.o.Tick:
			l.onTick()
		}
	}
}

// onTick syncs for EverySec. Under every policy it commits what was appended
// by somebody who does not wait for it, and has another try at a segment that
// could not be prepared.
func (l *Log) onTick() {
	before := l.Synced()
	// An error is in Err; the failure itself has woken everybody.
	_ = l.Commit(l.Last())
	if l.Policy() != Never {
		_ = l.syncWritten()
	}
	if l.Synced() != before {
		l.wakeNotifier()
	}
	if l.o.Inline {
		l.prepareOne()
		return
	}
	l.wantSegment()
}

// Close commits and syncs what is appended, then closes the files. The caller
// has stopped appending. A log that failed returns why.
func (l *Log) Close() error {
	l.prep.mu.Lock()
	l.prep.stopping = true
	l.prep.idle.Broadcast()
	l.prep.mu.Unlock()
	if !l.becomeLast() {
		return ErrClosed
	}
	close(l.stop)
	l.done.Wait()
	err := l.finish()
	if closed := l.closeFiles(); err == nil {
		err = closed
	}
	return err
}

// becomeLast takes the leadership for good, false if somebody did before.
func (l *Log) becomeLast() bool {
	l.commitMu.Lock()
	defer l.commitMu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	for l.leading {
		l.covered.Wait()
	}
	l.leading = true
	l.covered.Broadcast()
	l.waiting.Broadcast()
	return true
}

// finish writes what is left, syncs, and seals: the next start can tell damage
// from a torn tail in everything that was there at an orderly stop.
func (l *Log) finish() error {
	b := l.take()
	if err := l.writeBatch(&b); err != nil {
		return err
	}
	if err := l.syncWritten(); err != nil {
		return err
	}
	return l.seal()
}

// seal writes the proof that everything before it was synced, and syncs it. A
// log that ends with one needs no second.
func (l *Log) seal() error {
	if l.w.sealed {
		return nil
	}
	l.busy.write.Store(max(l.now(), 1))
	err := l.writeControl(controlSeal)
	l.busy.write.Store(0)
	if err != nil {
		return err
	}
	if err := l.syncWritten(); err != nil {
		return err
	}
	l.w.sealed = true
	return nil
}

func (l *Log) closeFiles() error {
	err := l.w.live.close()
	if next := l.prep.next; next != nil {
		_ = next.file.Close() // nothing was written to it through this handle
	}
	return err
}
