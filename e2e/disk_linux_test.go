package e2e

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestFullDisk fills the disk under a working server. Writes are refused before
// the log is full, reads and deletes still work, and with room again so do
// writes, without a restart. Nothing acknowledged is lost.
func TestFullDisk(t *testing.T) {
	dir, enlarge := smallDisk(t)
	// One client needs a thousand commits to fill the last segment that had room;
	// by then the server has long found out that there is none for another.
	s := start(t, dir, "--wal-segment-size", "4mb")
	acknowledged, last := fillUp(t, s, 1, 200_000)
	if last == nil || !strings.HasPrefix(last.Error(), "MISCONF ") || !strings.Contains(last.Error(), "no space left on device") {
		t.Fatalf("the first write that failed: %v, want MISCONF with the reason", last)
	}
	c := dial(t, s)
	if got := string(valueOf(c, "w:0:0")); got != valueFor(0, 0) {
		t.Errorf("a read on a full disk: %.60q", got)
	}
	if got := c.do("IDEM", "op", "BEGIN", "digest", "owner", "60000"); !strings.HasPrefix(got, "-MISCONF ") {
		t.Errorf("BEGIN on a full disk: %s", got)
	}
	c.want("0", "EXISTS op")
	c.want(fmt.Sprint(acknowledged[0]), "DBSIZE")
	c.want("1", "DEL w:0:0")
	enlarge()
	waitFor(t, func() bool { return c.do("SET", "room", "again") == "+OK" }, "writes are still refused on a disk with room")
	c.want("+OK", "SET w:0:0 "+valueFor(0, 0))
	s.kill()
	allThere(t, dir, acknowledged)
}

// TestFullDiskForLong keeps a server on a full disk, with snapshots that fail
// for want of room, while a client deletes more than the reserve of the log can
// record. What can't be recorded is refused; the server never fails. With room
// again it heals by itself, and so do the snapshots.
func TestFullDiskForLong(t *testing.T) {
	dir, enlarge := smallDisk(t)
	s := start(t, dir, snapshotArgs...)
	c := dial(t, s)
	const small, batch = 40_000, 1000
	for from := 0; from < small; from += batch {
		args := []string{"MSET"}
		for i := from; i < from+batch; i++ {
			args = append(args, fmt.Sprintf("small:%d", i), "1")
		}
		if got := c.do(args...); got != "+OK" {
			t.Fatal(got)
		}
	}
	var wg sync.WaitGroup
	saveAlways(s, &wg)
	acknowledged, last := fillUp(t, s, 4, 200_000)
	if last == nil || !strings.HasPrefix(last.Error(), "MISCONF ") {
		t.Fatalf("the first write that failed: %v, want MISCONF", last)
	}
	deleted, refused := 0, 0
	for deleted+refused < small && refused < 100 {
		switch got := c.do("DEL", fmt.Sprintf("small:%d", deleted)); {
		case got == "1":
			deleted++
		case strings.HasPrefix(got, "-MISCONF "):
			refused++
		default:
			t.Fatalf("DEL on a full disk, after %d: %s", deleted, got)
		}
	}
	t.Logf("%d deletes on a full disk, %d refused", deleted, refused)
	if deleted < 1000 {
		t.Errorf("only %d deletes were possible on a full disk", deleted)
	}
	if got := string(valueOf(c, "w:0:0")); got != valueFor(0, 0) {
		t.Errorf("a read on a full disk: %.60q", got)
	}
	enlarge()
	waitFor(t, func() bool { return c.do("SET", "room", "again") == "+OK" }, "writes are still refused on a disk with room")
	finished := s.snapshots()
	waitFor(t, func() bool { return s.snapshots() > finished }, "no snapshot succeeds on a disk with room")
	s.kill()
	wg.Wait()
	allThere(t, dir, acknowledged)
	s = start(t, dir)
	c = dial(t, s)
	for i := range small {
		if want := count(i >= deleted); c.do("EXISTS", fmt.Sprintf("small:%d", i)) != fmt.Sprint(want) {
			t.Fatalf("small:%d, %d were deleted: want EXISTS %d", i, deleted, want)
		}
	}
}

// valueOf is the bytes of a string.
func valueOf(c *wire, key string) []byte {
	c.t.Helper()
	c.send(encode("GET", key))
	return c.reply().Text
}

// allThere starts a server on dir, looks for everything acknowledged, and sees
// that it works again.
func allThere(t *testing.T, dir string, acknowledged []int) {
	t.Helper()
	s := start(t, dir, "--wal-segment-size", "1mb")
	c, err := redis.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lost := 0
	for i, n := range acknowledged {
		for j := range n {
			key := fmt.Sprintf("w:%d:%d", i, j)
			if got, err := redis.String(c.Do("GET", key)); err != nil || got != valueFor(i, j) {
				lost++
			}
		}
	}
	if lost > 0 {
		t.Errorf("%d acknowledged values are lost or changed", lost)
	}
	if got, err := redis.String(c.Do("SET", "after", "1")); err != nil || got != "OK" {
		t.Errorf("a write after the restart: %q, %v", got, err)
	}
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func valueFor(worker, n int) string {
	return fmt.Sprintf("%d-%d-%s", worker, n, strings.Repeat("v", 4000))
}

// fillUp writes from some clients until a write of each fails, or most were
// acknowledged, and returns how many of each client's were, and one of the
// errors.
func fillUp(t *testing.T, s *server, clients, most int) (acknowledged []int, last error) {
	t.Helper()
	acknowledged = make([]int, clients)
	errs := make([]error, clients)
	var total atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			c, err := redis.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for j := 0; errs[i] == nil && total.Load() < int64(most); j++ {
				reply, err := redis.String(c.Do("SET", fmt.Sprintf("w:%d:%d", i, j), valueFor(i, j)))
				switch {
				case err != nil:
					errs[i] = err
				case reply != "OK":
					t.Errorf("reply %q to write %d", reply, total.Load())
					return
				default:
					total.Add(1)
					acknowledged[i]++
				}
			}
		})
	}
	wg.Wait()
	if total.Load() < 10 {
		t.Errorf("only %d writes were acknowledged before the disk failed", total.Load())
	}
	return acknowledged, errs[0]
}

// smallDisk is a file system of 24 MB in memory that can be made larger.
func smallDisk(t *testing.T) (dir string, enlarge func()) {
	t.Helper()
	needMounts(t)
	dir = t.TempDir()
	if err := system("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := system("umount", dir); err != nil {
			t.Error(err)
		}
	})
	return dir, func() {
		if err := system("mount", "-o", "remount,size=400m", dir); err != nil {
			t.Fatal(err)
		}
	}
}
