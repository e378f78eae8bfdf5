package sim

// What the server does by itself, one step at a time.

// commit is what a syncer does.
func (w *world) commit() {
	w.note("commit")
	_ = w.eng.Log().Commit(w.eng.Last()) // the error is in Err, where everybody looks for it
}

// sync is what everysec does in the background.
func (w *world) sync() error {
	w.note("sync")
	n := w.history.top()
	if err := w.eng.Log().Sync(); err != nil {
		return err
	}
	w.history.power.raise(promise{step: n, t: w.history.steps[n-w.history.first].t})
	return nil
}

// expire is one step of the walk that reclaims what has expired.
func (w *world) expire() {
	w.note("expire")
	tx := w.eng.Store.NewTx()
	tx.Begin(w.now(), 0)
	tx.ExpireStep(1 << 14)
	tx.End()
}
