package script

import (
	"fmt"
	"strconv"
	"strings"
)

// Script is one parsed file.
type Script struct {
	Name    string
	Local   string // why it runs on Hapax only; "" when it is shared
	NoCrash string // why it does not run with crashes; "" when it does
	Log     string // why it does not run with appendonly no; "" when it does
	Alone   string // why it does not run beside snapshots of the test; "" when it does
	Resp    int    // the only protocol it runs in; 0 for both
	Steps   []Step
}

// Kind is what a step does.
type Kind uint8

const (
	Send    Kind = iota // sends Commands, expects Wants
	Advance             // moves the clock by Milli
	Reopen              // kills and starts the server
	Closed              // expects the end of the connection
)

// Step is one step, on the connection it names.
type Step struct {
	Kind       Kind
	Line       int
	Client     string
	Milli      int64
	Commands   []Command
	SkipOracle string // why redis-server is not asked; "" when it is
	Since      string // oldest redis-server that is asked
}

// Command is one command with its expected reply.
type Command struct {
	Line  int
	Text  string
	Args  [][]byte
	Raw   []byte // @raw: bytes to send in place of Args
	Want2 *Want  // in RESP2; Want3 in RESP3; the same one as a rule
	Want3 *Want
}

// maxSharedClockMilli bounds what redis-server sleeps for one step.
const maxSharedClockMilli = 100

// Parse reads a script. Its errors name file and line.
func Parse(name, text string) (*Script, error) {
	p := &parser{s: &Script{Name: name}, client: "main", lines: strings.Split(text, "\n")}
	for p.at < len(p.lines) {
		if err := p.line(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, p.at+1, err)
		}
	}
	if len(p.s.Steps) == 0 {
		return nil, fmt.Errorf("%s: a script without steps", name)
	}
	if p.pending != (pending{}) {
		return nil, fmt.Errorf("%s: a directive without a step after it", name)
	}
	return p.s, nil
}

// pending is what directives said about the step to come.
type pending struct {
	skipOracle, since string
	raw               bool
}

type parser struct {
	s       *Script
	lines   []string
	at      int
	client  string
	pending pending
}

// line handles the line at p.at and moves on.
func (p *parser) line() error {
	switch l := strings.TrimRight(p.lines[p.at], " \r"); {
	case l == "", l == "#", strings.HasPrefix(l, "# "):
		p.at++
		return nil
	case strings.HasPrefix(l, "@"):
		if err := p.directive(l); err != nil {
			return err
		}
		p.at++
		return nil
	case strings.HasPrefix(l, "> "):
		return p.step()
	default:
		return fmt.Errorf("a reply without a command: %q", l)
	}
}

func (p *parser) directive(l string) error {
	name, rest, _ := strings.Cut(l, " ")
	rest = strings.TrimSpace(rest)
	bare := name == "@closed" || name == "@reopen" || name == "@raw"
	if bare != (rest == "") {
		return fmt.Errorf("%s: an argument is missing or too many", name)
	}
	if head := name == "@local" || name == "@no-crash" || name == "@log" || name == "@alone" || name == "@resp"; head && len(p.s.Steps) > 0 {
		return fmt.Errorf("%s belongs before the first command", name)
	}
	switch name {
	case "@local":
		p.s.Local = rest
	case "@no-crash":
		p.s.NoCrash = rest
	case "@log":
		p.s.Log = rest
	case "@alone":
		p.s.Alone = rest
	case "@resp":
		if rest != "2" && rest != "3" {
			return fmt.Errorf("@resp is 2 or 3")
		}
		p.s.Resp = int(rest[0] - '0')
	case "@skip-oracle":
		p.pending.skipOracle = rest
	case "@since":
		p.pending.since = rest
	case "@raw":
		p.pending.raw = true
	case "@client":
		p.client = rest
	case "@clock":
		return p.clock(rest)
	case "@closed":
		p.add(Step{Kind: Closed})
	case "@reopen":
		if p.s.Local == "" {
			return fmt.Errorf("@reopen needs @local")
		}
		p.add(Step{Kind: Reopen})
	default:
		return fmt.Errorf("unknown directive %s", name)
	}
	return nil
}

func (p *parser) clock(arg string) error {
	d, err := strconv.ParseInt(strings.TrimPrefix(arg, "+"), 10, 64)
	if err != nil || d <= 0 || !strings.HasPrefix(arg, "+") {
		return fmt.Errorf("@clock takes +milliseconds")
	}
	if p.s.Local == "" && d > maxSharedClockMilli {
		return fmt.Errorf("@clock over +%d needs @local", maxSharedClockMilli)
	}
	p.add(Step{Kind: Advance, Milli: d})
	return nil
}

func (p *parser) add(s Step) {
	s.Line, s.Client = p.at+1, p.client
	s.SkipOracle, s.Since = p.pending.skipOracle, p.pending.since
	p.pending = pending{}
	p.s.Steps = append(p.s.Steps, s)
}

// step reads the commands in a row and then as many replies.
func (p *parser) step() error {
	raw, first := p.pending.raw, p.at
	var cmds []Command
	for ; p.at < len(p.lines) && strings.HasPrefix(p.lines[p.at], "> "); p.at++ {
		c, err := parseCommand(p.lines[p.at][2:], raw)
		if err != nil {
			return err
		}
		c.Line = p.at + 1
		cmds = append(cmds, c)
	}
	from := p.at
	for p.at < len(p.lines) && !startsStep(p.lines[p.at]) {
		p.at++
	}
	r := &wantReader{text: strings.Join(p.lines[from:p.at], "\n")}
	for i := range cmds {
		if err := r.reply(&cmds[i]); err != nil {
			p.at = from + strings.Count(r.text[:r.pos], "\n")
			return err
		}
	}
	if r.skipSpace(); r.pos < len(r.text) {
		p.at = from + strings.Count(r.text[:r.pos], "\n")
		return fmt.Errorf("more replies than commands")
	}
	end := p.at
	p.at = first
	p.add(Step{Kind: Send, Commands: cmds})
	p.at = end
	return nil
}

// startsStep says whether a line ends the replies before it.
func startsStep(l string) bool {
	return strings.HasPrefix(l, "> ") || strings.HasPrefix(l, "@") || strings.HasPrefix(l, "# ") || l == "#"
}

func parseCommand(text string, raw bool) (Command, error) {
	c := Command{Text: text}
	args, err := splitArgs(text)
	if err != nil {
		return c, err
	}
	switch {
	case len(args) == 0:
		return c, fmt.Errorf("an empty command")
	case raw && len(args) != 1:
		return c, fmt.Errorf("@raw takes one quoted string")
	case raw:
		c.Raw = args[0]
	default:
		c.Args = args
	}
	return c, nil
}

// AppendTo appends the command to dst as it goes over the wire.
func (c *Command) AppendTo(dst []byte) []byte {
	if c.Raw != nil {
		return append(dst, c.Raw...)
	}
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(c.Args)), 10)
	dst = append(dst, "\r\n"...)
	for _, a := range c.Args {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(a)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, a...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// Want is the reply expected in protocol 2 or 3.
func (c *Command) Want(proto int) *Want {
	if proto == 3 {
		return c.Want3
	}
	return c.Want2
}
