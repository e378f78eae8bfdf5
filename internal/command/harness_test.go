package command

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/op"
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// testLog is a log that keeps its records decoded, and knows which of them a
// crash could not part.
type testLog struct {
	mu      sync.Mutex
	buf     []byte
	last    wal.LSN
	lastT   int64
	keep    bool // off for what counts allocations
	unit    int  // of the records between one Lock and Unlock
	records []testRecord
	bytes   int // of all payloads
}

type testRecord struct {
	op.Op
	unit int
}

func (l *testLog) Lock() {
	l.mu.Lock()
	l.unit++
}

func (l *testLog) Unlock() { l.mu.Unlock() }

func (l *testLog) Next(tMilli int64) []byte {
	l.lastT = max(l.lastT, tMilli)
	return l.buf[:0]
}

func (l *testLog) Done(buf []byte) wal.LSN {
	l.buf = buf
	l.last++
	l.bytes += len(buf)
	if l.keep {
		var o op.Op
		if err := op.Decode(bytes.Clone(buf), &o); err != nil {
			panic(err)
		}
		l.records = append(l.records, testRecord{o, l.unit})
	}
	return l.last
}

func (l *testLog) Last() wal.LSN { return l.last }
func (l *testLog) LastT() int64  { return l.lastT }

// harness runs commands as the dispatcher does: resolve, extract keys, lock,
// run, roll back on error.
type harness struct {
	t     testing.TB
	log   *testLog
	store *shard.Store
	ctx   Ctx
	sess  Session
	count Counters
	out   resp.Writer
}

const testStartMilli = 1_700_000_000_000

func newHarness(t testing.TB) *harness {
	h := &harness{t: t, log: &testLog{keep: true, buf: []byte{}}} // nil would say that it keeps nothing
	h.store = shard.NewStore(shard.Options{Shards: 4, Databases: 16, Log: h.log})
	t.Cleanup(h.store.Close)
	h.sess.Proto = 2
	h.ctx = Ctx{Out: &h.out, Tx: h.store.NewTx(), Sess: &h.sess, Count: &h.count, NowMilli: testStartMilli}
	h.host()
	return h
}

// do runs one command and returns its reply as the protocol writes it, without
// the last line break.
func (h *harness) do(args ...string) string {
	h.t.Helper()
	split := make([][]byte, len(args))
	for i, arg := range args {
		split[i] = []byte(arg)
	}
	h.run(split)
	return string(bytes.TrimSuffix(h.out.Buf, []byte("\r\n")))
}

// run leaves the reply in h.out.Buf, with what was lent to it. That was taken
// after the Tx ended, when nothing but the loan kept it.
func (h *harness) run(args [][]byte) {
	h.out.Buf = h.out.Buf[:0]
	h.execute(args)
	var reply []byte
	from := 0
	for i := range h.out.Pieces {
		p := &h.out.Pieces[i]
		reply = append(append(reply, h.out.Buf[from:p.At]...), p.Bytes...)
		from = p.At
	}
	if from > 0 {
		reply = append(reply, h.out.Buf[from:]...)
		h.out.Truncate(0)
		h.out.Buf = reply
	}
	if l := h.store.Lent(); l != (shard.Lent{}) {
		h.t.Fatalf("still lent: %v", l)
	}
}

func (h *harness) execute(args [][]byte) {
	c := &h.ctx
	row, err := Resolve(args)
	if err != nil {
		h.out.Error(err.Error())
		return
	}
	c.Cmd, c.Args = row, args
	c.Keys = AppendKeys(c.Keys[:0], row, args)
	c.Tx.Begin(c.NowMilli, h.sess.DB)
	switch row.Lock {
	case LockByKeys:
		c.Tx.LockKeys(c.Keys)
	case LockEvery:
		c.Tx.LockAll()
	}
	err = func() error {
		defer c.Tx.End() // also when the handler panics, or the store could not be closed
		return row.Run(c)
	}()
	if err != nil {
		h.out.Truncate(0)
		h.out.Error(err.Error())
	}
}

// written are the records that f appends.
func (h *harness) written(f func()) []testRecord {
	from := len(h.log.records)
	f()
	return h.log.records[from:]
}

// requireSilent fails when f writes anything to the log.
func (h *harness) requireSilent(f func()) {
	h.t.Helper()
	require.Empty(h.t, h.written(f))
}

// plant stores a value as no command would.
func (h *harness) plant(key string, v shard.Value) {
	k := []shard.Key{shard.MakeKey([]byte(key))}
	tx := h.store.NewTx()
	tx.Begin(h.ctx.NowMilli, h.sess.DB)
	tx.LockKeys(k)
	require.NoError(h.t, tx.Put(&k[0], v))
	tx.End()
}

// value reads a key without a command.
func (h *harness) value(key string) (shard.Value, bool) {
	k := []shard.Key{shard.MakeKey([]byte(key))}
	tx := h.store.NewTx()
	tx.Begin(h.ctx.NowMilli, h.sess.DB)
	tx.LockKeys(k)
	defer tx.End()
	v, found := tx.Peek(&k[0])
	v.Bytes = bytes.Clone(v.Bytes)
	return v, found
}

// bulk is a bulk string as the protocol writes it, without the last break.
func bulk(s string) string {
	w := resp.Writer{}
	w.BulkString(s)
	return string(bytes.TrimSuffix(w.Buf, []byte("\r\n")))
}
