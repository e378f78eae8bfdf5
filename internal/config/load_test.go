package config_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/config"
)

// world is what a configuration is loaded from: files by absolute path.
type world struct {
	files map[string]string
	env   []string
	stdin string

	renamed func(command, name string)
}

// refused is a name that rename-command cannot change.
const refused = "NOSUCH"

func (w world) load(args ...string) (*config.Config, error) {
	return config.Load(config.Input{
		Args:    args,
		Environ: w.env,
		Stdin:   strings.NewReader(w.stdin),
		Dir:     "/etc/hapax",
		Rename: func(command, name string) error {
			if command == refused {
				return errors.New("no such command: " + command)
			}
			if w.renamed != nil {
				w.renamed(command, name)
			}
			return nil
		},
		Read: func(path string) ([]byte, error) {
			if content, ok := w.files[path]; ok {
				return []byte(content), nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Glob: func(pattern string) ([]string, error) {
			var out []string
			for path := range w.files {
				if ok, err := filepath.Match(pattern, path); err != nil {
					return nil, err
				} else if ok {
					out = append(out, path)
				}
			}
			return out, nil
		},
	})
}

func TestDefaults(t *testing.T) {
	c, err := world{}.load()
	require.NoError(t, err)
	for name, want := range map[string]string{
		"port": "6379", "bind": "127.0.0.1 -::1", "protected-mode": "yes",
		"appendonly": "yes", "appendfsync": "always", "save": "",
		"databases": "16", "maxclients": "10000", "timeout": "0", "tcp-keepalive": "300", "tcp-backlog": "511",
		"proto-max-bulk-len": "536870912", "client-query-buffer-limit": "1073741824",
		"dir": ".", "logfile": "", "loglevel": "notice", "daemonize": "no", "enable-debug-command": "no",
	} {
		require.Equal(t, want, c.Text(name), name)
	}
	require.Empty(t, c.Warnings)
	require.Empty(t, c.File)
}

// Defaults, then the file, the environment, the flags; each alone and over
// those before it.
func TestPrecedence(t *testing.T) {
	w := world{
		files: map[string]string{"/etc/hapax/a.conf": "port 1\ntimeout 1\nhz 1\n"},
		env:   []string{"HAPAX_PORT=2", "HAPAX_TIMEOUT=2", "PATH=/bin"},
	}
	c, err := w.load("a.conf", "--port", "3")
	require.NoError(t, err)
	require.EqualValues(t, 3, c.Int("port"))
	require.EqualValues(t, 2, c.Int("timeout"))
	require.EqualValues(t, 1, c.Int("hz"))
	require.EqualValues(t, 16, c.Int("databases"))
	require.Equal(t, "/etc/hapax/a.conf", c.File)
}

func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want map[string]string
	}{
		{"name and value", []string{"--port", "7000"}, map[string]string{"port": "7000"}},
		{"name=value", []string{"--port=7000", "--requirepass=a=b"}, map[string]string{"port": "7000", "requirepass": "a=b"}},
		{"in one argument", []string{"--port 7000"}, map[string]string{"port": "7000"}},
		{"any case", []string{"--PORT", "7000"}, map[string]string{"port": "7000"}},
		{"several values", []string{"--bind", "::1", "127.0.0.1", "--port", "1"}, map[string]string{"bind": "::1 127.0.0.1", "port": "1"}},
		{"several values in one", []string{"--bind", "::1 127.0.0.1"}, map[string]string{"bind": "::1 127.0.0.1"}},
		{"the last wins", []string{"--port", "1", "--port", "2"}, map[string]string{"port": "2"}},
		{"save adds up", []string{"--save", "1", "2", "--save", "3", "4"}, map[string]string{"save": "1 2 3 4"}},
		{"save of nothing", []string{"--save", "", "--port", "1"}, map[string]string{"save": "", "port": "1"}},
		{"save alone, then another", []string{"--save", "--port", "1"}, map[string]string{"save": "", "port": "1"}},
		{"save alone at the end", []string{"--port", "1", "--save"}, map[string]string{"save": "", "port": "1"}},
		{"a value that looks like a flag", []string{"--requirepass", "--secret", "--port", "1"}, map[string]string{"requirepass": "--secret", "port": "1"}},
		{"a value with spaces", []string{"--requirepass", "a b"}, map[string]string{"requirepass": "a b"}},
		{"an old name", []string{"--slave-priority", "7"}, map[string]string{"replica-priority": "7"}},
		{"limits of one class", []string{"--client-output-buffer-limit", "replica", "1mb", "2k", "3"}, map[string]string{"client-output-buffer-limit": "normal 268435456 1048576 60 slave 1048576 2000 3 pubsub 33554432 8388608 60"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := world{}.load(c.args...)
			require.NoError(t, err)
			for name, want := range c.want {
				require.Equal(t, want, got.Text(name), name)
			}
		})
	}
}

func TestStandardInput(t *testing.T) {
	w := world{stdin: "port 5\ntimeout 5\n", files: map[string]string{"/etc/hapax/a.conf": "port 1\nhz 1\n"}}
	c, err := w.load("-")
	require.NoError(t, err)
	require.EqualValues(t, 5, c.Int("port"))

	c, err = w.load("a.conf", "--timeout", "9", "-")
	require.NoError(t, err)
	require.EqualValues(t, 5, c.Int("port"))
	require.EqualValues(t, 9, c.Int("timeout"))
	require.EqualValues(t, 1, c.Int("hz"))
}

func TestFile(t *testing.T) {
	for _, c := range []struct{ name, file, directive, want string }{
		{"comments and blanks", "# port 1\n\n   # x\n\tport 2\r\n", "port", "2"},
		{"quotes", `requirepass "a \x41\n\"\\b"`, "requirepass", "a A\n\"\\b"},
		{"single quotes", `requirepass 'it''s'`, "", ""},
		{"single quotes escaped", `requirepass 'it\'s "x"'`, "requirepass", `it's "x"`},
		{"quotes within", `dir /a/"b c"`, "dir", "/a/b c"},
		{"no end of line", "port 3", "port", "3"},
		{"save lines add up and replace the default", "save 10 1\nsave 20 2\n", "save", "10 1 20 2"},
		{"save forgets", "save 10 1\nsave \"\"\nsave 20 2\n", "save", "20 2"},
		{"bind is replaced", "bind 1.1.1.1\nbind 2.2.2.2 ::1\n", "bind", "2.2.2.2 ::1"},
		{"bind to nothing", "bind \"\"\n", "bind", ""},
		{"sizes", "maxmemory 2g\n", "maxmemory", "2000000000"},
		{"sizes of 1024s", "maxmemory 2GB\n", "maxmemory", "2147483648"},
		{"octal", "unixsocketperm 700\n", "unixsocketperm", "700"},
		{"a share", "maxmemory-clients 5%\n", "maxmemory-clients", "5%"},
		{"events", "notify-keyspace-events KlgE$\n", "notify-keyspace-events", "g$lKE"},
		{"all events", "notify-keyspace-events AKEm\n", "notify-keyspace-events", "AKEm"},
		{"no events", "notify-keyspace-events \"\"\n", "notify-keyspace-events", ""},
		{"choices of several", "shutdown-on-sigint nosave FORCE\n", "shutdown-on-sigint", "nosave force"},
		{"deprecated", "lua-replicate-commands yes\nlist-max-ziplist-entries 512\nport 4\n", "port", "4"},
		{"no replica of anyone", "replicaof no one\n", "replicaof", ""},
		{"the harmless user of a rewritten file", "user default on nopass sanitize-payload ~* &* +@all\nport 6\n", "port", "6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := world{files: map[string]string{"/etc/hapax/a.conf": c.file}}.load("a.conf")
			if c.directive == "" {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got.Text(c.directive))
		})
	}
}

func TestRenameCommands(t *testing.T) {
	var renames [][2]string
	w := world{
		files:   map[string]string{"/etc/hapax/a.conf": "rename-command FLUSHALL \"\"\nrename-command CONFIG secret\n"},
		renamed: func(command, name string) { renames = append(renames, [2]string{command, name}) },
	}
	_, err := w.load("a.conf")
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"FLUSHALL", ""}, {"CONFIG", "secret"}}, renames)
}

// Every problem is told, with where it is.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"prot 1", "a.conf:1: unknown directive 'prot', did you mean 'port'?"},
		{"\n\nappendfsnyc always", "a.conf:3: unknown directive 'appendfsnyc', did you mean 'appendfsync'?"},
		{"port", "a.conf:1: port: wrong number of arguments"},
		{"port 1 2", "a.conf:1: port: wrong number of arguments"},
		{"port x", "a.conf:1: port: argument couldn't be parsed into an integer"},
		{"port 65536", "a.conf:1: port: argument must be between 0 and 65535 inclusive"},
		{"port +1", "a.conf:1: port: argument couldn't be parsed into an integer"},
		{"appendonly maybe", "a.conf:1: appendonly: argument must be 'yes' or 'no'"},
		{"appendfsync never", "a.conf:1: appendfsync: argument(s) must be one of the following: everysec, always, no"},
		{"maxmemory 1x", "a.conf:1: maxmemory: argument must be a memory value"},
		{"maxmemory mb", "a.conf:1: maxmemory: argument must be a memory value"},
		{"maxmemory 9223372036854775807gb", "a.conf:1: maxmemory: argument must be a memory value"},
		{"unixsocketperm 1000", "a.conf:1: unixsocketperm: argument must be between 0 and 777 inclusive"},
		{"unixsocketperm 9", "a.conf:1: unixsocketperm: argument couldn't be parsed as an octal number"},
		{"dir \"x", "a.conf:1: unbalanced quotes in configuration line"},
		{"dir \"x\"y", "a.conf:1: unbalanced quotes in configuration line"},
		{"rename-command x", "a.conf:1: rename-command: wrong number of arguments"},
		{"replicaof 10.0.0.1 6379", "a.conf:1: replicaof: replication is not supported yet"},
		{"slaveof 10.0.0.1 6379", "a.conf:1: slaveof: replication is not supported yet"},
		{"aclfile users.acl", "a.conf:1: aclfile: access control lists are not supported yet"},
		{"user bob on >x", "a.conf:1: user: access control lists are not supported yet"},
		{"user default on nopass ~secret:* +@all", "a.conf:1: user: access control lists are not supported yet"},
		{"loadmodule x.so", "a.conf:1: loadmodule: modules are not supported"},
		{"sentinel x", "a.conf:1: sentinel directive while not in sentinel mode"},
		{"\nrename-command NOSUCH x", "a.conf:2: rename-command: no such command: NOSUCH"},
		{"\ninclude nowhere.conf", "a.conf:2: include: /etc/hapax/nowhere.conf: can't read the configuration file: file does not exist"},
		{"include a.conf", "a.conf:1: include: /etc/hapax/a.conf: included too often"},
		{"include", "a.conf:1: include: wrong number of arguments"},
	} {
		t.Run(c.file, func(t *testing.T) {
			_, err := world{files: map[string]string{"/etc/hapax/a.conf": c.file}}.load("a.conf")
			require.ErrorContains(t, err, c.want)
		})
	}

	_, err := world{env: []string{"HAPAX_PORT=x"}, files: map[string]string{"/etc/hapax/a.conf": "prot 1\nrename-command NOSUCH x\nhz x\n"}}.load("a.conf", "--maxmemroy", "1", "--timeout")
	require.EqualError(t, err, strings.Join([]string{
		"a.conf:1: unknown directive 'prot', did you mean 'port'?",
		"a.conf:2: rename-command: no such command: NOSUCH",
		"a.conf:3: hz: argument couldn't be parsed into an integer",
		"HAPAX_PORT: port: argument couldn't be parsed into an integer",
		"--maxmemroy: unknown directive 'maxmemroy', did you mean 'maxmemory'?",
		"--timeout: timeout: wrong number of arguments",
	}, "\n"))

	_, err = world{}.load("/etc/none.conf")
	require.ErrorContains(t, err, "/etc/none.conf: can't read the configuration file")
	_, err = world{}.load("--port", "1", "2")
	require.Error(t, err)
	_, err = world{files: map[string]string{"/etc/hapax/a.conf": ""}}.load("a.conf", "b")
	require.ErrorContains(t, err, "'b' belongs to no option")
}

// A suggestion is for a slip of the pen. Anything else would be a guess.
func TestSuggestionsAreNear(t *testing.T) {
	for name, want := range map[string]string{
		"foo":         "--foo: unknown directive 'foo'",
		"verbose":     "--verbose: unknown directive 'verbose'",
		"some.module": "--some.module: unknown directive 'some.module'",
		"prt":         "--prt: unknown directive 'prt', did you mean 'port'?",
		"prot":        "--prot: unknown directive 'prot', did you mean 'port'?",
		"max-memory":  "--max-memory: unknown directive 'max-memory', did you mean 'maxmemory'?",
		"maxclient":   "--maxclient: unknown directive 'maxclient', did you mean 'maxclients'?",
	} {
		_, err := world{}.load("--"+name, "1")
		require.EqualError(t, err, want)
	}
}

func TestInclude(t *testing.T) {
	w := world{files: map[string]string{
		"/etc/h/main.conf":       "port 1\ninclude part.conf\ninclude conf.d/*.conf\ninclude none/*.conf\ninclude shared.conf\n",
		"/etc/h/part.conf":       "port 2\nsave 1 1\n",
		"/etc/h/conf.d/x.conf":   "hz 7\nsave 2 2\n",
		"/etc/hapax/shared.conf": "timeout 8\n",
	}}
	c, err := w.load("/etc/h/main.conf")
	require.NoError(t, err)
	require.EqualValues(t, 2, c.Int("port"))
	require.EqualValues(t, 7, c.Int("hz"))
	require.EqualValues(t, 8, c.Int("timeout"), "not beside the file: in the working directory")
	require.Equal(t, "1 1 2 2", c.Text("save"))
}

func TestIncludeIsBounded(t *testing.T) {
	// A chain of distinct files, longer than the bound.
	files := map[string]string{}
	for i := range 30 {
		files["/etc/hapax/"+strings.Repeat("a", i+1)] = "include " + strings.Repeat("a", i+2) + "\n"
	}
	_, err := world{files: files}.load("a")
	require.ErrorContains(t, err, "included too often")

	// Few levels that fan out: 2 to the 15th files were it not for the bound.
	fan := map[string]string{}
	for i := range 15 {
		next := strings.Repeat("b", i+2)
		fan["/etc/hapax/"+strings.Repeat("b", i+1)] = "include " + next + "\ninclude " + next + "\n"
	}
	fan["/etc/hapax/"+strings.Repeat("b", 16)] = ""
	_, err = world{files: fan}.load("b")
	require.ErrorContains(t, err, "included too often")
}

func TestEnvironment(t *testing.T) {
	c, err := world{env: []string{
		"HAPAX_BIND=* -::*", "HAPAX_REQUIREPASS=a b", "HAPAX_SAVE=", "HAPAX_MAXMEMORY_POLICY=allkeys-lru",
		"HAPAX_PORT=tcp://10.0.0.1:6379", "HAPAX_PORT_6379_TCP_ADDR=10.0.0.1", "HAPAX_SERVICE_HOST=10.0.0.1", "HAPAX_MAXMEMROY=1",
	}}.load()
	require.NoError(t, err)
	require.Equal(t, "* -::*", c.Text("bind"))
	require.Equal(t, "a b", c.Text("requirepass"))
	require.Equal(t, "", c.Text("save"))
	require.Equal(t, "allkeys-lru", c.Text("maxmemory-policy"))
	require.Equal(t, "6379", c.Text("port"))
	warnings := strings.Join(c.Warnings, "\n")
	require.Contains(t, warnings, "HAPAX_PORT is ignored")
	require.Contains(t, warnings, "HAPAX_MAXMEMROY is ignored, there is no directive 'maxmemroy'; did you mean 'maxmemory'?")
	require.NotContains(t, warnings, "SERVICE_HOST")
}

// What does nothing here is named, and said aloud where somebody may rely on it.
func TestWarnings(t *testing.T) {
	w := world{files: map[string]string{"/etc/hapax/a.conf": "rdbcompression no\ncluster-enabled yes\nport 1\n"}}
	c, err := w.load("a.conf", "--hash-max-ziplist-entries", "5", "--daemonize", "yes", "--tls-port", "6380")
	require.NoError(t, err)
	warnings := strings.Join(c.Warnings, "\n")
	require.Contains(t, warnings, "rdbcompression (a.conf:1)")
	require.Contains(t, warnings, "hash-max-listpack-entries (--hash-max-ziplist-entries)")
	require.Contains(t, warnings, "clustering is not supported yet")
	require.Contains(t, warnings, "the server stays in the foreground")
	require.Contains(t, warnings, "TLS is not supported yet")
	require.NotContains(t, warnings, "port (a.conf:3)")

	// What goes with "appendonly no", and what every file of Redis has.
	c, err = world{}.load("--appendonly", "no", "--save", "")
	require.NoError(t, err)
	require.Empty(t, c.Warnings)
	c, err = world{}.load("--save", "60", "1")
	require.NoError(t, err)
	require.Empty(t, c.Warnings)

	// An error doesn't hide them.
	c, err = w.load("a.conf", "--port", "x")
	require.Error(t, err)
	require.Contains(t, strings.Join(c.Warnings, "\n"), "rdbcompression (a.conf:1)")
}

// Where the values came from is counted, for the log.
func TestSourcesAreCounted(t *testing.T) {
	w := world{stdin: "hz 1\n", env: []string{"HAPAX_TIMEOUT=1", "HAPAX_NOSUCHTHING=1", "HAPAX_PORT=tcp://10.0.0.1:1", "PATH=/bin"}}
	c, err := w.load("-", "--port", "1", "--save", "60", "1")
	require.NoError(t, err)
	require.True(t, c.Stdin)
	require.Equal(t, 2, c.Flags)
	require.Equal(t, 1, c.Variables)
}

func TestSaveRules(t *testing.T) {
	require.Empty(t, config.Default().SaveRules(), "the log keeps every write")
	c, err := world{}.load("--save", "900 1", "--save", "60", "10000")
	require.NoError(t, err)
	require.Equal(t, []config.SaveRule{{Seconds: 900, Changes: 1}, {Seconds: 60, Changes: 10000}}, c.SaveRules())
}

func TestOutputLimit(t *testing.T) {
	c, err := world{}.load("--client-output-buffer-limit", "normal", "5mb", "1mb", "7")
	require.NoError(t, err)
	hard, soft, sec := c.OutputLimit("normal")
	require.EqualValues(t, []int64{5 << 20, 1 << 20, 7}, []int64{hard, soft, sec})
}
