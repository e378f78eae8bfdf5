package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommandInfo(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Len(t, h.reply("COMMAND"), len(All()))
	require.Equal(t, int64(len(All())), h.reply("COMMAND", "COUNT"))
	require.Len(t, h.reply("COMMAND", "INFO"), len(All()))
	reply := h.reply("COMMAND", "INFO", "nosuch", "CLIENT|ID", "client|nosuch", "get|x").([]any)
	require.Equal(t, replyNull{}, reply[0])
	require.Equal(t, "client|id", reply[1].([]any)[0])
	require.Equal(t, replyNull{}, reply[2])
	require.Equal(t, replyNull{}, reply[3])
}

// TestCommandNamesAreBounded: names are short and what they ask for is long.
func TestCommandNamesAreBounded(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, what := range []string{"INFO", "DOCS"} {
		request := []string{"COMMAND", what}
		for range Count() {
			request = append(request, "client")
		}
		require.Greater(t, len(h.reply(request...).([]any)), Count()-1)
		require.Equal(t, replyError("ERR more command names than there are commands"), h.reply(append(request, "client")...))
	}
}

// TestCommandInfoInRESP3 is the whole shape once, as Redis 7 writes it.
func TestCommandInfoInRESP3(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.proto(3)
	require.Equal(t, []any{[]any{
		"get", int64(2), replySet{"readonly", "fast"}, int64(1), int64(1), int64(1),
		replySet{"@read", "@string", "@fast"}, replySet{},
		replySet{replyMap{
			"flags", replySet{"RO", "access"},
			"begin_search", replyMap{"type", "index", "spec", replyMap{"index", int64(1)}},
			"find_keys", replyMap{"type", "range", "spec", replyMap{"lastkey", int64(0), "keystep", int64(1), "limit", int64(0)}},
		}},
		replySet{},
	}}, h.reply("COMMAND", "INFO", "get"))
	subs := h.reply("COMMAND", "INFO", "memory").([]any)[0].([]any)[9]
	require.IsType(t, []any{}, subs)
	require.Equal(t, []any{int64(2), int64(2), int64(1)}, subs.([]any)[0].([]any)[3:6], "memory|usage")
}

func TestCommandList(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Len(t, h.reply("COMMAND", "LIST"), Count())
	require.Equal(t, []any{"lolwut"}, h.reply("COMMAND", "LIST", "filterby", "PATTERN", "*OLW*"))
	require.Equal(t, []any{"client|id", "client|info"}, h.reply("COMMAND", "LIST", "FILTERBY", "pattern", "client|i*"))
	require.Equal(t, []any{}, h.reply("COMMAND", "LIST", "FILTERBY", "MODULE", "x"))
	require.Equal(t, []any{}, h.reply("COMMAND", "LIST", "FILTERBY", "ACLCAT", "nosuch"))
	require.Contains(t, h.reply("COMMAND", "LIST", "FILTERBY", "ACLCAT", "WRITE"), "idem")
	require.NotContains(t, h.reply("COMMAND", "LIST", "FILTERBY", "ACLCAT", "write"), "get")
	require.Contains(t, h.reply("COMMAND", "LIST", "FILTERBY", "ACLCAT", "dangerous"), "client|kill")
	for _, args := range [][]string{{"foo"}, {"FILTERBY", "ACLCAT"}, {"FILTERBY", "foo", "bar"}, {"foo", "ACLCAT", "x"}} {
		require.Equal(t, replyError("ERR syntax error"), h.reply(append([]string{"COMMAND", "LIST"}, args...)...), "%q", args)
	}
}

func TestCommandGetKeys(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	f := func(want any, args ...string) {
		t.Helper()
		require.Equal(t, want, h.reply(append([]string{"COMMAND", "GETKEYS"}, args...)...))
	}
	f([]any{"a", "c"}, "mset", "a", "b", "c")
	f([]any{"a", "b"}, "COPY", "a", "b", "REPLACE")
	f([]any{"k"}, "memory", "usage", "k")
	f([]any{"k"}, "idem", "k", "begin", "f", "o", "5")
	f(replyError("ERR Invalid command specified"), "nosuch", "a")
	f(replyError("ERR Invalid command specified"), "client", "foo")
	f(replyError("ERR The command has no key arguments"), "ping")
	f(replyError("ERR The command has no key arguments"), "config", "get", "port")
	f(replyError("ERR Invalid number of arguments specified for command"), "get")
	f(replyError("ERR Invalid number of arguments specified for command"), "get", "a", "b")

	flags := func(args ...string) any {
		return h.reply(append([]string{"COMMAND", "GETKEYSANDFLAGS"}, args...)...)
	}
	h.proto(3)
	require.Equal(t, []any{[]any{"k", replySet{"OW", "update"}}}, flags("set", "k", "get"))
	require.Equal(t, []any{[]any{"k", replySet{"RW", "access", "update"}}}, flags("set", "k", "v", "nx", "Get"))
	require.Equal(t, []any{[]any{"a", replySet{"RO", "access"}}, []any{"b", replySet{"OW", "update"}}}, flags("copy", "a", "b"))
	require.Equal(t, replyError("ERR Invalid command specified"), flags("nosuch", "a"))
}

// tree writes nested arguments compactly: name:type, =TOKEN, ? optional,
// + multiple, @ key specification, (members).
func tree(args any) string {
	if args == nil {
		return ""
	}
	var words []string
	for _, a := range list(args) {
		w := at(a, "name").(string) + ":" + at(a, "type").(string)
		if token, ok := at(a, "token").(string); ok {
			w += "=" + token
		}
		if spec, ok := at(a, "key_spec_index").(int64); ok {
			w += "@" + string(rune('0'+spec))
		}
		if flags := at(a, "flags"); flags != nil {
			for _, f := range list(flags) {
				w += map[any]string{"optional": "?", "multiple": "+"}[f]
			}
		}
		inner := tree(at(a, "arguments"))
		if inner != "" {
			w += "(" + inner + ")"
		}
		if (inner == "") == (at(a, "display_text") == nil) {
			w += "!display_text"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestCommandDocsArguments(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"get":         "key:key@0",
		"mget":        "key:key@0+",
		"mset":        "data:block+(key:key@0 value:string)",
		"copy":        "source:key@0 destination:key@1 destination-db:integer=DB? replace:pure-token=REPLACE?",
		"lcs":         "key1:key@0 key2:key@0 len:pure-token=LEN? idx:pure-token=IDX? min-match-len:integer=MINMATCHLEN? withmatchlen:pure-token=WITHMATCHLEN?",
		"scan":        "cursor:integer pattern:pattern=MATCH? count:integer=COUNT? type:string=TYPE?",
		"expireat":    "key:key@0 unix-time-seconds:unix-time condition:oneof?(nx:pure-token=NX xx:pure-token=XX gt:pure-token=GT lt:pure-token=LT)",
		"incrbyfloat": "key:key@0 increment:double",
		"incrby":      "key:key@0 increment:integer",
		"flushall":    "flush-type:oneof?(async:pure-token=ASYNC sync:pure-token=SYNC)",
		"idem": "key:key@0 action:oneof(begin:block=BEGIN(fingerprint:string owner:string ttl-ms:integer) " +
			"complete:block=COMPLETE(fingerprint:string owner:string result:string))",
		"limit": "key:key@0 limit:integer window-ms:integer cost:integer?",
		"hello": "arguments:block?(protover:integer auth:block=AUTH?(username:string password:string) clientname:string=SETNAME?)",
		"auth":  "username:string? password:string",
		"client|list": "client-type:oneof=TYPE?(normal:pure-token=NORMAL master:pure-token=MASTER replica:pure-token=REPLICA " +
			"pubsub:pure-token=PUBSUB) client-id:integer=ID?+",
		"client|setinfo": "attr:oneof(libname:string=LIB-NAME libver:string=LIB-VER)",
		"config|set":     "data:block+(parameter:string value:string)",
		"info":           "section:string?+",
		"memory|usage":   "key:key@0 count:integer=SAMPLES?",
		"quit":           "",
	} {
		h := newHarness(t)
		require.Equal(t, want, tree(at(at(h.reply("COMMAND", "DOCS", name), name), "arguments")), name)
	}
}

func TestCommandDocs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.Len(t, h.reply("COMMAND", "DOCS"), 2*len(All()))
	require.Equal(t, []any{}, h.reply("COMMAND", "DOCS", "nosuch"))
	h.proto(3)
	require.Equal(t, replyMap{}, h.reply("COMMAND", "DOCS", "nosuch"))
	docs := h.reply("COMMAND", "DOCS", "quit", "nosuch", "client|id")
	require.Equal(t, replyMap{
		"quit", replyMap{
			"summary", "Closes the connection after the replies before it.", "since", "1.0.0", "group", "connection",
			"complexity", "O(1)", "doc_flags", replySet{"deprecated"}, "deprecated_since", "7.2.0",
			"replaced_by", "just closing the connection",
		},
		"client|id", replyMap{
			"summary", "Tells the connection's number, which no later connection gets again.", "since", "5.0.0",
			"group", "connection", "complexity", "O(1)",
		},
	}, docs)
	container := at(h.reply("COMMAND", "DOCS", "config"), "config")
	require.NotNil(t, at(at(container, "subcommands"), "config|get"))
	require.Equal(t, replySet{"syscmd"}, at(at(h.reply("COMMAND", "DOCS", "debug"), "debug"), "doc_flags"))
}

func TestSyntaxNotation(t *testing.T) {
	t.Parallel()
	for syntax, want := range map[string]string{
		"[x ...]":              "x:string?+",
		"x [x ...]":            "x:string+",
		"x [y ...]":            "x:string y:string?+",
		"<A | B> ...":          "a-b:oneof+(a:pure-token=A b:pure-token=B)",
		"[A x y [x y ...]]":    "x-y:block=A?+(x:string y:string)",
		"[x | y z]":            "x-y-z:oneof?(x:string y-z:block(y:string z:string))",
		"x [WITH y]":           "x:string y:string=WITH?",
		"<FIRST x | SECOND y>": "x-y:oneof(x:string=FIRST y:string=SECOND)",
	} {
		h := newHarness(t)
		row := Command{full: "x", Syntax: syntax}
		writeSyntax(&h.ctx, row.parseSyntax())
		require.Equal(t, want, tree(h.read()), syntax)
	}
}

// TestSyntaxNeverPanics: a notation that is wrong yields something.
func TestSyntaxNeverPanics(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"[", "]", "a ] b", "<", "< | >", "[|", "...", "[...]", "A", "A <", "a [a", "> ... <", "[] []", "| |"} {
		row := Command{full: "x", Syntax: s}
		require.NotPanics(t, func() { row.parseSyntax() }, s)
	}
}
