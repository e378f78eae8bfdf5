package sim

import (
	"errors"

	"github.com/hapaxkv/hapax/internal/engine"
)

// What the server does by itself, one step at a time.

// commit is what a syncer does, and the preparation of a segment.
func (w *world) commit() {
	if w.o.memoryOnly {
		return
	}
	w.note("commit")
	w.eng.Log().Kick() // an error is in Err, where everybody looks for it
}

// sync is what everysec does in the background.
func (w *world) sync() {
	if w.o.memoryOnly {
		return
	}
	w.note("sync")
	n := w.history.top()
	if err := w.eng.Log().Sync(); err != nil {
		return // likewise
	}
	w.history.power.raise(promise{step: n, t: w.history.steps[n-w.history.first].t})
}

// expire is one step of the walk that reclaims what has expired.
func (w *world) expire() {
	w.note("expire")
	tx := w.eng.Store.NewTx()
	tx.Begin(w.now(), 0)
	tx.ExpireStep(1 << 14)
	tx.End()
}

// startSnapshot begins one unless one runs.
func (w *world) startSnapshot() {
	_, err := w.eng.StartSnapshot("simulation")
	w.note("snapshot starts: %v", err)
	if err != nil && !errors.Is(err, engine.ErrSnapshotRunning) && w.eng.Err() == nil {
		w.fail("no snapshot starts: %v", err)
	}
}

// stepSnapshot does n steps of the running snapshot and says whether none runs
// any more.
func (w *world) stepSnapshot(n int) (done bool) {
	st := w.eng.SnapshotStatus()
	good := st.LastGood
	if st.Started != w.began {
		w.began, w.floor = st.Started, w.history.top()
	}
	for range n {
		if done = w.eng.StepSnapshot(); done {
			break
		}
	}
	st = w.eng.SnapshotStatus()
	w.note("snapshot: %d steps, running %t, %v", n, st.Running, st.LastErr)
	if st.LastGood != good {
		total.snapshots.Add(1)
		if w.o.memoryOnly { // it holds all that ran before it began, and perhaps more
			w.history.kill.raise(promise{step: w.floor})
			w.history.power.raise(promise{step: w.floor})
			w.history.forget()
		} else {
			w.logged++
		}
	}
	if st.LastErr != nil && !errors.Is(st.LastErr, engine.ErrSnapshotCancelled) && !w.faulty && !w.halted() {
		w.fail("the snapshot failed on a good disk: %v", st.LastErr)
	}
	return done
}

// snapshot makes one from beginning to end.
func (w *world) snapshot() {
	w.t.Helper()
	w.startSnapshot()
	for !w.stepSnapshot(1) {
	}
}

// cron is what the server does ten times a second.
func (w *world) cron() {
	w.note("cron")
	w.eng.Cron(w.now())
}
