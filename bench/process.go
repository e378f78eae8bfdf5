package main

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	contender
	scripts
	cmd  *exec.Cmd
	pid  int // the server's: under strace, not the command's
	port string
	dir  string
	log  bytes.Buffer
	done chan struct{}
	rate float64 // the tool's best under the present load: how much the next one sends

	lastOperation uint64 // the highest number that operations of a load began with
	completed     bool   // what the replays ask for is there
}

// startIn runs a contender on what is in dir, which the process owns from then
// on. It returns when the server has loaded everything.
func startIn(c contender, dir string, args ...string) (*process, error) {
	return startUnder(nil, c, dir, args...)
}

// startUnder runs it under another command, strace with its options.
func startUnder(under []string, c contender, dir string, args ...string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	p := &process{contender: c, port: port, dir: dir, done: make(chan struct{})}
	line := append(append([]string{}, under...), c.binary, "--port", port, "--dir", dir, "--save", "")
	p.cmd = exec.Command(line[0], append(line[1:], args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := leftovers.start(p.cmd); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait()
		leftovers.ended(p.cmd)
		close(p.done)
	}()
	if err := p.ready(); err != nil {
		return nil, err
	}
	p.pid = p.cmd.Process.Pid
	if len(under) > 0 {
		if p.pid, err = onlyChild(p.pid); err != nil {
			p.stop()
			return nil, err
		}
	}
	return p, nil
}

// onlyChild is the process that another has started.
func onlyChild(pid int) (int, error) {
	children := strings.Fields(fileText(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))
	if len(children) != 1 {
		return 0, fmt.Errorf("process %d has %d children", pid, len(children))
	}
	return strconv.Atoi(children[0])
}

// loadTimeout is when a server that loads counts as hung.
const loadTimeout = 10 * time.Minute

func (p *process) ready() error {
	for deadline := time.Now().Add(loadTimeout); time.Now().Before(deadline); {
		if reply, err := p.ask("PING"); err == nil && reply == "+PONG" {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended:\n%s", p.name, p.log.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
	p.stop()
	return fmt.Errorf("%s never answered", p.name)
}

// addr is where it listens.
func (p *process) addr() string { return "127.0.0.1:" + p.port }

// stop ends the server and removes its files.
func (p *process) stop() {
	p.end()
	leftovers.remove(p.dir)
}

// end ends the server in order, its files stay.
func (p *process) end() {
	pid := p.pid
	if pid == 0 {
		pid = p.cmd.Process.Pid
	}
	select {
	case <-p.done: // its number may be another's by now
		return
	default:
		syscall.Kill(pid, syscall.SIGTERM)
	}
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
}
