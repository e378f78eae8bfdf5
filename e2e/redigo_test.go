package e2e

import (
	"reflect"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestRedigo drives the server through redigo: plain commands, its pipeline,
// a password, another database.
func TestRedigo(t *testing.T) {
	s := launch(t, t.TempDir(), "--requirepass", "open sesame")
	s.pass = "open sesame"
	s.ready()
	if _, err := redis.Dial("tcp", s.addr, redis.DialPassword("wrong")); err == nil {
		t.Error("a wrong password was accepted")
	}
	c, err := redis.Dial("tcp", s.addr, redis.DialPassword("open sesame"), redis.DialDatabase(3), redis.DialClientName("till"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	do := func(want any, command string, args ...any) {
		t.Helper()
		got, err := c.Do(command, args...)
		if err != nil {
			t.Errorf("%s %v: %v", command, args, err)
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("%s %v: got %q, want %q", command, args, got, want)
		}
	}
	do("OK", "SET", "k", "v")
	do([]byte("v"), "GET", "k")
	do(nil, "GET", "none")
	do([]byte("till"), "CLIENT", "GETNAME")
	do("OK", "SELECT", 0)
	do(nil, "GET", "k")
	do(int64(1), "SETNX", "k", "zero")
	do("OK", "SELECT", 3)
	do([]any{[]byte("v"), nil}, "MGET", "k", "none")

	const n = 10_000
	for range n {
		c.Send("INCR", "n")
	}
	c.Flush()
	for i := 1; i <= n; i++ {
		if got, err := redis.Int(c.Receive()); err != nil || got != i {
			t.Fatalf("reply %d: %d, %v", i, got, err)
		}
	}

	begin := []any{"order:42", "BEGIN", "digest", "attempt", 60000}
	do([]any{[]byte("acquired")}, "IDEM", begin...)
	do([]any{[]byte("pending")}, "IDEM", begin...)
	do(int64(0), "IDEM", "order:42", "COMPLETE", "digest", "another", "result")
	do(int64(1), "IDEM", "order:42", "COMPLETE", "digest", "attempt", "")
	do([]any{[]byte("completed"), []byte{}}, "IDEM", begin...)
	if _, err := c.Do("IDEM", "k", "BEGIN", "digest", "attempt", 60000); err == nil {
		t.Error("IDEM took a foreign string for a record")
	}
}
