package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/vfs"
)

// variant is a way to carry connections. Every promise of the server holds in
// each of them.
// plain is epoll with a system call for each read and write.
const plain = "plain"

type variant struct {
	backend string
	loops   int
}

func (v variant) String() string { return fmt.Sprintf("%s-%d", v.backend, v.loops) }

func variants() []variant {
	if !loopsAvailable {
		return []variant{{"goroutine", 1}}
	}
	return []variant{{"epoll", 1}, {"epoll", 4}, {plain, 1}, {"goroutine", 1}}
}

// everywhere runs a test on a fresh server of each variant.
func everywhere(t *testing.T, test func(t *testing.T, v variant)) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			test(t, v)
		})
	}
}

// lab is a server with everything a test wants to reach.
type lab struct {
	t      *testing.T
	fs     *vfs.Faulty
	clock  *clock.Manual // nil when it runs on real time
	eng    *engine.Engine
	srv    *Server
	logs   *logLines
	served chan error
	stop   context.CancelFunc
}

type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logLines) add(_ Level, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, format+"\n", args...)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

type setup struct {
	options   Options
	memory    bool // no log
	realTime  bool
	loading   bool // leave recovery to Serve
	source    clock.Source
	databases int
	segment   int64       // bytes
	files     *vfs.Faulty // nil for an empty directory
}

// newLab opens an engine on files in memory and makes a server on it.
func newLab(t *testing.T, change ...func(s *setup)) *lab {
	t.Helper()
	s := setup{databases: 16, segment: 8 << 20}
	for _, f := range change {
		f(&s)
	}
	l := &lab{t: t, fs: s.files, logs: &logLines{}}
	if l.fs == nil {
		l.fs = vfs.NewFaulty(vfs.NewMem())
	}
	src := clock.System()
	switch {
	case s.source != nil:
		src = s.source
	case !s.realTime:
		l.clock = clock.NewManual(1_800_000_000_000)
		src = l.clock
	}
	var err error
	l.eng, err = engine.Open(engine.Options{
		FS: l.fs, Dir: "data", Log: !s.memory, Shards: 4, Databases: s.databases,
		SegmentBytes: s.segment, Clock: clock.New(src, nil), Policy: s.options.Tunables.Fsync,
	})
	require.NoError(t, err)
	if !s.loading {
		require.NoError(t, l.eng.Recover())
	}
	s.options.Logf = l.logs.add
	s.options.Binds = []string{"127.0.0.1"}
	l.srv, err = New(s.options, l.eng)
	require.NoError(t, err)
	t.Cleanup(l.close)
	return l
}

func tuned(change func(t *Tunables)) func(s *setup) {
	return func(s *setup) { change(&s.options.Tunables) }
}

func inMemory(s *setup) { s.memory = true }

// serve starts the server with the variant's backend.
func serve(t *testing.T, v variant, change ...func(s *setup)) *lab {
	t.Helper()
	l := newLab(t, append([]func(s *setup){func(s *setup) {
		s.realTime = true
		s.options.Backend, s.options.IOLoops = v.backend, v.loops
		if v.backend == plain {
			s.options.Backend, s.options.NoURing = "epoll", true
		}
	}}, change...)...)
	l.start()
	return l
}

func (l *lab) start() {
	l.t.Helper()
	require.NoError(l.t, l.srv.Listen())
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.served = make(chan error, 1)
	go func() { l.served <- l.srv.Serve(ctx) }()
}

// halt stops the server in order and returns what Serve said.
func (l *lab) halt() error {
	l.stop()
	err := <-l.served
	l.served = nil
	return err
}

func (l *lab) close() {
	if l.served != nil {
		if err := l.halt(); err != nil && l.eng.Err() == nil {
			l.t.Errorf("serve: %v", err)
		}
	}
	if l.eng == nil {
		return // the test closed it
	}
	if err := l.eng.Close(); err != nil && l.eng.Err() == nil {
		l.t.Errorf("close: %v", err)
	}
}

// peer is a client's end of a connection.
type peer struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func (l *lab) dial() *peer {
	l.t.Helper()
	c, err := net.Dial("tcp", l.srv.Addrs()[0].String())
	require.NoError(l.t, err)
	l.t.Cleanup(func() { c.Close() })
	return &peer{t: l.t, Conn: c, r: bufio.NewReader(c)}
}

func (p *peer) send(text string) {
	p.t.Helper()
	_, err := io.WriteString(p.Conn, text)
	require.NoError(p.t, err)
}

// expect reads exactly want.
func (p *peer) expect(want string) {
	p.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(p.r, got)
	if err != nil || string(got) != want {
		require.FailNow(p.t, "another reply", "%v: got %q, want %q", err, got[:min(n, 2000)], want[:min(len(want), 2000)])
	}
}

// expectEnd wants the server to close without another byte. A reset counts:
// what we sent last may have been unread.
func (p *peer) expectEnd() {
	p.t.Helper()
	rest, err := io.ReadAll(p.r)
	if err != nil {
		var op *net.OpError
		require.ErrorAs(p.t, err, &op)
	}
	require.Empty(p.t, string(rest))
}

// do sends a request and returns its reply as sent, one line, or the whole of
// a bulk string or flat array.
func (p *peer) do(args ...string) string {
	p.t.Helper()
	p.send(wire(args...))
	return p.reply()
}

func (p *peer) reply() string {
	p.t.Helper()
	line, err := p.r.ReadString('\n')
	require.NoError(p.t, err)
	line = strings.TrimSuffix(line, "\r\n")
	n, _ := strconv.Atoi(line[1:])
	switch line[0] {
	case '$':
		if n < 0 {
			return "(nil)"
		}
		body := make([]byte, n+2)
		_, err := io.ReadFull(p.r, body)
		require.NoError(p.t, err)
		return string(body[:n])
	case '*':
		parts := make([]string, max(n, 0))
		for i := range parts {
			parts[i] = p.reply()
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return line
}

// wire encodes args as clients do.
func wire(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

// mem is a session without a socket that a test talks to.
type mem struct {
	t *testing.T
	*Memory
}

func (l *lab) session() *mem {
	m := &mem{l.t, l.srv.NewSession()}
	l.t.Cleanup(m.Close)
	return m
}

// feed sends text without a commit.
func (m *mem) feed(text string) {
	m.t.Helper()
	require.NoError(m.t, m.Feed([]byte(text)))
}

// ask sends text, commits and returns all replies.
func (m *mem) ask(text string) string {
	m.t.Helper()
	m.feed(text)
	require.NoError(m.t, m.Settle())
	return string(m.Output())
}

// do is ask of one request.
func (m *mem) do(args ...string) string {
	m.t.Helper()
	return m.ask(wire(args...))
}

var errDisk = errors.New("disk broke")

// slowSync makes every sync wait until release is called; entered tells of
// each one that arrives while records wait for it. Others are of a segment
// that is being prepared.
func (l *lab) slowSync() (entered <-chan struct{}, release func()) {
	gate := make(chan struct{})
	arrived := make(chan struct{}, 1000)
	l.fs.Inject(vfs.Fault{Op: vfs.OpSync, Path: "wal", Sticky: true, Before: func() {
		if l.eng.Last() > l.eng.Synced() {
			arrived <- struct{}{}
		}
		<-gate
	}})
	var once sync.Once
	release = func() { once.Do(func() { close(gate) }) }
	l.t.Cleanup(release)
	return arrived, release
}

// eventually waits for a state that no event announces to the test.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 20*time.Second, time.Millisecond, what)
}
