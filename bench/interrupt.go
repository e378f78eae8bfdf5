package main

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// leftovers is what has to go when somebody ends the run before its end.
var leftovers tidier

type tidier struct {
	mu        sync.Mutex
	processes []*os.Process
	dirs      []string
}

func (t *tidier) add(p *os.Process, dir string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.processes = append(t.processes, p)
	if !slices.Contains(t.dirs, dir) {
		t.dirs = append(t.dirs, dir)
	}
}

// onInterrupt ends servers and removes their files at SIGINT or SIGTERM.
func (t *tidier) onInterrupt() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		t.mu.Lock()
		for _, p := range t.processes {
			p.Kill() // the ones that have ended already don't mind
			p.Wait()
		}
		for _, dir := range t.dirs {
			os.RemoveAll(dir)
		}
		os.Exit(1)
	}()
}

func tempDir() (string, error) { return os.MkdirTemp("", "hapax-bench-") }
