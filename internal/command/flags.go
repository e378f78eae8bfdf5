package command

import "strings"

// Names of flags and ACL categories, in the order in which COMMAND INFO lists
// them.

var flagNames = []struct {
	flag Flag
	name string
}{
	{Write, "write"}, {ReadOnly, "readonly"}, {DenyOOM, "denyoom"}, {Admin, "admin"}, {PubSub, "pubsub"},
	{NoScript, "noscript"}, {Blocking, "blocking"}, {Loading, "loading"}, {Stale, "stale"},
	{SkipMonitor, "skip_monitor"}, {SkipSlowlog, "skip_slowlog"}, {Asking, "asking"}, {Fast, "fast"},
	{NoAuth, "no_auth"}, {MayReplicate, "may_replicate"}, {NoMandatoryKeys, "no_mandatory_keys"},
	{NoAsyncLoading, "no_async_loading"}, {NoMulti, "no_multi"}, {AllowBusy, "allow_busy"},
	{MovableKeys, "movablekeys"},
}

func (row *Command) flagNames() []string {
	var names []string
	for _, f := range flagNames {
		if row.Flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// categoryNames are all ACL categories.
var categoryNames = []string{
	"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo",
	"stream", "pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting",
}

// categories are a row's categories with a leading @, as told to clients.
func (row *Command) categories() []string {
	var in []string
	for _, name := range categoryNames {
		if row.inCategory([]byte(name)) {
			in = append(in, "@"+name)
		}
	}
	return in
}

// inCategory says whether row is in an ACL category, named in any case. Flags
// imply some.
func (row *Command) inCategory(name []byte) bool {
	implied := func(category string, flags Flag) bool {
		return row.Flags&flags != 0 && Is(name, category)
	}
	for category := range strings.FieldsSeq(row.Cats) {
		if Is(name, category) {
			return true
		}
	}
	return implied("write", Write) || implied("read", ReadOnly) || implied("admin", Admin) ||
		implied("dangerous", Admin) || implied("pubsub", PubSub) || implied("fast", Fast) ||
		implied("blocking", Blocking) || row.Flags&Fast == 0 && Is(name, "slow")
}
