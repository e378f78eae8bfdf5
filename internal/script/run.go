package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Conn is one connection to a server. Receive returns io.EOF once the server
// closed it, and ErrNoReply when it can tell that nothing will come.
type Conn interface {
	Send(b []byte) error
	Receive() (Reply, error)
	Close() error
}

// ErrNoReply says that a server which answers at once did not.
var ErrNoReply = errors.New("no reply")

// Target is a server that a script can run against.
type Target interface {
	Dial() (Conn, error)
	// Advance lets time go on.
	Advance(milli int64) error
	// Reopen kills the server and starts it on the same files.
	Reopen() error
}

// Runner runs scripts.
type Runner struct {
	Target Target
	Proto  int
	// Oracle is the version of the redis-server the target is, "" for Hapax.
	Oracle string
	// Crash, when set, is called after every step that sends, once all
	// connections are gone; it kills the server and starts it again.
	Crash func() error
	// Between, when set, is called after every step that sends.
	Between func() error

	conns map[string]*client
}

// client is a named connection with what a new one needs to take its place.
type client struct {
	conn  Conn // nil when there is none yet, or no more
	proto int
	db    string
	name  string
}

// Run runs s from the first step to the last and says what differed.
func (r *Runner) Run(s *Script) error {
	r.conns = map[string]*client{}
	defer r.hangUp()
	for i := range s.Steps {
		st := &s.Steps[i]
		if err := r.step(st); err != nil {
			return fmt.Errorf("%s:%d: %w", s.Name, st.Line, err)
		}
	}
	if err := r.settle(); err != nil {
		return fmt.Errorf("%s: at its end: %w", s.Name, err)
	}
	return nil
}

func (r *Runner) hangUp() {
	for _, c := range r.conns {
		if c.conn != nil {
			c.conn.Close()
			c.conn = nil
		}
	}
}

func (r *Runner) step(st *Step) error {
	switch st.Kind {
	case Advance:
		return r.Target.Advance(st.Milli)
	case Reopen:
		r.hangUp()
		return r.Target.Reopen()
	case Closed:
		return r.closed(st.Client)
	}
	if r.skips(st) {
		return nil
	}
	c, err := r.client(st.Client)
	if err != nil {
		return err
	}
	if err := r.send(c, st); err != nil {
		return err
	}
	if r.Between != nil {
		if err := r.Between(); err != nil {
			return err
		}
	}
	if r.Crash == nil {
		return nil
	}
	r.hangUp()
	return r.Crash()
}

// skips says whether the step is not for this redis-server.
func (r *Runner) skips(st *Step) bool {
	if r.Oracle == "" {
		return false
	}
	return st.SkipOracle != "" || st.Since != "" && older(r.Oracle, st.Since)
}

// older compares dotted versions.
func older(version, than string) bool {
	v, t := strings.Split(version, "."), strings.Split(than, ".")
	for i := range t {
		a, b := 0, 0
		if i < len(v) {
			a, _ = strconv.Atoi(v[i])
		}
		b, _ = strconv.Atoi(t[i])
		if a != b {
			return a < b
		}
	}
	return false
}

// client finds a named connection, or opens one in the state it had.
func (r *Runner) client(name string) (*client, error) {
	c := r.conns[name]
	if c == nil {
		c = &client{proto: r.Proto}
		r.conns[name] = c
	}
	if c.conn != nil {
		return c, nil
	}
	conn, err := r.Target.Dial()
	if err != nil {
		return nil, err
	}
	c.conn = conn
	for _, args := range c.restore() {
		if err := c.set(args); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// restore is the commands that bring a new connection to the client's state.
func (c *client) restore() (cmds [][]string) {
	if c.proto == 3 {
		cmds = append(cmds, []string{"HELLO", "3"})
	}
	if c.db != "" {
		cmds = append(cmds, []string{"SELECT", c.db})
	}
	if c.name != "" {
		cmds = append(cmds, []string{"CLIENT", "SETNAME", c.name})
	}
	return cmds
}

func (c *client) set(words []string) error {
	rep, err := Do(c.conn, words...)
	if err != nil {
		return err
	}
	if rep.Type == '-' {
		return fmt.Errorf("%s: %s", strings.Join(words, " "), rep.Text)
	}
	return nil
}

// Do sends one command and reads its reply.
func Do(conn Conn, words ...string) (Reply, error) {
	var cmd Command
	for _, w := range words {
		cmd.Args = append(cmd.Args, []byte(w))
	}
	if err := conn.Send(cmd.AppendTo(nil)); err != nil {
		return Reply{}, err
	}
	return conn.Receive()
}

// send sends a step's commands at once and compares the replies in turn.
func (r *Runner) send(c *client, st *Step) error {
	var wire []byte
	for i := range st.Commands {
		wire = st.Commands[i].AppendTo(wire)
	}
	if err := c.conn.Send(wire); err != nil {
		return err
	}
	for i := range st.Commands {
		if err := c.expect(&st.Commands[i]); err != nil {
			return fmt.Errorf("line %d: > %s\n%w", st.Commands[i].Line, st.Commands[i].Text, err)
		}
	}
	return nil
}

// expect reads one reply in the protocol that holds after the command, since
// HELLO answers in the one it chose.
func (c *client) expect(cmd *Command) error {
	if cmd.Want(c.proto).Silence() {
		return nil
	}
	got, err := c.conn.Receive()
	if err != nil {
		return fmt.Errorf("want %s\n got %w", cmd.Want(c.proto), err)
	}
	if got.Type != '-' {
		c.follow(cmd.Args)
	}
	return cmd.Want(c.proto).Match(got, c.proto)
}

// follow notes what a command that succeeded changed of its connection.
func (c *client) follow(args [][]byte) {
	is := func(i int, word string) bool {
		return i < len(args) && bytes.EqualFold(args[i], []byte(word))
	}
	switch {
	case is(0, "SELECT"):
		c.db = string(args[1])
	case is(0, "RESET"):
		c.proto, c.db, c.name = 2, "", ""
	case is(0, "CLIENT") && is(1, "SETNAME"):
		c.name = string(args[2])
	case is(0, "HELLO") && len(args) > 1:
		c.proto = int(args[1][0] - '0')
		for i := 2; i+1 < len(args); i++ {
			if is(i, "SETNAME") {
				c.name = string(args[i+1])
			}
		}
	}
}

// closed waits for the server to close the connection, after nothing else.
func (r *Runner) closed(name string) error {
	c := r.conns[name]
	if c == nil || c.conn == nil {
		return fmt.Errorf("there is no connection %s", name)
	}
	switch rep, err := c.conn.Receive(); {
	case err == nil:
		return fmt.Errorf("want a closed connection\n got %s", rep)
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("want a closed connection\n got %w", err)
	}
	c.conn.Close()
	*c = client{proto: r.Proto}
	return nil
}

// settle proves that no connection has a reply left that nobody expected.
func (r *Runner) settle() error {
	for name, c := range r.conns {
		if c.conn == nil {
			continue
		}
		const word = "the end of the script"
		got, err := Do(c.conn, "ECHO", word)
		if err != nil {
			return fmt.Errorf("connection %s: %w", name, err)
		}
		if string(got.Text) != word {
			return fmt.Errorf("connection %s sent more than the script expects: %s", name, got)
		}
	}
	return nil
}
