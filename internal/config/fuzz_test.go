package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a file holds, it is refused with a place and a reason, or what it
// says survives being rewritten: into a new file, and into itself.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"port 7000\n# c\n\nrequirepass \"a \\x41\\n\\\"\"\n",
		"save 1 2\nsave \"\"\nsave 3 4\nbind 1.1.1.1 -::1\n",
		"maxmemory 2gb\nmaxmemory-clients 5%\nunixsocketperm 700\n",
		"client-output-buffer-limit normal 1mb 2k 3 replica 0 0 0\n",
		"rename-command GET \"\"\nuser default on nopass ~* +@all\n",
		"include /etc/hapax/a.conf\n",
		"include none*.conf\nnotify-keyspace-events KEA\nlatency-tracking-info-percentiles 50 99.9\n",
		"dir 'it\\'s'\nlogfile \"unbalanced\n",
		"slave-read-only no\nSHUTDOWN-on-sigint save now\r\n\thz 9\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		c, err := world{files: map[string]string{"/etc/hapax/a.conf": string(content)}}.load("a.conf")
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				where, why, _ := strings.Cut(line, ": ")
				require.NotEmpty(t, where)
				require.NotEmpty(t, why)
			}
			return
		}
		want := get(c, "*")
		for name, old := range map[string][]byte{"new": nil, "same": content} {
			rewritten := c.Rewrite(old)
			again, err := world{files: map[string]string{"/etc/hapax/a.conf": string(rewritten)}}.load("a.conf")
			require.NoError(t, err, "%s file: %q", name, rewritten)
			require.Equal(t, want, get(again, "*"), "%s file: %q", name, rewritten)
		}
	})
}
