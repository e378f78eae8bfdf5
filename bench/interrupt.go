package main

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// leftovers is what has to go when the run ends before its end.
var leftovers tidier

type tidier struct {
	mu      sync.Mutex
	running []*exec.Cmd
	dirs    []string
}

// start runs a command in a process group of its own, which ends as a whole
// and doesn't hear what is typed at the terminal.
func (t *tidier) start(cmd *exec.Cmd) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	t.running = append(t.running, cmd)
	return nil
}

// ended forgets a command that was waited for.
func (t *tidier) ended(cmd *exec.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running = slices.DeleteFunc(t.running, func(c *exec.Cmd) bool { return c == cmd })
}

// tempDir is removed at the end, whatever the end is.
func (t *tidier) tempDir() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, err := os.MkdirTemp("", "hapax-bench-")
	if err == nil {
		t.dirs = append(t.dirs, dir)
	}
	return dir, err
}

// remove deletes a directory that is of no use any more.
func (t *tidier) remove(dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	os.RemoveAll(dir)
	t.dirs = slices.DeleteFunc(t.dirs, func(d string) bool { return d == dir })
}

// onInterrupt ends everything at SIGINT or SIGTERM.
func (t *tidier) onInterrupt() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		t.clear()
		os.Exit(1)
	}()
}

// clear ends every process and removes every directory. Nothing can be started
// any more: the lock is kept.
func (t *tidier) clear() {
	t.mu.Lock()
	for _, cmd := range t.running {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	// Who started them waits for them, so that their groups are gone soon.
	for _, cmd := range t.running {
		for range 1000 {
			if syscall.Kill(-cmd.Process.Pid, 0) != nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	for _, dir := range t.dirs {
		os.RemoveAll(dir)
	}
}
