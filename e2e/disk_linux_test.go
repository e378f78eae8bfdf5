package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
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
	acknowledged, last := fillUp(t, s, 1)
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

// TestFailingDisk makes every sync, or every write, of a loaded server fail from
// one moment on, by strace: the kernel says that it failed and has done nothing.
// The process must not try again and must not answer; it ends with an error that
// says why (I8), and the next start finds everything acknowledged.
func TestFailingDisk(t *testing.T) {
	for _, test := range []struct{ name, calls, errno, reason string }{
		{"sync", "fdatasync,fsync", "EIO", "input/output error"},
		{"write", "pwrite64", "ENOSPC", "no space left on device"},
	} {
		t.Run(test.name, func(t *testing.T) {
			strace := need(t, "strace", requireOracle)
			dir := t.TempDir()
			s := start(t, dir, "--wal-segment-size", "1mb")
			// Counted for each thread of the server; one of them gets there first.
			inject(t, strace, s, test.calls, "error="+test.errno+":when=40+")
			acknowledged, _ := fillUp(t, s, 8)
			if code := s.wait(); code == 0 {
				t.Error("the server ended with 0 after its disk failed")
			}
			if said := s.log.String(); !strings.Contains(said, test.reason) {
				t.Errorf("the server doesn't say %q:\n%s", test.reason, tail(said, 20))
			}
			allThere(t, dir, acknowledged)
		})
	}
}

// valueOf is the bytes of a string.
func valueOf(c *wire, key string) []byte {
	c.t.Helper()
	c.send(encode("GET", key))
	return c.reply().Text
}

// inject attaches strace to the server, to change what system calls return, and
// waits until it is attached.
func inject(t *testing.T, strace string, s *server, calls, fault string) {
	t.Helper()
	cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-e", "trace="+calls,
		"-e", "inject="+calls+":"+fault, "-p", fmt.Sprint(s.cmd.Process.Pid))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	attached, all := make(chan bool, 1), &logBuffer{}
	go func() {
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			fmt.Fprintln(all, lines.Text())
			if strings.Contains(lines.Text(), "attached") {
				select {
				case attached <- true:
				default:
				}
			}
		}
		close(attached)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if !<-attached {
		t.Skipf("strace may not attach here: %s", all)
	}
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

// fillUp writes from some clients until a write of each fails, and returns how
// many of each client's were acknowledged, and one of the errors.
func fillUp(t *testing.T, s *server, clients int) (acknowledged []int, last error) {
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
			for j := 0; errs[i] == nil; j++ {
				reply, err := redis.String(c.Do("SET", fmt.Sprintf("w:%d:%d", i, j), valueFor(i, j)))
				switch {
				case err != nil:
					errs[i] = err
				case reply != "OK" || total.Add(1) > 200_000:
					t.Errorf("reply %q to write %d", reply, total.Load())
					return
				default:
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
