package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// meanwhile runs a well-behaved client through the whole test: it sets, reads
// and counts, and every reply has to be right.
func meanwhile(t *testing.T, s *server) {
	t.Helper()
	c := dial(t, s)
	stop := make(chan struct{})
	var rounds int
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			rounds++
			value := fmt.Sprint(rounds)
			c.SetDeadline(time.Now().Add(wireTimeout))
			for _, step := range [][2]string{{"SET polite " + value, "+OK"}, {"GET polite", `"` + value + `"`}, {"INCR count", value}} {
				if _, err := c.Write(encode(strings.Fields(step[0])...)); err != nil {
					t.Errorf("a polite client was not served: %v", err)
					return
				}
				reply, err := readReply(c)
				if err != nil || reply != step[1] {
					t.Errorf("a polite client got %s for %s (%v)", reply, step[0], err)
					return
				}
			}
		}
	})
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
		if rounds == 0 {
			t.Error("the polite client was never served")
		}
	})
}

// TestManyConnections holds 5,000 connections at once; each is answered.
func TestManyConnections(t *testing.T) {
	const n = 5000
	needDescriptors(t, n+200)
	s := start(t, t.TempDir())
	meanwhile(t, s)
	conns := make([]*wire, n)
	for i := range conns {
		conns[i] = dial(t, s)
	}
	for i, c := range conns {
		c.send(encode("SET", fmt.Sprintf("c:%d", i), fmt.Sprint(i)))
	}
	for _, c := range conns {
		if got := c.reply().String(); got != "+OK" {
			t.Fatal(got)
		}
	}
	if got := conns[0].infoInt("connected_clients"); got < n {
		t.Errorf("connected_clients:%d with %d connections", got, n)
	}
	for i, c := range conns {
		c.send(encode("GET", fmt.Sprintf("c:%d", i)))
	}
	for i, c := range conns {
		if got, want := c.reply().String(), fmt.Sprintf("%q", fmt.Sprint(i)); got != want {
			t.Fatalf("connection %d: %s, want %s", i, got, want)
		}
	}
}

// TestMaxClients: one more than allowed is told so and closed; the others stay.
func TestMaxClients(t *testing.T) {
	s := start(t, t.TempDir(), "--maxclients", "10")
	var conns []*wire
	for len(conns) < 10 {
		c := dial(t, s)
		c.SetReadDeadline(time.Now().Add(wireTimeout))
		c.send(encode("PING"))
		// The connections of start may still be closing.
		if reply, err := readReply(c); err == nil && reply == "+PONG" {
			conns = append(conns, c)
		}
	}
	c := dial(t, s)
	if said := c.closed(); said != "-ERR max number of clients reached\r\n" {
		t.Errorf("the eleventh got %q", said)
	}
	for _, c := range conns {
		c.want("+PONG", "PING")
	}
}

// TestNeverReads: 20 clients ask for 400 MB each and read nothing. The server
// keeps little of it, and serves everyone else.
func TestNeverReads(t *testing.T) {
	s := start(t, t.TempDir(), "--appendonly", "no", "--save", "")
	meanwhile(t, s)
	c := dial(t, s)
	const size = 1 << 20
	if got := c.do("SET", "big", strings.Repeat("b", size)); got != "+OK" {
		t.Fatal(got)
	}
	before := s.memory("VmRSS")
	const greedy, gets = 20, 400
	ask := bytes.Repeat(encode("GET", "big"), gets)
	for range greedy {
		g := dial(t, s)
		g.send(ask)
		g.send(encode("PING"))
	}
	waitFor(t, func() bool { return c.infoInt("total_net_input_bytes") > int64(greedy*len(ask)) },
		"the server never read what the greedy clients sent")
	for range 200 {
		c.want("+PONG", "PING")
	}
	// Without a bound this would be 8 GB. A megabyte or a few for each of them
	// is a bound; 400 MB in all leaves room for the allocator.
	if grown := s.memory("VmHWM") - before; grown > 400<<20 {
		t.Errorf("the server's memory grew by %d MB", grown>>20)
	}
	if got := c.do("STRLEN", "big"); got != fmt.Sprint(size) {
		t.Errorf("strlen: %s", got)
	}
}

// TestDeclaresMuch: 200 connections declare a million arguments of 512 MB each
// and send none of it. Nothing is reserved for them.
func TestDeclaresMuch(t *testing.T) {
	s := start(t, t.TempDir())
	meanwhile(t, s)
	c := dial(t, s)
	c.want("+PONG", "PING")
	before := s.memory("VmRSS")
	read := c.infoInt("total_net_input_bytes")
	declaration := []byte("*1000000\r\n$536870912\r\nsome of it")
	const n = 200
	var all []*wire
	for range n {
		d := dial(t, s)
		d.send(declaration)
		all = append(all, d)
	}
	waitFor(t, func() bool { return c.infoInt("total_net_input_bytes")-read >= int64(n*len(declaration)) },
		"the server never read the declarations")
	if grown := s.memory("VmHWM") - before; grown > 64<<20 {
		t.Errorf("200 declarations took %d MB", grown>>20)
	}
	for _, d := range all {
		d.Close()
	}
	waitFor(t, func() bool { return c.infoInt("connected_clients") < 10 }, "closed connections are still counted")
}

// TestForeignProtocols: what is no Redis client gets an error or a closed
// connection, and HTTP is closed without running anything.
func TestForeignProtocols(t *testing.T) {
	s := start(t, t.TempDir())
	meanwhile(t, s)

	post := dial(t, s)
	post.send([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\nSET injected 1\r\n\r\n"))
	if said := post.closed(); strings.Contains(said, "OK") {
		t.Errorf("POST got %q", said)
	}
	get := dial(t, s)
	get.send([]byte("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\nSET injected 1\r\n"))
	if said := get.closed(); strings.Contains(said, "OK") {
		t.Errorf("GET with Host: got %q", said)
	}
	if !strings.Contains(s.log.String(), "SECURITY ATTACK") {
		t.Error("nothing was logged about HTTP")
	}

	// A TLS hello has no end of line: the server may answer with an error, close,
	// or wait for one like for any half-sent command. It must notice the end.
	c := dial(t, s)
	read := c.infoInt("total_net_input_bytes")
	hello := dial(t, s)
	hello.SetDeadline(time.Now().Add(wireTimeout))
	failed := make(chan error, 1)
	go func() { failed <- tls.Client(hello, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	waitFor(t, func() bool { return c.infoInt("total_net_input_bytes") > read+200 }, "the server never read the TLS hello")
	hello.Conn.(*net.TCPConn).CloseWrite()
	if err := <-failed; err == nil {
		t.Error("a TLS handshake succeeded with a server that speaks none")
	} else if e, ok := err.(net.Error); ok && e.Timeout() {
		t.Error("a TLS hello was neither answered nor closed")
	}
	dial(t, s).want("nil", "GET injected")
}

// TestRandomBytes sends noise in many shapes. The server outlives all of it.
func TestRandomBytes(t *testing.T) {
	s := start(t, t.TempDir())
	meanwhile(t, s)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"*", "$", "\r\n", "*3\r\n", "*-1\r\n", "*2147483648\r\n", "$-1\r\n", "$3\r\nSET\r\n", "*1\r\n$4\r\nPING\r\n",
		"\x00", "\xff\xfe", "'", "\"", "*1000000000000000000000\r\n", "$99999999999\r\n", "$abc\r\n", "*1\r\n", "IDEM k BEGIN", "\n"}
	for range 300 {
		c := dial(t, s)
		var noise []byte
		for range 1 + rnd.IntN(40) {
			if rnd.IntN(3) == 0 {
				for range rnd.IntN(200) {
					noise = append(noise, byte(rnd.Uint32()))
				}
				continue
			}
			noise = append(noise, pieces[rnd.IntN(len(pieces))]...)
		}
		c.SetDeadline(time.Now().Add(wireTimeout))
		if _, err := c.Write(noise); err == nil {
			c.Conn.(*net.TCPConn).CloseWrite()
			c.closed()
		}
		c.Close()
	}
	c := dial(t, s)
	c.want("+PONG", "PING")
}

// TestHalfClosed: a client that ends its side after asking still gets every
// answer, then the end.
func TestHalfClosed(t *testing.T) {
	s := start(t, t.TempDir())
	c := dial(t, s)
	const n = 1000
	c.send(bytes.Repeat(encode("INCR", "n"), n))
	if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		if got := c.reply().String(); got != fmt.Sprint(i) {
			t.Fatalf("reply %d is %s", i, got)
		}
	}
	if said := c.closed(); said != "" {
		t.Errorf("after the last reply: %q", said)
	}
}

// TestByteAtATime sends a pipeline one byte a packet.
func TestByteAtATime(t *testing.T) {
	s := start(t, t.TempDir())
	c := dial(t, s)
	c.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range []byte("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n\r\n\x00\xff\r\nGET a\r\n*4\r\n$4\r\nIDEM\r\n") {
		c.send([]byte{b})
	}
	if got := c.reply().String(); got != "+OK" {
		t.Error(got)
	}
	if got := string(c.reply().Text); got != "\r\n\x00\xff" {
		t.Errorf("%q", got)
	}
}

// TestLongPipeline: 100,000 commands in one go are answered in order, and
// another client isn't kept waiting for all of them.
func TestLongPipeline(t *testing.T) {
	s := start(t, t.TempDir())
	meanwhile(t, s)
	c := dial(t, s)
	const n = 100_000
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(bytes.Repeat(encode("INCR", "long"), n))
		sent <- err
	}()
	for i := 1; i <= n; i++ {
		if got := c.reply(); got.Int != int64(i) {
			t.Fatalf("reply %d is %s", i, got)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestIdemBounds: what the contract forbids is an error that changes nothing.
func TestIdemBounds(t *testing.T) {
	s := start(t, t.TempDir())
	c := dial(t, s)
	long := strings.Repeat("x", 129)
	c.want("+OK", "SET foreign value")
	c.want(`["acquired"]`, "IDEM bare BEGIN digest owner 60000")
	c.want("1", "PERSIST bare")
	for _, args := range [][]string{
		{"IDEM"},
		{"IDEM", "k"},
		{"IDEM", "k", "BEGIN", "digest", "owner"},
		{"IDEM", "k", "BEGIN", "digest", "owner", "60000", "more"},
		{"IDEM", "k", "BEGIN", "", "owner", "60000"},
		{"IDEM", "k", "BEGIN", long, "owner", "60000"},
		{"IDEM", "k", "BEGIN", "digest", "", "60000"},
		{"IDEM", "k", "BEGIN", "digest", long, "60000"},
		{"IDEM", "k", "BEGIN", "digest", "owner", "0"},
		{"IDEM", "k", "BEGIN", "digest", "owner", "604800001"},
		{"IDEM", "k", "BEGIN", "digest", "owner", "1.5"},
		{"IDEM", "k", "BEGIN", "digest", "owner", "soon"},
		{"IDEM", "k", "RENEW", "digest", "owner", "60000"},
		{"IDEM", "k", "COMPLETE", "digest", "owner", strings.Repeat("r", 4<<20+1)},
		{"IDEM", "foreign", "BEGIN", "digest", "owner", "60000"},
		{"IDEM", "foreign", "COMPLETE", "digest", "owner", "result"},
		{"IDEM", "bare", "BEGIN", "digest", "owner", "60000"},
		{"IDEM", "bare", "COMPLETE", "digest", "owner", "result"},
	} {
		if got := c.do(args...); !strings.HasPrefix(got, "-") {
			t.Errorf("%.60q: %.80s, want an error", args, got)
		}
	}
	c.want("0", "EXISTS k")
	c.want(`"value"`, "GET foreign")
	c.want("-1", "PTTL bare")
	c.want("0", "IDEM k COMPLETE digest owner result")
	// The longest that are allowed.
	edge := strings.Repeat("e", 128)
	if got := c.do("idem", "k", "begin", edge, edge, "604800000"); got != `["acquired"]` {
		t.Error(got)
	}
	if got := c.do("IDEM", "k", "COMPLETE", edge, edge, strings.Repeat("r", 4<<20)); got != "1" {
		t.Errorf("%.80s", got)
	}
}
