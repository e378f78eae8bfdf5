package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// cli runs redis-cli with input and returns what it printed.
func cli(t *testing.T, s *server, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command(need(t, "redis-cli", requireOracle), append([]string{"-p", s.port}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Env = cleanEnv("LC_ALL=C", "REDISCLI_HISTFILE=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("redis-cli %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestRedisCLI types the example of the IDEM contract into redis-cli, as text
// on its standard input, and as arguments.
func TestRedisCLI(t *testing.T) {
	s := start(t, t.TempDir())
	typed := `IDEM order:42 BEGIN request-digest attempt-token 60000
IDEM order:42 BEGIN request-digest attempt-token 60000
IDEM order:42 COMPLETE request-digest attempt-token saved-result
IDEM order:42 BEGIN request-digest another-attempt 60000
TYPE order:42
`
	want := `1) "acquired"
1) "pending"
(integer) 1
1) "completed"
2) "saved-result"
string
`
	if got := cli(t, s, typed, "--no-raw"); got != want {
		t.Errorf("redis-cli printed\n%s\nwant\n%s", got, want)
	}
	if got := cli(t, s, "", "-3", "--no-raw", "IDEM", "order:42", "BEGIN", "other", "attempt", "60000"); got != "1) \"conflict\"\n" {
		t.Errorf("in RESP3: %s", got)
	}
	if got := cli(t, s, "", "--scan", "--pattern", "order:*"); got != "order:42\n" {
		t.Errorf("--scan: %s", got)
	}
}

// TestRedisCLIPipe sends 100,000 commands through the bulk loader of redis-cli,
// which closes nothing and counts replies up to an ECHO of its own.
func TestRedisCLIPipe(t *testing.T) {
	s := start(t, t.TempDir())
	var load bytes.Buffer
	const n = 100_000
	for i := range n {
		load.Write(encode("SET", fmt.Sprintf("k:%d", i), "v"))
	}
	out := cli(t, s, load.String(), "--pipe")
	if !strings.Contains(out, fmt.Sprintf("errors: 0, replies: %d", n)) {
		t.Errorf("--pipe: %s", out)
	}
	dial(t, s).want("100000", "DBSIZE")
}

// TestRedisBenchmark is a smoke test: redis-benchmark ends, with a line for
// each of its tests and without an error.
func TestRedisBenchmark(t *testing.T) {
	bench := need(t, "redis-benchmark", requireOracle)
	s := start(t, t.TempDir())
	const tests = "ping_inline,ping_mbulk,set,get,incr,mset"
	for _, pipeline := range []string{"1", "16"} {
		cmd := exec.Command(bench, "-p", s.port, "-t", tests, "-P", pipeline, "-n", "10000", "-c", "50", "-r", "1000", "--csv")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("pipeline %s: %v\n%s", pipeline, err, out)
		}
		text := string(out)
		if strings.Contains(text, "ERR") || strings.Contains(text, "Error") {
			t.Errorf("pipeline %s: %s", pipeline, text)
		}
		for _, line := range []string{`"PING_INLINE"`, `"PING_MBULK"`, `"SET"`, `"GET"`, `"INCR"`, `"MSET (10 keys)"`} {
			if !strings.Contains(text, line) {
				t.Errorf("pipeline %s: no result for %s in\n%s", pipeline, line, text)
			}
		}
	}
}
