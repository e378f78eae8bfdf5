package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/wal"
)

// client is one connection: what it sent and did not get an answer to yet.
type client struct {
	id       int
	mem      *server.Memory
	db       int
	sent     [][]string // the server has not run it yet
	expected []answer   // it has; the reply has not arrived
	bytes    int        // of expected
	last     string     // the reply that arrived last
}

// answer is the reply that the model foresaw.
type answer struct {
	c       *call
	promise promise
	age     int // see ledger
}

// send gives the server a command. It runs at once, or waits behind what it may
// not overtake: how many bytes of replies the session then has tells which.
func (w *world) send(c *client, args ...string) {
	w.t.Helper()
	if w.full {
		w.sendAlone(c, args)
		return
	}
	w.feed(c, args)
	out := slices.Clone(c.mem.Output())
	for c.mem.Held()+len(out) > c.bytes && w.eng.Err() == nil {
		if len(c.sent) == 0 {
			w.fail("client %d: a reply to nothing, or a longer one than the model says: %d bytes more", c.id, c.mem.Held()+len(out)-c.bytes)
		}
		w.runNext(c)
	}
	if w.eng.Err() != nil {
		w.runAll(c) // as far as it came; nobody gets an answer any more
	}
	w.arrived(c, out)
}

func (w *world) feed(c *client, args []string) {
	w.note("%d> %s", c.id, short(args))
	c.sent = append(c.sent, args)
	if err := c.mem.Feed([]byte(wire(args))); err != nil {
		w.fail("client %d: %v", c.id, err)
	}
}

// sendAlone is send while the disk may be full: a write may then be refused,
// so each command is seen to its end before the next. When not even the record
// of an expiry has room, T stands still at the last that the log holds.
func (w *world) sendAlone(c *client, args []string) {
	w.t.Helper()
	if w.settle(c) != nil {
		return
	}
	frozen := min(w.now(), w.eng.Log().LastT())
	w.feed(c, args)
	err := c.mem.Settle()
	out := slices.Clone(c.mem.Output())
	now := w.now()
	switch {
	case err == nil && strings.HasPrefix(string(out), "-MISCONF "):
		w.refused(c, out, frozen)
		return
	case err == nil && !w.dryRun(c, frozen).wrote && w.foresees(c, frozen, out):
		now = frozen // or not; then less is promised than could be
	}
	w.runNextAt(c, now)
	w.arrived(c, out)
}

// foresees says whether the model answers c's command with out at T.
func (w *world) foresees(c *client, t int64, out []byte) bool {
	call := w.dryRun(c, t)
	return len(call.reply) == len(out) && sameReply(call, string(out))
}

// dryRun only looks what c's command would do at T.
func (w *world) dryRun(c *client, t int64) *call {
	st, db := w.history.now, c.db
	return run(&st, t, &db, c.sent[0])
}

// refused checks that what was refused may be: what only reads is answered
// always, and so are calls of Hapax's own commands that write nothing.
func (w *world) refused(c *client, out []byte, frozen int64) {
	w.note("%d< %q", c.id, brief(out))
	switch name := c.sent[0][0]; {
	case onlyReads[name]:
		w.fail("client %d: %s only reads, and was refused", c.id, short(c.sent[0]))
	case nativeCommands[name] != nil && !w.dryRun(c, w.now()).wrote && !w.dryRun(c, frozen).wrote:
		w.fail("client %d: %s writes nothing, and was refused", c.id, short(c.sent[0]))
	}
	c.sent = nil
	total.refused.Add(1)
}

var onlyReads = map[string]bool{"GET": true, "MGET": true, "STRLEN": true, "EXISTS": true, "TYPE": true,
	"PTTL": true, "PEXPIRETIME": true, "KEYS": true, "SELECT": true, "PING": true}

// runAll lets the model run what the server did, or will before anything else.
func (w *world) runAll(c *client) {
	for len(c.sent) > 0 {
		w.runNext(c)
	}
}

// runNext lets the model run what the server just ran for c.
func (w *world) runNext(c *client) { w.runNextAt(c, w.now()) }

func (w *world) runNextAt(c *client, t int64) {
	args := c.sent[0]
	c.sent = c.sent[1:]
	total.run.Add(1)
	call := run(&w.history.now, t, &c.db, args)
	c.expected = append(c.expected, answer{call, w.history.add(call), w.ledger.ran(call)})
	c.bytes += len(call.reply)
}

// settle commits what c waits for and takes its replies. An error is the log's.
func (w *world) settle(c *client) error {
	w.t.Helper()
	w.note("%d settles", c.id)
	w.runAll(c)
	err := c.mem.Settle()
	w.collect(c)
	if err == nil && len(c.expected) > 0 {
		w.fail("client %d: no reply to %s", c.id, short(c.expected[0].c.args))
	}
	return err
}

func (w *world) settleAll() {
	for _, c := range w.clients {
		if w.settle(c) != nil {
			return
		}
	}
}

// collectAll takes the replies that may leave.
func (w *world) collectAll() {
	for _, c := range w.clients {
		w.collect(c)
	}
}

func (w *world) collect(c *client) { w.arrived(c, slices.Clone(c.mem.Output())) }

// arrived checks the bytes that left the server for c. With each reply a
// promise was made.
func (w *world) arrived(c *client, out []byte) {
	w.t.Helper()
	if len(out) > 0 {
		w.note("%d< %q", c.id, brief(out))
	}
	for len(out) > 0 {
		if len(c.expected) == 0 {
			w.fail("client %d: %q is no reply to anything", c.id, out)
		}
		a := c.expected[0]
		n := len(a.c.reply)
		if len(out) < n || !sameReply(a.c, string(out[:n])) {
			w.fail("client %d: %s at T %d answered\n%q, the model says\n%q", c.id, short(a.c.args), a.c.now, brief(out), a.c.reply)
		}
		c.last, out = string(out[:n]), out[n:]
		c.expected = c.expected[1:]
		c.bytes -= n
		total.acknowledged.Add(1)
		if err := w.ledger.acknowledge(a.c, a.age); err != nil {
			w.fail("client %d: %v", c.id, err)
		}
		if w.o.memoryOnly {
			continue // nothing is promised but what a snapshot holds
		}
		w.history.kill.raise(a.promise)
		if w.o.policy == wal.Always {
			w.history.power.raise(a.promise)
		}
	}
	w.history.forget()
}

func sameReply(c *call, got string) bool {
	if !c.unordered {
		return got == c.reply
	}
	return slices.Equal(sortedItems(got), sortedItems(c.reply))
}

// sortedItems are the lines of an array's elements; names hold no line end.
func sortedItems(reply string) []string {
	lines := strings.Split(strings.TrimSuffix(reply, "\r\n"), "\r\n")
	var items []string
	for i := 1; i+1 < len(lines); i += 2 {
		items = append(items, lines[i]+lines[i+1])
	}
	slices.Sort(items)
	return append(items, lines[0])
}

// do is a command with its reply, which the model foresaw, or it fails.
func (w *world) do(c *client, args ...string) string {
	w.t.Helper()
	w.send(c, args...)
	if err := w.settle(c); err != nil {
		w.fail("%s: %v", short(args), err)
	}
	return c.last
}

// wire is args as clients send them.
func wire(args []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		b.WriteString(bulk(a))
	}
	return b.String()
}

// brief is b without its middle when it is long.
func brief(b []byte) string {
	if len(b) > 300 {
		return fmt.Sprintf("%s..(%d)", b[:300], len(b))
	}
	return string(b)
}

// short is a command as it is printed.
func short(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		if len(a) > 40 {
			a = fmt.Sprintf("%s..(%d)", a[:20], len(a))
		}
		out[i] = a
	}
	return fmt.Sprintf("%q", out)
}
