package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/gomodule/redigo/redis"
)

// TestDiskFails fills the disk under a loaded server, in two ways: writes that
// fail because a file system is full, and syncs that fail because the device
// under it is. Either way nobody gets a reply that doesn't hold, the process
// ends with an error that says why (I8), and once the disk is healthy again a
// start finds everything that was acknowledged.
func TestDiskFails(t *testing.T) {
	for _, test := range []struct {
		name  string
		mount func(t *testing.T) (dir string, heal func())
	}{
		{"writes fail", mountSmall},
		{"syncs fail", mountOnSmallDevice},
	} {
		t.Run(test.name, func(t *testing.T) {
			mountDir, heal := test.mount(t)
			dir := filepath.Join(mountDir, "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			s := start(t, dir, "--wal-segment-size", "1mb")
			acknowledged := fillUp(t, s)
			if code := s.wait(); code == 0 {
				t.Error("the server ended with 0 after its disk failed")
			}
			if said := s.log.String(); !strings.Contains(said, "no space left on device") {
				t.Errorf("the server doesn't say why it ended:\n%s", tail(said, 20))
			}

			heal()
			s = start(t, dir, "--wal-segment-size", "1mb")
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
			// The disk is healthy: the server works again, and keeps it.
			if got, err := redis.String(c.Do("SET", "after", "1")); err != nil || got != "OK" {
				t.Errorf("a write after the restart: %q, %v", got, err)
			}
			if code := s.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
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
	if total.Load() < 100 {
		t.Errorf("only %d writes were acknowledged before the disk was full", total.Load())
	}
	return acknowledged
}

// needRoot skips what only root can set up.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a small disk needs root")
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

// mount mounts and takes the mount away when the test has ended; it skips the
// test where mounting isn't possible (in most containers).
func mount(t *testing.T, dir string, args ...string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := system("mount", append(args, dir)...); err != nil {
		t.Skipf("no small disk here: %v", err)
	}
	t.Cleanup(func() {
		if err := system("umount", dir); err != nil {
			t.Error(err)
		}
	})
}

// mountSmall is a file system of 24 MB in memory; healing makes it larger.
func mountSmall(t *testing.T) (dir string, heal func()) {
	needRoot(t)
	dir = filepath.Join(t.TempDir(), "small")
	mount(t, dir, "-t", "tmpfs", "-o", "size=24m", "tmpfs")
	return dir, func() {
		if err := system("mount", "-o", "remount,size=400m", dir); err != nil {
			t.Fatal(err)
		}
	}
}

// mountOnSmallDevice is a file system that believes it has 300 MB, on a device
// that has 24: writes into the page cache go well, and the sync fails. Healing
// enlarges the device and mounts again, so that only what reached the device
// is seen, not what the page cache still had.
func mountOnSmallDevice(t *testing.T) (dir string, heal func()) {
	needRoot(t)
	base := t.TempDir()
	backing, dir := filepath.Join(base, "backing"), filepath.Join(base, "disk")
	mount(t, backing, "-t", "tmpfs", "-o", "size=24m", "tmpfs")
	image := filepath.Join(backing, "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 300<<20); err != nil {
		t.Fatal(err)
	}
	if err := system("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,nodiscard", "-O", "^has_journal", image); err != nil {
		t.Skipf("no small disk here: %v", err)
	}
	mount(t, dir, "-o", "loop,errors=continue", image)
	return dir, func() {
		for _, step := range [][]string{
			{"mount", "-o", "remount,size=400m", backing},
			{"umount", dir},
			{"mount", "-o", "loop,errors=continue", image, dir},
		} {
			if err := system(step[0], step[1:]...); err != nil {
				t.Fatal(err)
			}
		}
	}
}
