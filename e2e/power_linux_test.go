package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// TestPowerCut cuts the power under a loaded server, again and again. SIGKILL
// alone can't show a missing sync, because the kernel keeps what was written.
// Here the data is on a file system in a file: at the cut it is shut down as a
// dead disk would be, nothing in memory reaches the file any more, and the
// next start finds a copy of the file. The promises are TestKillUnderLoad's.
func TestPowerCut(t *testing.T) {
	for _, way := range []struct{ kind, direct string }{{"ext4", "auto"}, {"ext4", "no"}, {"xfs", "auto"}, {"xfs", "no"}} {
		kind := way.kind
		t.Run(kind+"-direct-"+way.direct, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			disk := newLoopDisk(t, kind)
			k := newKillRun(t, seed, disk.mount, append([]string{"--wal-direct-io", way.direct}, snapshotArgs...)...)
			k.crash = func(s *server, busy bool) {
				// Either the process dies with the machine, or it lives on for
				// a while with a disk that is gone: what it acknowledges then
				// counts as well.
				if busy && k.rnd.IntN(2) == 0 {
					disk.cut()
					if code := s.wait(); code == 0 {
						t.Error("the server ended with 0 after its disk was gone")
					}
				} else {
					s.kill()
					disk.cut()
				}
				k.dir = disk.revive()
			}
			k.run(killCycles(t))
		})
	}
}

// loopDisk is a file system in a file.
type loopDisk struct {
	t            *testing.T
	kind         string
	dir          string
	image, mount string // the present ones
	lives        int
}

const (
	loopDiskBytes = 320 << 20
	// shutdownNoFlush is FS_IOC_SHUTDOWN and its flag for "write nothing more,
	// not even the journal", as ext4 and xfs understand it.
	shutdownIoctl   = 0x8004587d
	shutdownNoFlush = 2
)

func newLoopDisk(t *testing.T, kind string) *loopDisk {
	t.Helper()
	needMounts(t)
	mkfs := need(t, "mkfs."+kind, requireRoot)
	d := &loopDisk{t: t, kind: kind, dir: t.TempDir()}
	d.image = filepath.Join(d.dir, "disk-0")
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, loopDiskBytes); err != nil {
		t.Fatal(err)
	}
	args := []string{"-q", d.image}
	if kind == "ext4" {
		args = append([]string{"-E", "lazy_itable_init=0,lazy_journal_init=0"}, args...)
	}
	if err := system(mkfs, args...); err != nil {
		t.Fatal(err)
	}
	d.attach()
	t.Cleanup(d.detach)
	return d
}

func (d *loopDisk) attach() {
	d.t.Helper()
	d.mount = filepath.Join(d.dir, fmt.Sprintf("mount-%d", d.lives))
	if err := os.Mkdir(d.mount, 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := system("mount", "-t", d.kind, "-o", "loop", d.image, d.mount); err != nil {
		d.t.Fatal(err)
	}
}

func (d *loopDisk) detach() {
	if d.mount == "" {
		return
	}
	if err := system("umount", d.mount); err != nil {
		d.t.Error(err)
	}
	d.mount = ""
}

// cut stops the file system at once: what is in its memory stays there, every
// later write and sync fails.
func (d *loopDisk) cut() {
	d.t.Helper()
	f, err := os.Open(d.mount)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	flags := uint32(shutdownNoFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), shutdownIoctl, uintptr(unsafe.Pointer(&flags))); errno != 0 {
		d.t.Fatalf("shutting down %s: %v", d.mount, errno)
	}
}

// revive mounts a copy of what reached the disk before the cut. The process
// that used it has ended.
func (d *loopDisk) revive() (dir string) {
	d.t.Helper()
	d.lives++
	copied := filepath.Join(d.dir, fmt.Sprintf("disk-%d", d.lives))
	if err := system("cp", "--sparse=always", d.image, copied); err != nil {
		d.t.Fatal(err)
	}
	d.detach()
	if err := os.Remove(d.image); err != nil {
		d.t.Fatal(err)
	}
	d.image = copied
	d.attach()
	return d.mount
}

// TestPowerCutTakesWhatWasNotSynced shows that the cut above is one: a server
// that is told not to sync loses something by it, and says so at the start.
func TestPowerCutTakesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	disk := newLoopDisk(t, "ext4")
	s := start(t, disk.mount, "--appendfsync", "no")
	c := dial(t, s)
	c.want("+OK", "SET a 1")
	s.kill()
	disk.cut()
	dial(t, start(t, disk.revive())).want("nil", "GET a")
}

// needMounts skips a test that mounts file systems where that isn't possible
// (in most containers).
func needMounts(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	err := system("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", dir)
	if err == nil {
		err = system("umount", dir)
	}
	switch {
	case err == nil:
	case os.Getenv(requireRoot) == "1":
		t.Fatalf("%s=1, and no file system can be mounted: %v", requireRoot, err)
	default:
		t.Skipf("mounting a disk needs root, and a system that allows it: %v", err)
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
