package command

import "strings"

// CLIENT's subcommands about the own connection; client_list.go has those
// about others.

const ofClientAdmin = ofConnection | Admin

// clientSubcommands are the rows below CLIENT.
var clientSubcommands = []Command{
	{
		Name: "id", Arity: 2, Flags: ofConnection, Cats: "connection", Run: clientID,
		Summary: "Tells the connection's number, which no later connection gets again.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "connection",
	},
	{
		Name: "getname", Arity: 2, Flags: ofConnection, Cats: "connection", Run: clientGetName,
		Summary: "Tells the connection's name.", Since: "2.6.9",
		Complexity: "O(1)", DocGroup: "connection",
	},
	{
		Name: "setname", Arity: 3, Flags: ofConnection, Cats: "connection", Run: clientSetName,
		Summary: "Names the connection; the empty name removes it.", Since: "2.6.9",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "connection-name",
	},
	{
		Name: "setinfo", Arity: 4, Flags: ofConnection, Cats: "connection", Run: clientSetInfo,
		Tips:    "request_policy:all_nodes response_policy:all_succeeded",
		Summary: "Records the client library's name or version.", Since: "7.2.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "<LIB-NAME libname | LIB-VER libver>",
	},
	{
		Name: "info", Arity: 2, Flags: ofConnection, Cats: "connection", Run: clientInfo,
		Tips:    "nondeterministic_output",
		Summary: "Describes the connection.", Since: "6.2.0",
		Complexity: "O(1)", DocGroup: "connection",
	},
	{
		Name: "list", Arity: -2, Flags: ofClientAdmin, Cats: "connection", Run: clientList,
		Tips:    "nondeterministic_output",
		Summary: "Describes every connection, or those of a type or of given numbers.", Since: "2.4.0",
		Complexity: "O(N) for N connections", DocGroup: "connection",
		Syntax: "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
	},
	{
		Name: "kill", Arity: -3, Flags: ofClientAdmin, Cats: "connection", Run: clientKill,
		Summary: "Closes the connections that every filter fits.", Since: "2.4.0",
		Complexity: "O(N) for N connections", DocGroup: "connection",
		Syntax: "<ip:port | <[ID client-id] | [TYPE <NORMAL | MASTER | SLAVE | REPLICA | PUBSUB>] | [USER username] | " +
			"[ADDR ip:port] | [LADDR ip:port] | [SKIPME <YES | NO>] | [MAXAGE maxage]> ...>",
	},
	{
		Name: "no-evict", Arity: 3, Flags: ofClientAdmin, Cats: "connection", Run: clientNoEvict,
		Summary: "Keeps the connection out of client eviction.", Since: "7.0.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "<ON | OFF>",
	},
	{
		Name: "no-touch", Arity: 3, Flags: ofConnection, Cats: "connection", Run: clientNoTouch,
		Summary: "Lets the connection read without marking keys as used.", Since: "7.2.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "<ON | OFF>",
	},
	{
		Name: "reply", Arity: 3, Flags: ofConnection, Cats: "connection", Run: clientReply,
		Summary: "Turns the connection's replies on or off, or drops the next one.", Since: "3.2.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "<ON | OFF | SKIP>",
	},
	{
		Name: "unblock", Arity: -3, Flags: ofClientAdmin, Cats: "connection", Run: clientUnblock,
		Summary: "Wakes a connection that waits in a blocking command.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "client-id [TIMEOUT | ERROR]",
	},
	{
		Name: "help", Arity: 2, Flags: Loading | Stale, Cats: "connection", Run: clientHelp,
		Summary: "Lists CLIENT's subcommands.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "connection",
	},
}

func clientID(c *Ctx) error {
	c.Out.Int(c.Sess.ID)
	return nil
}

func clientGetName(c *Ctx) error {
	if c.Sess.Name == "" {
		c.Out.Null()
	} else {
		c.Out.BulkString(c.Sess.Name)
	}
	return nil
}

func clientSetName(c *Ctx) error {
	if err := checkName(c.Args[2]); err != nil {
		return err
	}
	c.Sess.Name = string(c.Args[2])
	return say(c, "OK")
}

func clientSetInfo(c *Ctx) error {
	attribute, value := c.Args[2], c.Args[3]
	var field *string
	switch {
	case Is(attribute, "lib-name"):
		field = &c.Sess.LibName
	case Is(attribute, "lib-ver"):
		field = &c.Sess.LibVer
	default:
		return Error("ERR Unrecognized option '" + echo(attribute, len(attribute)) + "'")
	}
	if len(value) > maxNameBytes {
		return errLongName
	}
	if !printable(value) {
		return Error("ERR " + string(attribute) + " cannot contain spaces, newlines or special characters.")
	}
	*field = string(value)
	return say(c, "OK")
}

// onOff reads ON or OFF.
func onOff(arg []byte) (bool, error) {
	switch {
	case Is(arg, "on"):
		return true, nil
	case Is(arg, "off"):
		return false, nil
	}
	return false, ErrSyntax
}

// clientNoEvict is recorded and shown; Hapax closes clients over their own
// output limit only, and never to make room for others.
func clientNoEvict(c *Ctx) error {
	on, err := onOff(c.Args[2])
	if err != nil {
		return err
	}
	c.Sess.NoEvict = on
	return say(c, "OK")
}

func clientNoTouch(c *Ctx) error {
	on, err := onOff(c.Args[2])
	if err != nil {
		return err
	}
	c.Sess.NoTouch = on
	return say(c, "OK")
}

// clientReply answers to ON alone. SKIP says nothing new while replies are off.
func clientReply(c *Ctx) error {
	switch mode := c.Args[2]; {
	case Is(mode, "on"):
		c.Sess.Reply = ReplyOn
		return say(c, "OK")
	case Is(mode, "off"):
		c.Sess.Reply = ReplyOff
	case Is(mode, "skip"):
		if c.Sess.Reply != ReplyOff {
			c.Sess.Reply = ReplySkipNext
		}
	default:
		return ErrSyntax
	}
	return nil
}

func clientUnblock(c *Ctx) error {
	withError := false
	if len(c.Args) == 4 {
		switch reason := c.Args[3]; {
		case Is(reason, "timeout"):
		case Is(reason, "error"):
			withError = true
		default:
			return Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
		}
	} else if len(c.Args) != 3 {
		return ErrSyntax
	}
	id, err := IntArg(c.Args[2])
	if err != nil {
		return err
	}
	woken := int64(0)
	if c.Host.Unblock(id, withError) {
		woken = 1
	}
	c.Out.Int(woken)
	return nil
}

func clientHelp(c *Ctx) error {
	return Help(c, strings.Split(clientHelpText, "\n")...)
}

const clientHelpText = `GETNAME
    Return the name of the current connection.
ID
    Return the ID of the current connection.
INFO
    Return information about the current client connection.
KILL <ip:port>
    Kill connection made from <ip:port>.
KILL <option> <value> [<option> <value> [...]]
    Kill connections. Options are:
    * ADDR (<ip:port>|<unixsocket>:0)
      Kill connections made from the specified address
    * LADDR (<ip:port>|<unixsocket>:0)
      Kill connections made to specified local address
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Kill connections by type.
    * USER <username>
      Kill connections authenticated by <username>.
    * SKIPME (YES|NO)
      Skip killing current connection (default: yes).
    * ID <client-id>
      Kill connections by client id.
    * MAXAGE <maxage>
      Kill connections older than the specified age, in seconds.
LIST [options ...]
    Return information about client connections. Options:
    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)
      Return clients of specified type.
    * ID <client-id> [<client-id> ...]
      Return the clients with the specified IDs.
REPLY (ON|OFF|SKIP)
    Control the replies sent to the current connection.
SETNAME <name>
    Assign the name <name> to the current connection.
SETINFO <option> <value>
    Set client meta attr. Options are:
    * LIB-NAME: the client lib name.
    * LIB-VER: the client lib version.
UNBLOCK <clientid> [TIMEOUT|ERROR]
    Unblock the specified blocked client.
NO-EVICT (ON|OFF)
    Protect current client connection from eviction.
NO-TOUCH (ON|OFF)
    Will not touch LRU/LFU stats when this mode is on.`
