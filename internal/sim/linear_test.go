package sim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/server"
	"github.com/hapaxkv/hapax/internal/vfs"
	"github.com/hapaxkv/hapax/internal/wal"
)

const (
	linearClients = 6
	linearRounds  = 3   // each ends with a crash
	linearReplies = 500 // of a round, before it crashes
)

// lab is a real server on sockets, its files in memory.
type lab struct {
	t    *testing.T
	mem  *vfs.Mem
	eng  *engine.Engine
	srv  *server.Server
	stop context.CancelFunc
	done chan error
}

func serve(t *testing.T, mem *vfs.Mem, backend string, loops int, policy wal.Policy) *lab {
	t.Helper()
	l := &lab{t: t, mem: mem, done: make(chan error, 1)}
	var err error
	l.eng, err = engine.Open(engine.Options{
		FS: mem, Dir: dataDir, Log: true, SegmentBytes: 64 << 10, Policy: policy, DirectIO: true,
		Shards: 4, Databases: databases, Clock: clock.New(clock.System(), nil),
	})
	require.NoError(t, err)
	require.NoError(t, l.eng.Recover())
	l.srv, err = server.New(server.Options{
		Binds: []string{"127.0.0.1"}, Backend: backend, IOLoops: loops,
		Tunables: server.Tunables{Fsync: policy},
	}, l.eng)
	require.NoError(t, err)
	require.NoError(t, l.srv.Listen())
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() { l.done <- l.srv.Serve(ctx) }()
	return l
}

func (l *lab) close() {
	l.stop()
	require.NoError(l.t, <-l.done)
	require.NoError(l.t, l.eng.Close())
}

// recorder gathers what clients see. Times are of one monotonic clock.
type recorder struct {
	start   time.Time
	mu      sync.Mutex
	history []operation
	replies atomic.Int64
	enough  chan struct{} // closed after so many replies
	want    int64
}

func (r *recorder) now() int64 { return int64(time.Since(r.start)) }

func (r *recorder) add(o operation) {
	r.mu.Lock()
	r.history = append(r.history, o)
	r.mu.Unlock()
	if o.reply != "" && r.replies.Add(1) == r.want {
		close(r.enough)
	}
}

// client sends small pipelines until the connection ends.
func (r *recorder) client(t *testing.T, addr string, id int, rnd *rand.Rand) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Errorf("dial: %v", err)
		return
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for broken := false; !broken; {
		var batch []operation
		var text strings.Builder
		for range 1 + rnd.IntN(3) {
			args := linearCommand(rnd, id)
			batch = append(batch, operation{client: id, args: args, till: endless})
			text.WriteString(wire(args))
		}
		from := r.now()
		_, err := io.WriteString(c, text.String())
		broken = err != nil
		for _, o := range batch {
			o.from = from
			if !broken {
				if reply, err := readReply(in); err == nil {
					o.reply, o.till = reply, r.now()
				} else {
					broken = true
				}
			}
			r.add(o)
		}
	}
}

// linearCommand is about one key of few.
func linearCommand(rnd *rand.Rand, id int) []string {
	k, owner := strconv.Itoa(rnd.IntN(2)), fmt.Sprintf("c%d-%d", id, rnd.IntN(3))
	switch rnd.IntN(12) {
	case 0, 1:
		return []string{"SET", "s" + k, strconv.Itoa(rnd.IntN(1000))}
	case 2, 3:
		return []string{"GET", "s" + k}
	case 4:
		return []string{"INCR", "s" + k}
	case 5:
		return []string{"DEL", []string{"s", "i", "o"}[rnd.IntN(3)] + k}
	case 6, 7, 8:
		return []string{"IDEM", "i" + k, "BEGIN", "f", owner, "600000"}
	case 9, 10:
		return []string{"IDEM", "i" + k, "COMPLETE", "f", owner, owner}
	}
	return []string{"ONCE", "o" + k, "600000"}
}

// readReply reads one reply as it was sent.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(strings.TrimSuffix(line[1:], "\r\n"))
	switch line[0] {
	case '$':
		body := make([]byte, max(n+2, 0))
		if n >= 0 {
			_, err = io.ReadFull(r, body)
		} else {
			body = nil
		}
		return line + string(body), err
	case '*':
		for range n {
			item, err := readReply(r)
			if err != nil {
				return "", err
			}
			line += item
		}
	}
	return line, nil
}

func TestLinearizable(t *testing.T) {
	variants := []struct {
		backend string
		loops   int
	}{{"goroutine", 1}}
	if runtime.GOOS == "linux" {
		variants = append(variants, struct {
			backend string
			loops   int
		}{"epoll", 1}, struct {
			backend string
			loops   int
		}{"epoll", 4})
	}
	for _, v := range variants {
		t.Run(fmt.Sprintf("%s-%d", v.backend, v.loops), func(t *testing.T) {
			t.Parallel()
			r := &recorder{start: time.Now()}
			mem := vfs.NewMem()
			mem.DirectBlockBytes = directBlockBytes
			for round := range linearRounds {
				mem = crashUnderLoad(t, r, mem, v.backend, v.loops, round)
			}
			readAll(t, r, mem)
			require.True(t, linearizable(r.history), "no order explains what %d clients saw", linearClients)
		})
	}
}

// crashUnderLoad runs clients and snapshots until enough was answered, and
// returns the disk as a crash at that moment leaves it.
func crashUnderLoad(t *testing.T, r *recorder, mem *vfs.Mem, backend string, loops, round int) *vfs.Mem {
	l := serve(t, mem, backend, loops, wal.Always)
	r.enough, r.want = make(chan struct{}), r.replies.Load()+linearReplies
	var all sync.WaitGroup
	for id := range linearClients {
		all.Go(func() {
			r.client(t, l.srv.Addrs()[0].String(), id, rand.New(rand.NewPCG(uint64(round), uint64(id))))
		})
	}
	l.eng.OnSnapshotEnd(func() { _, _ = l.eng.StartSnapshot("again") }) // until it is closed
	_, err := l.eng.StartSnapshot("first")
	require.NoError(t, err)
	<-r.enough
	before := r.now()
	disk := mem.Kill()
	after := r.now()
	if round%2 == 1 {
		disk = disk.Crash(uint64(round))
		total.powerCuts.Add(1)
	} else {
		total.kills.Add(1)
	}
	l.close()
	all.Wait()
	r.cutAt(before, after)
	return disk
}

// cutAt makes the history that of clients whose server was gone at a moment
// between before and after: later replies never came, later requests were
// never sent.
func (r *recorder) cutAt(before, after int64) {
	kept := r.history[:0]
	for _, o := range r.history {
		if o.from > after {
			continue
		}
		if o.till > before {
			o.reply, o.till = "", endless
		}
		kept = append(kept, o)
	}
	r.history = kept
}

// readAll adds what every key holds in the end.
func readAll(t *testing.T, r *recorder, mem *vfs.Mem) {
	l := serve(t, mem, "goroutine", 1, wal.Always)
	defer l.close()
	c, err := net.Dial("tcp", l.srv.Addrs()[0].String())
	require.NoError(t, err)
	defer c.Close()
	in := bufio.NewReader(c)
	for _, key := range []string{"s0", "s1", "i0", "i1", "o0", "o1"} {
		args := []string{"EXISTS", key}
		switch key[0] {
		case 's':
			args = []string{"GET", key}
		case 'i':
			args = []string{"IDEM", key, "BEGIN", "f", "last", "600000"}
		}
		from := r.now()
		_, err := io.WriteString(c, wire(args))
		require.NoError(t, err)
		reply, err := readReply(in)
		require.NoError(t, err)
		r.history = append(r.history, operation{client: linearClients, args: args, reply: reply, from: from, till: r.now()})
	}
	total.run.Add(r.replies.Load())
	total.acknowledged.Add(r.replies.Load())
}

// The whole can fail: with appendfsync no, a power cut takes back what was
// acknowledged, and then no order explains what clients saw.
func TestPowerCutWithoutSyncIsSeen(t *testing.T) {
	t.Parallel()
	r := &recorder{start: time.Now(), enough: make(chan struct{}), want: linearReplies}
	l := serve(t, vfs.NewMem(), "goroutine", 1, wal.Never)
	var all sync.WaitGroup
	for id := range linearClients {
		all.Go(func() { r.client(t, l.srv.Addrs()[0].String(), id, rand.New(rand.NewPCG(7, uint64(id)))) })
	}
	<-r.enough
	before := r.now()
	disk := l.mem.Kill()
	after := r.now()
	l.close()
	all.Wait()
	r.cutAt(before, after)
	for seed := range uint64(20) {
		one := &recorder{start: r.start, history: append([]operation(nil), r.history...)}
		readAll(t, one, disk.Crash(seed))
		if !linearizable(one.history) {
			return
		}
	}
	t.Fatal("20 power cuts without a sync lost nothing that was seen")
}
