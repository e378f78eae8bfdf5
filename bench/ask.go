package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hapaxkv/hapax/bench/load"
)

// askTimeout is for what takes a server long, as SAVE does.
const askTimeout = 5 * time.Minute

// ask sends one command and returns its reply's first line; of a bulk string,
// its text.
func (p *process) ask(args ...string) (string, error) {
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		return "", err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(askTimeout))
	if _, err := c.Write(load.Command(nil, args...)); err != nil {
		return "", err
	}
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if err != nil || !strings.HasPrefix(line, "$") {
		return line, err
	}
	n, err := strconv.Atoi(line[1:])
	if err != nil || n < 0 {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), err
}

// mustAsk wants a certain reply.
func (p *process) mustAsk(want string, args ...string) error {
	if reply, err := p.ask(args...); err != nil || reply != want {
		return fmt.Errorf("%s of %s: %q, %v", strings.Join(args, " "), p.name, reply, err)
	}
	return nil
}

// info reads sections of INFO.
func (p *process) info(sections ...string) (map[string]string, error) {
	text, err := p.ask(append([]string{"INFO"}, sections...)...)
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for _, line := range strings.Split(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

// infoField reads one field of INFO; "" when there is none.
func (p *process) infoField(section, field string) (string, error) {
	fields, err := p.info(section)
	return fields[field], err
}

// flush empties the server; scripts go with it on some.
func (p *process) flush() error {
	p.completed = false
	if err := p.mustAsk("+OK", "FLUSHALL"); err != nil {
		return err
	}
	return p.loadScripts()
}
