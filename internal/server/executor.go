package server

import (
	"math/rand/v2"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/resp"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/wal"
)

// executor is what running commands needs and no connection keeps: a
// transaction, a context, buffers, counters. It serves one round at a time.
type executor struct {
	srv  *Server
	path execPath

	tun       *Tunables // of this round
	loading   bool      // likewise
	admission           // of this round
	nowMilli  int64     // T of this round
	observed  wal.LSN   // the greatest LSN this round's commands observed or wrote

	tx   *shard.Tx // nil until the store is loaded
	ctx  command.Ctx
	out  resp.Writer
	host host
	cur  *Session // whose commands run

	ahead []request   // requests parsed and not run yet
	args  [][]byte    // their arguments
	keys  []shard.Key // their keys

	rnd     *rand.PCG
	buffers bufferStack
	tally   tally
}

func (s *Server) newExecutor(path execPath) *executor {
	ex := &executor{srv: s, path: path, rnd: rand.NewPCG(rand.Uint64(), rand.Uint64())}
	ex.host = host{ex}
	ex.ctx.Out = &ex.out
	ex.ctx.Host = ex.host
	ex.ctx.Count = &ex.tally.counters
	ex.tally.rows = make([]rowTally, command.Count())
	ex.begin()
	return ex
}

// begin starts a round: the one reading of the clock.
func (ex *executor) begin() {
	ex.tun = ex.srv.tun.Load()
	ex.nowMilli = ex.srv.eng.Clock.NowMilli()
	ex.ctx.MaxBulkBytes = ex.tun.MaxBulkBytes
	ex.beginAdmission()
	ex.observed = 0
	if ex.tx == nil {
		ex.loading = ex.srv.eng.Loading()
		if !ex.loading {
			ex.tx = ex.srv.eng.Store.NewTx()
			ex.ctx.Tx = ex.tx
		}
	}
}

// keptScratch and keptKeys bound what one large command leaves behind.
const (
	keptScratchBytes = 1 << 20
	keptKeys         = 1 << 10
)

// end publishes what the round counted and gives large scratch space back.
func (ex *executor) end() {
	ex.srv.totals.publish(&ex.tally, ex.tx)
	// What was parsed borrows from buffers that may be large.
	clear(ex.ahead)
	clear(ex.args)
	clear(ex.keys)
	if cap(ex.ctx.Scratch) > keptScratchBytes {
		ex.ctx.Scratch = nil
	}
	if cap(ex.keys) > keptKeys || cap(ex.args) > keptKeys {
		ex.keys, ex.args, ex.ahead = nil, nil, nil
	}
	ex.ctx.Keys = nil
	if n := ex.buffers.droppedBytes; n > 0 {
		ex.srv.trim.droppedBytes.Add(n)
		ex.buffers.droppedBytes = 0
	}
}

// commit makes what the round observed durable in this goroutine.
func (ex *executor) commit() error {
	log := ex.srv.eng.Log()
	if log == nil || ex.observed <= log.Durable() {
		return nil
	}
	ex.tally.groupCommits++
	return log.Commit(ex.observed)
}

// observe notes what a transaction saw, for one session or for none.
func (ex *executor) observe(s *Session) {
	o := ex.tx.Observed()
	ex.observed = max(ex.observed, o)
	if s != nil {
		s.need = max(s.need, o)
	}
}

// bufferStack keeps buffers of one size at hand, last used first.
type bufferStack struct {
	free         [][]byte
	droppedBytes int64 // left to the garbage collector since the last round
}

const (
	bufferBytes = 16 << 10 // a fresh buffer
	keptBytes   = 64 << 10 // a larger one is left to the garbage collector
	keptBuffers = 128
)

func (b *bufferStack) take() []byte {
	if n := len(b.free) - 1; n >= 0 {
		buf := b.free[n]
		b.free = b.free[:n]
		return buf
	}
	return make([]byte, 0, bufferBytes)
}

func (b *bufferStack) give(buf []byte) {
	switch c := cap(buf); {
	case c > keptBytes:
		b.droppedBytes += int64(c)
	case c >= bufferBytes && len(b.free) < keptBuffers:
		b.free = append(b.free, buf[:0])
	}
}
