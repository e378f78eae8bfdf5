package config_test

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/config"
)

const setFailed = "ERR CONFIG SET failed (possibly related to argument '"

// The replies are Redis's, word for word.
func TestSetErrors(t *testing.T) {
	for _, c := range []struct {
		pairs [][2]string
		want  string
	}{
		{[][2]string{{"nope", "1"}}, "ERR Unknown option or number of arguments for CONFIG SET - 'nope'"},
		{[][2]string{{"hz", "20"}, {"Nope", "1"}}, "ERR Unknown option or number of arguments for CONFIG SET - 'Nope'"},
		{[][2]string{{"Databases", "1"}, {"nope", "1"}}, setFailed + "Databases') - can't set immutable config"},
		{[][2]string{{"nope", "1"}, {"databases", "1"}}, "ERR Unknown option or number of arguments for CONFIG SET - 'nope'"},
		{[][2]string{{"io-threads", "1"}}, setFailed + "io-threads') - can't set immutable config"},
		{[][2]string{{"dir", "/"}}, setFailed + "dir') - can't set protected config"},
		{[][2]string{{"dbfilename", "x"}}, setFailed + "dbfilename') - can't set protected config"},
		{[][2]string{{"hz", "10"}, {"timeout", "1"}, {"HZ", "11"}}, setFailed + "HZ') - duplicate parameter"},
		{[][2]string{{"HZ", "x"}}, setFailed + "hz') - argument couldn't be parsed into an integer"},
		{[][2]string{{"hz", "-1"}}, setFailed + "hz') - argument must be between 0 and 2147483647 inclusive"},
		{[][2]string{{"timeout", "1 2"}}, setFailed + "timeout') - argument couldn't be parsed into an integer"},
		{[][2]string{{"maxclients", "0"}}, setFailed + "maxclients') - argument must be between 1 and 4294967295 inclusive"},
		{[][2]string{{"maxmemory", "1x"}}, setFailed + "maxmemory') - argument must be a memory value"},
		{[][2]string{{"maxmemory-clients", "101%"}}, setFailed + "maxmemory-clients') - percentage argument must be less or equal to 100"},
		{[][2]string{{"maxmemory-clients", "x"}}, setFailed + "maxmemory-clients') - argument must be a memory or percent value"},
		{[][2]string{{"proto-max-bulk-len", "1"}}, setFailed + "proto-max-bulk-len') - argument must be between 1048576 and 9223372036854775807 inclusive"},
		{[][2]string{{"appendfsync", "sometimes"}}, setFailed + "appendfsync') - argument(s) must be one of the following: everysec, always, no"},
		{[][2]string{{"maxmemory-policy", "x"}}, setFailed + "maxmemory-policy') - argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction"},
		{[][2]string{{"activerehashing", "maybe"}}, setFailed + "activerehashing') - argument must be 'yes' or 'no'"},
		{[][2]string{{"save", "1"}}, setFailed + "save') - Invalid save parameters"},
		{[][2]string{{"save", "0 1"}}, setFailed + "save') - Invalid save parameters"},
		{[][2]string{{"shutdown-on-sigterm", "nosave save force"}}, setFailed + "shutdown-on-sigterm') - shutdown options SAVE and NOSAVE can't be used simultaneously"},
		{[][2]string{{"client-output-buffer-limit", "normal 1 1"}}, setFailed + "client-output-buffer-limit') - Wrong number of arguments in buffer limit configuration."},
		{[][2]string{{"client-output-buffer-limit", "foo 1 1 1"}}, setFailed + "client-output-buffer-limit') - Invalid client class specified in buffer limit configuration."},
		{[][2]string{{"client-output-buffer-limit", "normal x 1 1"}}, setFailed + "client-output-buffer-limit') - Error in hard, soft or soft_seconds setting in buffer limit configuration."},
		{[][2]string{{"oom-score-adj-values", "1 2"}}, setFailed + "oom-score-adj-values') - wrong number of arguments"},
		{[][2]string{{"oom-score-adj-values", "1 2 99999"}}, setFailed + "oom-score-adj-values') - Invalid oom-score-adj-values, elements must be between -2000 and 2000."},
		{[][2]string{{"notify-keyspace-events", "q"}}, setFailed + "notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'."},
		{[][2]string{{"latency-tracking-info-percentiles", "a"}}, setFailed + "latency-tracking-info-percentiles') - Invalid latency-tracking-info-percentiles parameters"},
		{[][2]string{{"latency-tracking-info-percentiles", "200"}}, setFailed + "latency-tracking-info-percentiles') - latency-tracking-info-percentiles parameters should sit between [0.0,100.0]"},
		{[][2]string{{"bind", strings.Repeat("127.0.0.1 ", 17)}}, setFailed + "bind') - Too many bind addresses specified."},
		{[][2]string{{"slave-priority", "x"}}, setFailed + "slave-priority') - argument couldn't be parsed into an integer"},
		{[][2]string{{"cluster-announce-hostname", "a b"}}, setFailed + "cluster-announce-hostname') - Hostnames may only contain alphanumeric characters, hyphens or dots"},
		// Redis can change these while running, Hapax says that it cannot.
		{[][2]string{{"port", "1"}}, setFailed + "port') - can't set immutable config"},
		{[][2]string{{"appendonly", "no"}}, setFailed + "appendonly') - can't set immutable config"},
	} {
		t.Run(c.pairs[0][0]+" "+c.pairs[0][1], func(t *testing.T) {
			_, err := config.Default().Set(c.pairs)
			require.EqualError(t, err, c.want)
		})
	}
}

// All or none, and the old configuration stays what it was.
func TestSet(t *testing.T) {
	c := config.Default()
	next, err := c.Set([][2]string{
		{"maxmemory", "1mb"}, {"Timeout", "5"}, {"save", "10 1 20 2"}, {"client-output-buffer-limit", "normal 1kb 0 0 pubsub 1 1 1"},
		{"port", "6379"}, {"slave-read-only", "no"}, {"requirepass", "a b"},
	})
	require.NoError(t, err)
	require.Equal(t, "1048576", next.Text("maxmemory"))
	require.Equal(t, "5", next.Text("timeout"))
	require.Equal(t, "10 1 20 2", next.Text("save"))
	require.Equal(t, "normal 1024 0 0 slave 268435456 67108864 60 pubsub 1 1 1", next.Text("client-output-buffer-limit"))
	require.Equal(t, "no", next.Text("replica-read-only"))
	require.Equal(t, "a b", next.Text("requirepass"))
	require.Equal(t, "0", c.Text("maxmemory"))

	next, err = next.Set([][2]string{{"save", ""}, {"requirepass", ""}})
	require.NoError(t, err)
	require.Empty(t, next.Text("save"))
	_, err = next.Set([][2]string{{"maxmemory", "2mb"}, {"timeout", "x"}})
	require.Error(t, err)
	require.Equal(t, "1048576", next.Text("maxmemory"))
}

func TestProtectedConfigs(t *testing.T) {
	c := config.Default().With("enable-protected-configs", "yes")
	next, err := c.Set([][2]string{{"dbfilename", "x"}})
	require.NoError(t, err)
	require.Equal(t, "x", next.Text("dbfilename"))
	_, err = c.Set([][2]string{{"dbfilename", "a/b"}})
	require.EqualError(t, err, setFailed+"dbfilename') - dbfilename can't be a path, just a filename")
	_, err = c.Set([][2]string{{"dir", "/"}})
	require.EqualError(t, err, setFailed+"dir') - can't set immutable config")
}

func get(c *config.Config, patterns ...string) [][2]string {
	return c.Get(patterns, func(pattern, name string) bool {
		ok, err := path.Match(strings.ToLower(pattern), name)
		return ok && err == nil
	})
}

func TestGet(t *testing.T) {
	c := config.Default()
	require.Equal(t, [][2]string{{"PoRt", "6379"}}, get(c, "PoRt", "port", "p?rt"))
	require.Empty(t, get(c, "nope", "nope*"))
	require.Equal(t, [][2]string{{"replica-priority", "100"}, {"slave-priority", "100"}}, get(c, "*a*-priority"))
	require.Equal(t, [][2]string{{"key-load-delay", "0"}}, get(c, "key-load-delay"), "hidden ones by their full name")
	require.Empty(t, get(c, "key-load-dela?"))
	require.Equal(t, [][2]string{{"maxmemory", "0"}, {"maxmemory-policy", "noeviction"}}, get(c, "maxmemory", "maxmemory-p*"))
}

// Every directive that a Redis 7.0 shows is known, under each of its names and
// with the value Redis has where that means nothing here.
func TestRedisDirectivesAreKnown(t *testing.T) {
	content, err := os.ReadFile("testdata/redis-config-get.txt")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	require.Greater(t, len(lines), 180)
	ours := map[string]bool{
		"bind": true, "appendonly": true, "appendfsync": true, "save": true, "dir": true, "client-output-buffer-limit": true,
		"activedefrag": true, "active-defrag-ignore-bytes": true, "active-defrag-threshold-upper": true,
	}
	for _, line := range lines {
		name, want, _ := strings.Cut(line, "=")
		got := get(config.Default(), name)
		require.Len(t, got, 1, "%s is not known", name)
		if !ours[name] {
			require.Equal(t, want, got[0][1], name)
		}
	}
	for _, name := range []string{"set-max-listpack-entries", "set-max-listpack-value", "locale-collate", "cluster-announce-human-nodename", "server-cpulist"} {
		require.Len(t, get(config.Default(), name), 1, "new in 7.2: %s", name)
	}
}
