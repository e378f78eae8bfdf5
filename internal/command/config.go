package command

// CONFIG. What the parameters are and which may change is the host's; here are
// the replies.

const ofConfig = ofServer | Admin | NoScript

var configSubcommands = []Command{
	{
		Name: "get", Arity: -3, Flags: ofConfig, Run: configGet,
		Summary: "Tells the values of parameters by name or glob pattern.", Since: "2.0.0",
		Complexity: "O(N) for N parameters", DocGroup: "server", Syntax: "parameter [parameter ...]",
	},
	{
		Name: "set", Arity: -4, Flags: ofConfig, Run: configSet,
		Tips:    "request_policy:all_nodes response_policy:all_succeeded",
		Summary: "Sets parameters, all or none.", Since: "2.0.0",
		Complexity: "O(N) for N parameters", DocGroup: "server", Syntax: "parameter value [parameter value ...]",
	},
	{
		Name: "resetstat", Arity: 2, Flags: ofConfig, Run: configResetStat,
		Summary: "Starts INFO's counters over.", Since: "2.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
	{
		Name: "rewrite", Arity: 2, Flags: ofConfig, Run: configRewrite,
		Summary: "Writes the present parameters to the configuration file.", Since: "2.8.0",
		Complexity: "O(N) for N parameters", DocGroup: "server",
	},
	{
		Name: "help", Arity: 2, Flags: ofServer, Run: configHelp,
		Summary: "Lists CONFIG's subcommands.", Since: "5.0.0",
		Complexity: "O(1)", DocGroup: "server",
	},
}

func configGet(c *Ctx) error {
	patterns := make([]string, 0, len(c.Args)-2)
	for _, arg := range c.Args[2:] {
		patterns = append(patterns, string(arg))
	}
	pairs := c.Host.ConfigGet(patterns)
	c.Out.Map(len(pairs))
	for _, p := range pairs {
		c.Out.BulkString(p[0])
		c.Out.BulkString(p[1])
	}
	return nil
}

func configSet(c *Ctx) error {
	args := c.Args[2:]
	if len(args)%2 != 0 {
		return ErrSyntax
	}
	pairs := make([][2]string, 0, len(args)/2)
	for ; len(args) > 0; args = args[2:] {
		pairs = append(pairs, [2]string{string(args[0]), string(args[1])})
	}
	if err := c.Host.ConfigSet(pairs); err != nil {
		return err
	}
	return say(c, "OK")
}

func configResetStat(c *Ctx) error {
	c.Host.ResetStats()
	return say(c, "OK")
}

func configRewrite(c *Ctx) error {
	if err := c.Host.ConfigRewrite(); err != nil {
		return err
	}
	return say(c, "OK")
}

func configHelp(c *Ctx) error {
	return Help(c,
		"GET <pattern>",
		"    Return parameters matching the glob-like <pattern> and their values.",
		"SET <directive> <value>",
		"    Set the configuration <directive> to <value>.",
		"RESETSTAT",
		"    Reset statistics reported by the INFO command.",
		"REWRITE",
		"    Rewrite the configuration file.")
}
