package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server.
type process struct {
	contender
	cmd    *exec.Cmd
	port   string
	dir    string
	log    bytes.Buffer
	script string // of IDEM BEGIN, on servers without the command
	done   chan struct{}
}

// startServer runs a contender with nothing on disk, or with every write synced
// before its reply.
func startServer(c contender, durable bool) (*process, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	args := []string{"--appendonly", "no"}
	if durable {
		args = []string{"--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"}
	}
	return startIn(c, dir, args...)
}

// startIn runs a contender on what is in dir, which the process owns from then
// on. It returns when the server has loaded everything.
func startIn(c contender, dir string, args ...string) (*process, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	l.Close()
	p := &process{contender: c, port: port, dir: dir, done: make(chan struct{})}
	p.cmd = exec.Command(c.binary, append([]string{"--port", port, "--dir", dir, "--save", ""}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	leftovers.add(p.cmd.Process, dir)
	go func() {
		p.cmd.Wait()
		close(p.done)
	}()
	return p, p.ready()
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

// stop ends the server and removes its files.
func (p *process) stop() {
	p.end()
	os.RemoveAll(p.dir)
}

// end ends the server in order, its files stay.
func (p *process) end() {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// ask sends one command and returns the first line of its reply; of a bulk
// string, its text.
func (p *process) ask(args ...string) (string, error) {
	c, err := net.Dial("tcp", "127.0.0.1:"+p.port)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := c.Write(appendCommand(nil, args...)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if err != nil || !strings.HasPrefix(line, "$") {
		return line, err
	}
	text, err := r.ReadString('\n')
	return strings.TrimSuffix(text, "\r\n"), err
}

// infoField reads a field of INFO; "" when there is none.
func (p *process) infoField(section, field string) (string, error) {
	c, err := net.Dial("tcp", "127.0.0.1:"+p.port)
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := c.Write(appendCommand(nil, "INFO", section)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	head, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil {
		return "", fmt.Errorf("INFO of %s: %q", p.name, head)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(text), "\r\n") {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return value, nil
		}
	}
	return "", nil
}

// diskBytes is what the server's files take.
func (p *process) diskBytes() (int64, error) {
	var sum int64
	err := filepath.WalkDir(p.dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return ignoreGone(err)
	})
	return sum, err
}

// ignoreGone lets files disappear while they are counted.
func ignoreGone(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func appendCommand(b []byte, args ...string) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(len(args)), 10)
	b = append(b, '\r', '\n')
	for _, a := range args {
		b = append(b, '$')
		b = strconv.AppendInt(b, int64(len(a)), 10)
		b = append(b, '\r', '\n')
		b = append(b, a...)
		b = append(b, '\r', '\n')
	}
	return b
}

// cpuMicro is the CPU time that the server has used, user and system, of all
// its threads. The kernel counts in hundredths of a second.
func (p *process) cpuMicro() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The program's name, in parentheses, may hold spaces: count from its end.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, errors.New("a short /proc/PID/stat")
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	const tickMicro = 10_000
	return (user + system) * tickMicro, err
}

// residentBytes is the memory that the server holds.
func (p *process) residentBytes() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
