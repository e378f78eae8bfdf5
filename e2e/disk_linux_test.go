package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestFullDisk fills the disk under a loaded server. Nobody gets a reply that
// doesn't hold, the process ends with an error that says why (I8), and a start
// on a disk with room finds everything that was acknowledged.
func TestFullDisk(t *testing.T) {
	dir, enlarge := smallDisk(t)
	s := start(t, dir, "--wal-segment-size", "1mb")
	acknowledged := fillUp(t, s)
	diedOf(t, s, "no space left on device")
	enlarge()
	allThere(t, dir, acknowledged)
}

// TestFailedSync makes every fdatasync of a loaded server fail from one moment
// on, by strace: the kernel says EIO and has synced nothing. The process must
// not try again and must not answer (I8).
func TestFailedSync(t *testing.T) {
	strace := need(t, "strace", requireOracle)
	dir := t.TempDir()
	s := start(t, dir, "--wal-segment-size", "1mb")
	// Counted for each thread of the server; one of them gets there first.
	failSyncs(t, strace, s, "when=40+")
	acknowledged := fillUp(t, s)
	diedOf(t, s, "input/output error")
	allThere(t, dir, acknowledged)
}

// failSyncs attaches strace to the server and waits until it is.
func failSyncs(t *testing.T, strace string, s *server, when string) {
	t.Helper()
	cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-e", "trace=fdatasync,fsync",
		"-e", "inject=fdatasync,fsync:error=EIO:"+when, "-p", fmt.Sprint(s.cmd.Process.Pid))
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

// diedOf wants the process to have ended by itself, with an error that tells.
func diedOf(t *testing.T, s *server, reason string) {
	t.Helper()
	if code := s.wait(); code == 0 {
		t.Error("the server ended with 0 after its disk failed")
	}
	if said := s.log.String(); !strings.Contains(said, reason) {
		t.Errorf("the server doesn't say %q:\n%s", reason, tail(said, 20))
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

// fillUp writes from 8 clients until the server closes their connections, and
// returns how many of each client's writes were acknowledged.
func fillUp(t *testing.T, s *server) []int {
	t.Helper()
	acknowledged := make([]int, 8)
	var total atomic.Int64
	var wg sync.WaitGroup
	for i := range acknowledged {
		wg.Go(func() {
			c, err := redis.Dial("tcp", s.addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for j := 0; ; j++ {
				reply, err := redis.String(c.Do("SET", fmt.Sprintf("w:%d:%d", i, j), valueFor(i, j)))
				if err != nil {
					return
				}
				if reply != "OK" {
					t.Errorf("reply %q", reply)
					return
				}
				acknowledged[i]++
				if total.Add(1) > 200_000 {
					t.Error("800 MB fitted on a disk of 24")
					return
				}
			}
		})
	}
	wg.Wait()
	if total.Load() < 10 {
		t.Errorf("only %d writes were acknowledged before the disk failed", total.Load())
	}
	return acknowledged
}

// smallDisk is a file system of 24 MB in memory that can be made larger. The
// test is skipped where mounting isn't possible (in most containers).
func smallDisk(t *testing.T) (dir string, enlarge func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	dir = t.TempDir()
	if err := system("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", dir); err != nil {
		t.Skipf("no small disk here: %v", err)
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

// system runs a program that sets up or takes down a disk.
func system(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
