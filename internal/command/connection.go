package command

// The connection family: what a client says about its own connection. Nothing
// here touches the keyspace.
//
// Grouped are PING and ECHO alone. They were reviewed: neither blocks nor
// writes, so nothing is ever rolled back, and each reply goes to the buffer in
// the order of its request, where the barrier holds it behind those before
// it. Clients put them between data commands of a pipeline (pools check a
// connection with PING), so waiting there would cost. All others change or
// close the session, or look at other sessions, and come once a connection.

// RedisVersion is the version of Redis whose commands and replies Hapax
// follows. Clients choose what to send by it; hapax_version in INFO is ours.
const RedisVersion = "7.2.4"

const defaultUser = "default"

// ofConnection are the flags that nearly every row here has.
const ofConnection = NoScript | Loading | Stale

// connectionFamily is the table's part for connections.
var connectionFamily = []Command{
	{
		Name: "ping", Arity: -1, Flags: Fast, Cats: "connection", Group: Grouped, ProbesWrites: true, Run: ping,
		Tips:    "request_policy:all_shards response_policy:all_succeeded",
		Summary: "Answers PONG or the message, which shows that the server lives.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "[message]",
	},
	{
		Name: "echo", Arity: 2, Flags: Fast | Loading | Stale, Cats: "connection", Group: Grouped, Run: echoMessage,
		Summary: "Answers the message.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "message",
	},
	{
		Name: "hello", Arity: -1, Flags: ofConnection | Fast | NoAuth | AllowBusy, Cats: "connection", Run: hello,
		Summary: "Greets the server, chooses the protocol version, authenticates and names the connection.",
		Since:   "6.0.0", Complexity: "O(1)", DocGroup: "connection",
		Syntax: "[protover [AUTH username password] [SETNAME clientname]]",
	},
	{
		Name: "auth", Arity: -2, Flags: ofConnection | Fast | NoAuth | AllowBusy, Cats: "connection", Run: auth,
		Summary: "Authenticates the connection.", Since: "1.0.0",
		Complexity: "O(N) for a password of N bytes", DocGroup: "connection", Syntax: "[username] password",
	},
	{
		Name: "select", Arity: 2, Flags: Loading | Stale | Fast, Cats: "connection", Run: selectDB,
		Summary: "Chooses the connection's database.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "connection", Syntax: "index",
	},
	{
		Name: "quit", Arity: -1, Flags: ofConnection | Fast | NoAuth | AllowBusy, Cats: "connection", Run: quit,
		Summary: "Closes the connection after the replies before it.", Since: "1.0.0",
		Complexity: "O(1)", DocGroup: "connection",
		DeprecatedSince: "7.2.0", ReplacedBy: "just closing the connection",
	},
	{
		Name: "reset", Arity: 1, Flags: ofConnection | Fast | NoAuth | AllowBusy, Cats: "connection", Run: reset,
		Summary: "Puts the connection back into the state of a new one.", Since: "6.2.0",
		Complexity: "O(1)", DocGroup: "connection",
	},
	{
		Name: "client", Arity: -2, Sub: clientSubcommands,
		Summary: "A container for commands about connections.", Since: "2.4.0",
		Complexity: "Depends on subcommand.", DocGroup: "connection",
	},
}

func ping(c *Ctx) error {
	switch len(c.Args) {
	case 1:
		c.Out.Simple("PONG")
	case 2:
		c.Out.Bulk(c.Args[1])
	default:
		return WrongArity(c.Cmd)
	}
	return nil
}

func echoMessage(c *Ctx) error {
	c.Out.Bulk(c.Args[1])
	return nil
}

func selectDB(c *Ctx) error {
	db, err := dbArg(c, c.Args[1])
	if err != nil {
		return err
	}
	c.Sess.DB = db
	c.Out.Simple("OK")
	return nil
}

func quit(c *Ctx) error {
	c.Sess.CloseAfter = true
	c.Out.Simple("OK")
	return nil
}

// reset keeps what Redis keeps: the connection's id and what CLIENT SETINFO
// said, since the library behind it is the same.
func reset(c *Ctx) error {
	s := c.Sess
	s.DB, s.Name, s.User = 0, "", defaultUser
	s.Reply, s.NoEvict, s.NoTouch = ReplyOn, false, false
	s.Authenticated = !c.Host.PasswordSet()
	c.setProto(2)
	c.Out.Simple("RESET")
	return nil
}

// setProto changes the protocol version from this reply on.
func (c *Ctx) setProto(version int) {
	c.Sess.Proto, c.Out.Proto = version, version
}

// say answers with a status word.
func say(c *Ctx, status string) error {
	c.Out.Simple(status)
	return nil
}
