package e2e

import (
	"bufio"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// TestFailingDisk makes system calls of a loaded server fail, by strace: the
// kernel says that it failed and has done nothing. Snapshots run all the time.
// A failure of the log ends the process: it must not try again, must not
// answer, and says why (I8). A failure that only a snapshot meets is reported.
// The next start finds everything acknowledged.
func TestFailingDisk(t *testing.T) {
	for _, test := range []struct {
		name, direct, calls, fault string
		ends                       bool // the process has to end
		reason                     string
	}{
		{"every sync", "no", "fdatasync,fsync", "error=EIO:when=40+", true, "input/output error"},
		{"one sync", "no", "fdatasync", "error=EIO:when=60", true, "input/output error"},
		{"every write", "no", "pwrite64", "error=ENOSPC:when=40+", true, "no space left on device"},
		{"one write", "no", "pwrite64", "error=EIO:when=60", true, "input/output error"},
		{"every direct write", "auto", "pwritev2", "error=EIO:when=40+", true, "input/output error"},
		{"one direct write", "auto", "pwritev2", "error=EIO:when=60", true, "input/output error"},
		{"direct writes stop working", "auto", "pwritev2", "error=EINVAL:when=40+", false, "cannot be written directly"},
		{"every rename", "auto", "rename,renameat,renameat2", "error=EIO:when=2+", false, "input/output error"},
		{"every sync of a directory", "auto", "fsync", "error=EIO:when=2+", false, "input/output error"},
		{"every file made or opened", "auto", "openat", "error=EIO:when=3+", false, "input/output error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			strace := need(t, "strace", requireRoot)
			dir := t.TempDir()
			s := start(t, dir, append([]string{"--wal-direct-io", test.direct}, snapshotArgs...)...)
			if test.direct == "auto" && strings.Contains(test.calls, "pwritev2") {
				needDirect(t, s)
			}
			// Counted for each thread of the server.
			inject(t, strace, s, test.calls, test.fault)
			var wg sync.WaitGroup
			saveAlways(s, &wg)
			acknowledged, _ := fillUp(t, s, 8, 5000)
			if test.ends {
				if code := s.wait(); code == 0 {
					t.Error("the server ended with 0 after its disk failed")
				}
			}
			waitFor(t, func() bool { return strings.Contains(s.log.String(), test.reason) },
				"the server doesn't say "+test.reason)
			s.kill()
			wg.Wait()
			allThere(t, dir, acknowledged)
		})
	}
}

// needDirect skips where the log is not written directly.
func needDirect(t *testing.T, s *server) {
	t.Helper()
	c := dial(t, s)
	c.want("+OK", "SET first write")
	c.want("1", "DEL first")
	if c.info("log_direct_io") != "1" {
		t.Skip("no direct writes on this file system")
	}
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
