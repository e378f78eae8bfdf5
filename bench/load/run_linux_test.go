package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a server that answers each request by what answer returns for its
// arguments; "" closes the connection.
func fake(t *testing.T, answer func(args []string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c, answer)
		}
	}()
	return l.Addr().String()
}

func serve(c net.Conn, answer func(args []string) string) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		var n int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
			return
		}
		args := make([]string, n)
		for i := range args {
			var size int
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			b := make([]byte, size+2)
			if _, err := io.ReadFull(r, b); err != nil {
				return
			}
			args[i] = string(b[:size])
		}
		reply := answer(args)
		if reply == "" {
			return
		}
		if _, err := io.WriteString(c, reply); err != nil {
			return
		}
	}
}

func ok([]string) string { return "+OK\r\n" }

func sets(v []byte) func(int) Script {
	return func(i int) Script { return NewStrings("k", Uniform(10, uint64(i)), v, 0, 0) }
}

// TestQuota sends every request once, whatever the numbers of loops, clients
// and requests of a batch.
func TestQuota(t *testing.T) {
	t.Parallel()
	for _, p := range []Plan{
		{Groups: []Group{{Clients: 1, Requests: 1}}},
		{Groups: []Group{{Clients: 7, Pipeline: 16, Requests: 1003}}},
		{Loops: 3, Groups: []Group{{Clients: 7, Pipeline: 5, Requests: 1003}, {Clients: 1, Requests: 10}}},
		{Loops: 4, Groups: []Group{{Clients: 2, Requests: 1}}}, // less than clients and loops
	} {
		var served atomic.Int64
		p.Addr = fake(t, func(args []string) string { served.Add(1); return ok(args) })
		want := 0
		for i := range p.Groups {
			p.Groups[i].New = sets([]byte("v"))
			want += p.Groups[i].Requests
		}
		r, err := Run(p)
		if err != nil || r.Requests() != int64(want) || served.Load() != int64(want) {
			t.Errorf("%+v: %d replies to %d requests, %v, want %d", p, r.Requests(), served.Load(), err, want)
		}
		for i, g := range r.Groups {
			if g.Requests != int64(p.Groups[i].Requests) || g.Latency.TotalCount() != g.Requests || g.Seconds <= 0 {
				t.Errorf("%+v: group %d: %d replies, %d latencies, %v s", p, i, g.Requests, g.Latency.TotalCount(), g.Seconds)
			}
		}
	}
}

// TestLargeBatches don't fit the sockets' buffers: they are written in parts,
// while replies are read that don't fit either.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	v := []byte(strings.Repeat("v", 4<<20))
	addr := fake(t, func(args []string) string {
		if args[0] == "SET" && len(args[2]) != len(v) {
			return "-ERR short\r\n"
		}
		if args[0] == "SET" {
			return "+OK\r\n"
		}
		return fmt.Sprintf("$%d\r\n%s\r\n", len(v), v)
	})
	r, err := Run(Plan{Addr: addr, Groups: []Group{{Clients: 3, Pipeline: 4, Requests: 24,
		New: func(i int) Script { return NewStrings("k", Uniform(10, 1), v, 50, uint64(i)) }}}})
	if err != nil || r.Requests() != 24 {
		t.Errorf("%d replies, %v", r.Requests(), err)
	}
}

// TestTimed warms up before it counts, and calls its hooks once each, in order.
func TestTimed(t *testing.T) {
	t.Parallel()
	served := make(chan struct{})
	var once sync.Once
	addr := fake(t, func(args []string) string {
		once.Do(func() { close(served) })
		return ok(args)
	})
	var calls []string
	r, err := Run(Plan{Addr: addr, Warmup: time.Millisecond, Duration: 20 * time.Millisecond,
		Begin: func() {
			<-served // the load runs while nothing counts
			calls = append(calls, "begin")
		},
		End:    func() { calls = append(calls, "end") },
		Groups: []Group{{Name: "a", Clients: 3, New: sets([]byte("v"))}, {Name: "b", Clients: 2, Pipeline: 3, New: sets([]byte("v"))}}})
	if err != nil || fmt.Sprint(calls) != "[begin end]" {
		t.Fatalf("%v, calls %v", err, calls)
	}
	if r.Group("a").Requests == 0 || r.Group("b").Requests == 0 || r.Group("c") != nil {
		t.Errorf("%+v", r.Groups)
	}
}

// TestStall: a server that answers nobody for longer than the run was to last
// is waited for: its stall is a figure, too.
func TestStall(t *testing.T) {
	t.Parallel()
	const clients = 2
	var asked atomic.Int64
	stuck, waited := make(chan struct{}), make(chan struct{})
	addr := fake(t, func(args []string) string {
		if n := asked.Add(1); n > clients { // the first ones have been answered
			if n == 2*clients {
				close(stuck)
			}
			<-waited
		}
		return ok(args)
	})
	r, err := Run(Plan{Addr: addr, Warmup: time.Millisecond, Duration: time.Millisecond,
		Begin: func() {
			<-stuck
			time.AfterFunc(100*time.Millisecond, func() { close(waited) })
		},
		Groups: []Group{{Name: "a", Clients: clients, New: sets([]byte("v"))}}})
	if err != nil || r.Requests() == 0 {
		t.Errorf("%d replies, %v", r.Requests(), err)
	}
}

// TestUnexpected ends the run and says what came.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	write := sets([]byte("v"))
	read := func(int) Script { return NewStrings("k", Uniform(1, 1), []byte("v"), 100, 1) }
	begin := func(int) Script { return NewIdem(Dialect{}, Mix{}, nil, 0, 1, 0) }
	for _, test := range []struct {
		script func(int) Script
		reply  string // "" closes
		want   string
	}{
		{write, "-OOM no room\r\n", "OOM no room"},
		{write, "what\r\n", "no reply begins"},
		{write, "+OK\r\n+OK\r\n", "nothing was sent"},
		{write, "", "closed"},
		{read, "$-1\r\n", "0 bytes, want 1"},
		{read, "$2\r\nvv\r\n", "2 bytes, want 1"},
		{begin, "*1\r\n$7\r\npending\r\n", "want acquired"},
	} {
		addr := fake(t, func([]string) string { return test.reply })
		_, err := Run(Plan{Addr: addr, Groups: []Group{{Clients: 2, Requests: 10, New: test.script}}})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want an error with %q", test.reply, err, test.want)
		}
	}
}

// TestPlans that could not end are refused.
func TestPlans(t *testing.T) {
	good := Group{Clients: 1, Requests: 1, New: sets(nil)}
	endless, nobody := good, good
	endless.Requests, nobody.Clients = 0, 0
	for _, p := range []Plan{
		{}, {Groups: []Group{endless}}, {Groups: []Group{nobody}}, {Groups: []Group{good}, Duration: time.Second},
	} {
		if _, err := Run(p); err == nil {
			t.Errorf("%+v was run", p)
		}
	}
}

// TestNothingPerRequest: what is sent and read again and again keeps its
// memory.
func TestNothingPerRequest(t *testing.T) {
	for name, test := range map[string]struct {
		script Script
		reply  string
	}{
		"GET":    {NewStrings("k", Uniform(1000, 1), []byte("v"), 100, 1), "$1\r\nv\r\n"},
		"SET":    {NewStrings("k", NewZipf(1000, 0.99, 1).Keys(1), []byte("v"), 0, 1), "+OK\r\n"},
		"BEGIN":  {NewBegins(Dialect{}, 0, 1, 0), "*1\r\n$8\r\nacquired\r\n"},
		"EVAL":   {NewBegins(Dialect{BeginSHA: strings.Repeat("a", 40)}, 0, 1, 0), "*1\r\n$8\r\nacquired\r\n"},
		"replay": {NewReplays(Dialect{}, Uniform(10, 1), 3), "*2\r\n$9\r\ncompleted\r\n$3\r\nabc\r\n"},
	} {
		c := &conn{script: test.script, pipeline: 16, quota: -1}
		batch := []byte(strings.Repeat(test.reply, c.pipeline))
		tl := newTally([]Group{{}})
		round := func() {
			c.batch(0)
			n, err := c.take(batch)
			if err != nil || n != c.pipeline || c.waiting != 0 {
				t.Fatalf("%s: %d replies, %v", name, n, err)
			}
			tl.count(0, n, 1000)
		}
		if n := testing.AllocsPerRun(2000, round); n > 0 {
			t.Errorf("%s: %v allocations a batch", name, n)
		}
	}
}
