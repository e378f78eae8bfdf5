package command

// AUTH and HELLO. There is one user, "default", whose password is requirepass;
// without one every connection is authenticated from the start.

var (
	errWrongPass = Error("WRONGPASS invalid username-password pair or user is disabled.")
	errNoPass    = Error("ERR AUTH <password> called without any password configured for the default user. " +
		"Are you sure your configuration is correct?")
	errNoProto     = Error("NOPROTO unsupported protocol version")
	errHelloNoAuth = Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the " +
		"HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP " +
		"protocol version at the same time")
	errClientName = Error("ERR Client names cannot contain spaces, newlines or special characters.")
	errLongName   = Error("ERR Client names and library names cannot be longer than 1024 bytes.")
)

// maxNameBytes bounds what a connection makes the server remember about it:
// every CLIENT LIST of anybody repeats it (I12).
const maxNameBytes = 1024

func auth(c *Ctx) error {
	user, password := defaultUser, c.Args[1]
	switch len(c.Args) {
	case 2:
		if !c.Host.PasswordSet() {
			return errNoPass
		}
	case 3:
		user, password = string(c.Args[1]), c.Args[2]
	default:
		return ErrSyntax
	}
	if err := authenticate(c, user, string(password)); err != nil {
		return err
	}
	return say(c, "OK")
}

// authenticate leaves the session as it was when the password is wrong.
func authenticate(c *Ctx, user, password string) error {
	nopass := user == defaultUser && !c.Host.PasswordSet() // takes any password, as in Redis
	if !nopass && !c.Host.Authenticate(user, password) {
		return errWrongPass
	}
	c.Sess.User, c.Sess.Authenticated = user, true
	return nil
}

// helloArgs is a HELLO as parsed; nil where an option is absent.
type helloArgs struct {
	proto                int
	user, password, name *string
}

// hello does all or nothing: every option is checked before the session
// changes.
func hello(c *Ctx) error {
	h, err := parseHello(c.Args)
	if err != nil {
		return err
	}
	if h.user != nil {
		if err := authenticate(c, *h.user, *h.password); err != nil {
			return err
		}
	}
	if !c.Sess.Authenticated {
		return errHelloNoAuth
	}
	if h.name != nil {
		c.Sess.Name = *h.name
	}
	if h.proto != 0 {
		c.setProto(h.proto)
	}
	greet(c)
	return nil
}

func parseHello(args [][]byte) (h helloArgs, err error) {
	if len(args) < 2 {
		return h, nil
	}
	version, ok := ParseInt(args[1])
	if !ok {
		return h, Error("ERR Protocol version is not an integer or out of range")
	}
	if version < 2 || version > 3 {
		return h, errNoProto
	}
	h.proto = int(version)
	for i := 2; i < len(args); i++ {
		more := len(args) - 1 - i
		switch {
		case more >= 2 && Is(args[i], "auth"):
			h.user, h.password = new(string(args[i+1])), new(string(args[i+2]))
			i += 2
		case more >= 1 && Is(args[i], "setname"):
			if err := checkName(args[i+1]); err != nil {
				return h, err
			}
			h.name = new(string(args[i+1]))
			i++
		default:
			return h, Error("ERR Syntax error in HELLO option '" + echo(args[i], len(args[i])) + "'")
		}
	}
	return h, nil
}

// greet writes HELLO's reply. "server" says redis since clients check it.
func greet(c *Ctx) {
	o := c.Out
	o.Map(7)
	o.BulkString("server")
	o.BulkString("redis")
	o.BulkString("version")
	o.BulkString(RedisVersion)
	o.BulkString("proto")
	o.Int(int64(max(c.Sess.Proto, 2))) // the zero value speaks RESP2
	o.BulkString("id")
	o.Int(c.Sess.ID)
	o.BulkString("mode")
	o.BulkString("standalone")
	o.BulkString("role")
	o.BulkString("master")
	o.BulkString("modules")
	o.Array(0)
}

func checkName(name []byte) error {
	switch {
	case len(name) > maxNameBytes:
		return errLongName
	case !printable(name):
		return errClientName
	}
	return nil
}

// printable says whether b may stand in a line of CLIENT LIST: no spaces, no
// control characters, ASCII only.
func printable(b []byte) bool {
	for _, c := range b {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}
