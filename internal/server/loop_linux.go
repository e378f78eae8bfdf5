package server

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hapaxkv/hapax/internal/netpoll"
	"github.com/hapaxkv/hapax/internal/wal"
)

const loopsAvailable = netpoll.Available

// loop is one event loop: one goroutine, one poller, the connections handed
// to it. Only inbox, shownMu, waiting and the counters for INFO are touched by
// others.
type loop struct {
	srv  *Server
	all  *loops
	poll *netpoll.Poller
	ex   *executor

	conns  []*conn // by descriptor
	accept []*acceptor
	shared []byte   // what is read from sockets; arguments borrow from it
	parts  [][]byte // of one write
	calls  *socketCalls

	readable []*conn // to be read from in this round

	dirty   []*conn // touched in this round
	later   []*conn // of those, what waits for this round's commit
	pending []*conn // parked: what waits for the syncer
	ready   []*conn // may run on without new input
	spare   []*conn // room for the next ready
	blocked []*conn
	doomed  []int // descriptors to close once no event of the round can name them

	place         placeChooser
	pendingAt     wal.LSN // what was durable when pending was looked at last
	syncedAt      wal.LSN // what was synced when blocked was looked at last
	signalsAt     int64   // likewise, what had been signalled
	deadlineMilli int64   // the first of blocked, 0 for none
	lookAtBlocks  bool
	tickAt        int64 // T of the next tick
	acceptPaused  bool

	inbox   inbox
	shownMu sync.Mutex
	waiting atomic.Int64 // pending and blocked: whether progress of the log matters
	inLoop  atomic.Bool  // where the last commit ran
	parkedN atomic.Int64
	done    chan struct{}
}

// conn is a session with its socket.
type conn struct {
	Session
	loop *loop
	has  netpoll.Interest // what the poller watches for

	commit uint32 // the last one it waited for, or was a bystander of (placeChooser)

	isDirty, isReady, isPending, isListed bool // member of the loop's list

	full   bool // the socket took no more; its poller tells when it does
	closed bool
}

// inbox is what others leave for a loop.
type inbox struct {
	filled atomic.Bool
	mu     sync.Mutex
	poked  []*conn
	fresh  []*conn // accepted by another loop
	pauses []pauseOrder
}

// pauseOrder stops a loop: it says when it has got there, and waits.
type pauseOrder struct{ reached, goOn chan struct{} }

// poke and publishLock implement owner.
func (c *conn) poke(*Session) {
	c.loop.post(func(in *inbox) { in.poked = append(in.poked, c) })
}

func (c *conn) publishLock() *sync.Mutex { return &c.loop.shownMu }

// post leaves something in the loop's inbox. Safe from any goroutine.
func (l *loop) post(leave func(in *inbox)) {
	l.inbox.mu.Lock()
	leave(&l.inbox)
	l.inbox.filled.Store(true)
	l.inbox.mu.Unlock()
	l.all.wakeLoop(l)
}

func (l *loop) run() {
	defer close(l.done)
	defer l.srv.reportPanic("loop")
	for !l.srv.stopping.Load() && !l.srv.broken() {
		events, err := l.poll.Wait(l.patience())
		if err != nil {
			l.srv.fail(fmt.Errorf("event loop: %w", err))
			break
		}
		l.round(events)
	}
	l.wind()
}

// round is steps 1 to 6 of the package comment.
func (l *loop) round(events []netpoll.Event) {
	l.ex.begin()
	if l.inbox.filled.Load() {
		l.readInbox()
		if l.srv.sealed.Load() {
			return
		}
	}
	for i := range events {
		l.handle(&events[i])
	}
	l.readAll()
	l.runReady()
	l.endBlocks()
	l.tick()
	l.settle()
	l.ex.end()
	l.closeDoomed()
}

// patience is how long the loop may wait for sockets, in milliseconds.
func (l *loop) patience() int {
	if len(l.ready) > 0 || l.place.behind { // who has spoken by now was stalled
		return 0
	}
	// Since the clock was read the round has taken a while; a tick that comes
	// later by that does no harm, and a second reading would cost every round.
	wait := max(l.tickAt-l.ex.nowMilli, 0)
	if len(l.blocked) > 0 && l.deadlineMilli > 0 {
		wait = min(wait, max(l.deadlineMilli-l.ex.nowMilli, 0))
	}
	return int(wait)
}

// tick runs what happens by itself, on the first loop. The others wake as
// often, to look at their blocked clients.
func (l *loop) tick() {
	if l.ex.nowMilli < l.tickAt {
		return
	}
	next := l.srv.tickMilli(l.ex.tun)
	if l == l.all.list[0] {
		next = l.srv.tick(l.ex)
		l.resumeAccept()
	}
	l.tickAt = l.ex.nowMilli + int64(next)
}

func (l *loop) touch(c *conn) {
	if !c.isDirty {
		c.isDirty = true
		l.dirty = append(l.dirty, c)
	}
}

func (l *loop) makeReady(c *conn) {
	if !c.isReady {
		c.isReady = true
		l.ready = append(l.ready, c)
	}
}

func (l *loop) handle(e *netpoll.Event) {
	if e.FD >= len(l.conns) || l.conns[e.FD] == nil {
		l.acceptFrom(e.FD)
		return
	}
	c := l.conns[e.FD]
	if e.Writable {
		c.full = false
		l.touch(c)
	}
	switch {
	case c.isReady && !e.Down: // what it sent before comes first
	case e.Readable && c.stop == running && !c.eof:
		l.readable = append(l.readable, c)
	case e.Down || e.HalfDown && c.stop == stopBlocked:
		l.close(c)
	case e.Readable || e.HalfDown:
		// Stopped: what the client sends stays in its socket. It is watched
		// for again when the session goes on.
		l.interest(c, c.has&netpoll.Write)
	}
}

// runReady resumes sessions that stopped with requests at hand.
func (l *loop) runReady() {
	ready := l.ready
	l.ready = l.spare
	for _, c := range ready {
		c.isReady = false
		if c.closed || c.stop != running {
			continue
		}
		c.resume(l.ex)
		l.after(c)
	}
	clear(ready)
	l.spare = ready[:0]
}

// after looks at what a session's turn left to do.
func (l *loop) after(c *conn) {
	l.touch(c)
	switch c.stop {
	case stopTurn:
		if c.goOn(l.ex.tun, 0) {
			l.makeReady(c)
		}
	case stopBlocked:
		if !c.isListed {
			c.isListed = true
			l.blocked = append(l.blocked, c)
			l.lookAtBlocks = true
		}
	}
}

// endBlocks lets blocked sessions go on whose condition came true.
func (l *loop) endBlocks() {
	synced := l.srv.eng.Synced()
	signals := l.srv.signals.Load()
	due := l.deadlineMilli > 0 && l.ex.nowMilli >= l.deadlineMilli
	if len(l.blocked) == 0 || synced == l.syncedAt && signals == l.signalsAt && !due && !l.lookAtBlocks {
		return
	}
	l.syncedAt, l.signalsAt, l.lookAtBlocks, l.deadlineMilli = synced, signals, false, 0
	kept := l.blocked[:0]
	for _, c := range l.blocked {
		if c.closed {
			continue
		}
		if why, over := c.blockOver(l.ex.nowMilli); over {
			c.isListed = false
			c.endBlock(l.ex, why)
			l.makeReady(c)
			l.touch(c)
			continue
		}
		if d := c.block.DeadlineMilli; d > 0 && (l.deadlineMilli == 0 || d < l.deadlineMilli) {
			l.deadlineMilli = d
		}
		kept = append(kept, c)
	}
	clear(l.blocked[len(kept):])
	l.blocked = kept
}

// readInbox takes what other goroutines left.
func (l *loop) readInbox() {
	l.inbox.mu.Lock()
	l.inbox.filled.Store(false)
	poked, fresh, pauses := l.inbox.poked, l.inbox.fresh, l.inbox.pauses
	l.inbox.poked, l.inbox.fresh, l.inbox.pauses = nil, nil, nil
	l.inbox.mu.Unlock()
	for _, o := range pauses {
		close(o.reached)
		<-o.goOn
		l.ex.begin() // time went by
	}
	for _, c := range fresh {
		l.adopt(c)
	}
	for _, c := range poked {
		if !c.closed && c.killed.Load() {
			l.close(c)
		}
		l.lookAtBlocks = true // or else it was unblocked
	}
}
