package command

import (
	"strconv"
	"strings"
)

// CLIENT LIST, INFO and KILL: connections as lines, and filters over them.

func clientInfo(c *Ctx) error {
	ci := c.Host.Client(c.Sess)
	c.Out.Verbatim("txt", string(appendClient(nil, &ci)))
	return nil
}

func clientList(c *Ctx) error {
	keep, err := listFilter(c.Args)
	if err != nil {
		return err
	}
	var text []byte
	c.Host.Clients(func(ci *ClientInfo) {
		if keep(ci) {
			text = appendClient(text, ci)
		}
	})
	c.Out.Verbatim("txt", string(text))
	return nil
}

// listFilter reads [TYPE type] or [ID id ...]; not both, as in Redis.
func listFilter(args [][]byte) (func(*ClientInfo) bool, error) {
	switch {
	case len(args) == 2:
		return func(*ClientInfo) bool { return true }, nil
	case len(args) == 4 && Is(args[2], "type"):
		kind, err := clientType(args[3])
		return func(ci *ClientInfo) bool { return ci.Type == kind }, err
	case len(args) > 3 && Is(args[2], "id"):
		ids := make(map[int64]bool, len(args)-3)
		for _, arg := range args[3:] {
			id, ok := ParseInt(arg)
			if !ok {
				return nil, Error("ERR Invalid client ID")
			}
			ids[id] = true
		}
		return func(ci *ClientInfo) bool { return ids[ci.ID] }, nil
	}
	return nil, ErrSyntax
}

// clientType reads a type of client. All of Hapax's are "normal" as yet; the
// others are valid and fit none.
func clientType(arg []byte) (string, error) {
	switch kind := lowered(arg); kind {
	case "normal", "replica", "pubsub", "master":
		return kind, nil
	case "slave":
		return "replica", nil
	}
	return "", Error("ERR Unknown client type '" + echo(arg, len(arg)) + "'")
}

// killFilter is what CLIENT KILL was asked for; zero values fit everything.
type killFilter struct {
	id, maxAgeSec int64
	addr, laddr   *string // an empty address is one that fits nobody
	kind, user    string
	skipMe        bool
}

func (f *killFilter) fits(ci *ClientInfo, self int64) bool {
	return (f.id == 0 || ci.ID == f.id) &&
		(f.addr == nil || ci.Addr == *f.addr) &&
		(f.laddr == nil || ci.LAddr == *f.laddr) &&
		(f.kind == "" || ci.Type == f.kind) &&
		(f.user == "" || ci.User == f.user) &&
		(f.maxAgeSec == 0 || ci.AgeSec >= f.maxAgeSec) &&
		!(f.skipMe && ci.ID == self)
}

// clientKill closes its own connection only after its reply is out.
func clientKill(c *Ctx) error {
	oldForm := len(c.Args) == 3
	f := killFilter{addr: new(string(c.Args[2]))}
	if !oldForm {
		var err error
		if f, err = parseKill(c.Args[2:]); err != nil {
			return err
		}
	}
	var others []int64
	self := 0
	c.Host.Clients(func(ci *ClientInfo) {
		switch {
		case !f.fits(ci, c.Sess.ID):
		case ci.ID == c.Sess.ID:
			self = 1
		default:
			others = append(others, ci.ID)
		}
	})
	killed := self
	if len(others) > 0 {
		killed += c.Host.Kill(others, c.Sess.ID)
	}
	c.Sess.CloseAfter = c.Sess.CloseAfter || self == 1
	switch {
	case !oldForm:
		c.Out.Int(int64(killed))
	case killed == 0:
		return Error("ERR No such client")
	default:
		c.Out.Simple("OK")
	}
	return nil
}

func parseKill(args [][]byte) (f killFilter, err error) {
	f.skipMe = true
	for ; len(args) > 0 && err == nil; args = args[2:] {
		if len(args) < 2 {
			return f, ErrSyntax
		}
		err = f.option(args[0], args[1])
	}
	return f, err
}

func (f *killFilter) option(name, value []byte) (err error) {
	switch {
	case Is(name, "id"):
		f.id, err = positive(value, "ERR client-id should be greater than 0", "ERR client-id should be greater than 0")
	case Is(name, "maxage"):
		f.maxAgeSec, err = positive(value, "ERR maxage is not an integer or out of range", "ERR maxage should be greater than 0")
	case Is(name, "type"):
		f.kind, err = clientType(value)
	case Is(name, "addr"):
		f.addr = new(string(value))
	case Is(name, "laddr"):
		f.laddr = new(string(value))
	case Is(name, "user"):
		f.user = string(value)
		if f.user != defaultUser {
			err = Error("ERR No such user '" + echo(value, len(value)) + "'")
		}
	case Is(name, "skipme") && Is(value, "yes"):
		f.skipMe = true
	case Is(name, "skipme") && Is(value, "no"):
		f.skipMe = false
	default:
		err = ErrSyntax
	}
	return err
}

// positive reads an integer above 0, with an error for each way to fail.
func positive(arg []byte, notInteger, notPositive Error) (int64, error) {
	n, ok := ParseInt(arg)
	if !ok {
		return 0, notInteger
	}
	if n <= 0 {
		return 0, notPositive
	}
	return n, nil
}

// appendClient appends ci as a line of CLIENT LIST, with every field of Redis
// 7.2 in its order: tools split these lines by name.
func appendClient(dst []byte, ci *ClientInfo) []byte {
	num := func(name string, n int64) {
		dst = append(append(dst, name...), '=')
		dst = append(strconv.AppendInt(dst, n, 10), ' ')
	}
	text := func(name, s string) {
		dst = append(append(dst, name...), '=')
		dst = append(append(dst, s...), ' ')
	}
	num("id", ci.ID)
	text("addr", ci.Addr)
	text("laddr", ci.LAddr)
	num("fd", int64(ci.FD))
	text("name", ci.Name)
	num("age", ci.AgeSec)
	num("idle", ci.IdleSec)
	text("flags", clientFlags(ci))
	num("db", int64(ci.DB))
	num("sub", 0)
	num("psub", 0)
	num("ssub", 0)
	num("multi", -1)
	num("qbuf", int64(ci.QBuf))
	num("qbuf-free", int64(ci.QBufFree))
	num("argv-mem", int64(ci.ArgvMem))
	num("multi-mem", 0)
	num("rbs", int64(ci.OMem))
	num("rbp", int64(ci.OMem))
	num("obl", int64(ci.OBL))
	num("oll", int64(ci.OLL))
	num("omem", int64(ci.OMem))
	num("tot-mem", int64(ci.TotMem))
	text("events", clientEvents(ci))
	text("cmd", ci.Cmd)
	text("user", ci.User)
	num("redir", -1)
	num("resp", int64(ci.Resp))
	text("lib-name", ci.LibName)
	text("lib-ver", ci.LibVer)
	dst[len(dst)-1] = '\n'
	return dst
}

// clientFlags joins what the server said with what the session shows.
func clientFlags(ci *ClientInfo) string {
	flags := strings.Trim(ci.Flags, "N")
	for _, f := range []struct {
		on     bool
		letter string
	}{{ci.Blocked, "b"}, {ci.NoEvict, "e"}, {ci.NoTouch, "T"}} {
		if f.on && !strings.Contains(flags, f.letter) {
			flags += f.letter
		}
	}
	if flags == "" {
		return "N"
	}
	return flags
}

// clientEvents is "rw" while output waits for the socket.
func clientEvents(ci *ClientInfo) string {
	if ci.OBL > 0 || ci.OLL > 0 {
		return "rw"
	}
	return "r"
}
