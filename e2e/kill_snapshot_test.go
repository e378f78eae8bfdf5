package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// ballast is what is there before the first crash and never touched: enough
// that a snapshot and its load take a while.
const (
	ballastKeys  = 15_000
	ballastBatch = 500
)

func ballastKey(i int) string   { return fmt.Sprintf("ballast:%d", i) }
func ballastValue(i int) string { return fmt.Sprintf("%d-%s", i, strings.Repeat("b", 150+i%100)) }

func putBallast(t *testing.T, s *server) {
	t.Helper()
	c, err := redis.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for from := 0; from < ballastKeys; from += ballastBatch {
		args := []any{}
		for i := from; i < from+ballastBatch; i++ {
			args = append(args, ballastKey(i), ballastValue(i))
		}
		if reply, err := redis.String(c.Do("MSET", args...)); err != nil || reply != "OK" {
			t.Fatalf("%q, %v", reply, err)
		}
	}
}

func checkBallast(c redis.Conn) error {
	for from := 0; from < ballastKeys; from += ballastBatch {
		args := []any{}
		for i := from; i < from+ballastBatch; i++ {
			args = append(args, ballastKey(i))
		}
		values, err := redis.Strings(c.Do("MGET", args...))
		if err != nil {
			return err
		}
		for i, value := range values {
			if want := ballastValue(from + i); value != want {
				return fmt.Errorf("%s is %.40q, want %.40q", ballastKey(from+i), value, want)
			}
		}
	}
	return nil
}

// saver asks for one snapshot after the other. running may be read when it has
// ended, which it does with the server.
type saver struct {
	running bool // when it last looked
}

func saveAlways(s *server, wg *sync.WaitGroup) *saver {
	v := &saver{}
	wg.Go(func() {
		c, err := redis.Dial("tcp", s.addr)
		if err != nil {
			return
		}
		defer c.Close()
		for c.Err() == nil {
			// Refused while one runs that the log's growth has started.
			if _, err := redis.String(c.Do("BGSAVE")); err == nil {
				v.running = true
			}
			v.look(c)
			for v.running && c.Err() == nil {
				time.Sleep(time.Millisecond)
				v.look(c)
			}
		}
	})
	return v
}

// look reads whether one runs; nothing changes when the server doesn't answer.
func (v *saver) look(c redis.Conn) {
	if text, err := redis.String(c.Do("INFO", "persistence")); err == nil {
		v.running = strings.Contains(text, "_in_progress:1\r\n")
	}
}

var snapshotFinished = regexp.MustCompile(`Snapshot \d+ finished in `)

// snapshots is how many this server finished, whatever started them.
func (s *server) snapshots() int64 {
	return int64(len(snapshotFinished.FindAllString(s.log.String(), -1)))
}
