package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hapaxkv/hapax/internal/clock"
	"github.com/hapaxkv/hapax/internal/engine"
	"github.com/hapaxkv/hapax/internal/idem"
	"github.com/hapaxkv/hapax/internal/shard"
	"github.com/hapaxkv/hapax/internal/vfs"
)

var updateDocs = flag.Bool("update-docs", false, "write what the examples of docs/tools.md print into it")

const toolsPage = "../../docs/tools.md"

// TestToolDocs runs the examples of docs/tools.md: in every block tagged
// console, lines that begin with $ are run, and what they print has to follow
// as it is there. Each block starts with the same directory.
func TestToolDocs(t *testing.T) {
	text, err := os.ReadFile(toolsPage)
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```console\n(.*?)```")
	got := blocks.ReplaceAllStringFunc(string(text), func(block string) string {
		body := strings.TrimSuffix(strings.TrimPrefix(block, "```console\n"), "```")
		return "```console\n" + runExamples(t, body) + "```"
	})
	if *updateDocs {
		require.NoError(t, os.WriteFile(toolsPage, []byte(got), 0o644))
	}
	require.Equal(t, string(text), got, "go test ./cmd/server -run TestToolDocs -update-docs writes it anew")
	for _, s := range subcommands {
		require.Contains(t, string(text), "\n$ hapax-server "+s.name+" ", "every tool has an example")
	}
}

// runExamples runs the commands of a block and returns it with what they print.
func runExamples(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	exampleStore(t, filepath.Join(dir, "data"))
	var out strings.Builder
	for line := range strings.Lines(body) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		printed, code := runExample(t, dir, command)
		out.WriteString("$ " + command + "\n" + printed)
		if code != 0 {
			fmt.Fprintf(&out, "[exit code %d]\n", code)
		}
	}
	return out.String()
}

// age is the one thing that examples print and that changes from day to day.
var age = regexp.MustCompile(`, \w+ old\n`)

func runExample(t *testing.T, dir, command string) (printed string, code int) {
	t.Helper()
	args, ok := strings.CutPrefix(command, "hapax-server ")
	if !ok {
		sh := exec.Command("sh", "-c", command)
		sh.Dir = dir
		out, err := sh.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out), 0
	}
	var words []string
	for _, w := range strings.Fields(args) {
		words = append(words, strings.Trim(w, "'"))
	}
	out := newOutput()
	p := &process{args: words, dir: dir, stdout: out, stderr: out, signals: make(chan os.Signal)}
	code = p.main()
	printed = strings.ReplaceAll(out.String(), filepath.ToSlash(dir)+"/", "")
	return age.ReplaceAllString(printed, ", 90s old\n"), code
}

// exampleStore makes the directory of the examples, the same each time.
func exampleStore(t *testing.T, dir string) {
	t.Helper()
	src := clock.NewManual(1_800_000_000_000)
	salts := uint64(0x48617061780000)
	e, err := engine.Open(engine.Options{
		FS: vfs.OS(), Dir: dir, Log: true, Shards: 1, Databases: 16, SegmentBytes: 8192, Clock: clock.New(src, nil), Inline: true,
		Salt: func() uint64 { salts++; return salts },
	})
	require.NoError(t, err)
	require.NoError(t, e.Recover())
	s := &exampleWriter{t: t, e: e, src: src, tx: e.Store.NewTx()}
	s.set("greeting", []byte("hello"))
	s.idem("order:1", idem.Pending, "first-try", "")
	s.save()
	s.idem("order:1", idem.Completed, "first-try", "paid")
	s.idem("order:2", idem.Pending, "first-try", "")
	s.save()
	s.delete("order:2")
	s.idem("order:2", idem.Pending, "second-try", "")
	s.set("picture", []byte{0x89, 'P', 'N', 'G'})
	require.NoError(t, e.Close())
}

type exampleWriter struct {
	t   *testing.T
	e   *engine.Engine
	src *clock.Manual
	tx  *shard.Tx
}

func (s *exampleWriter) on(key string, f func(tx *shard.Tx, k *shard.Key)) {
	s.t.Helper()
	s.src.AdvanceMilli(1000)
	k := shard.MakeKey([]byte(key))
	s.tx.Begin(s.e.Clock.NowMilli(), 0)
	s.tx.LockKeys([]shard.Key{k})
	f(s.tx, &k)
	s.tx.End()
	require.NoError(s.t, s.e.Log().Commit(s.e.Last()))
}

func (s *exampleWriter) set(key string, value []byte) {
	s.on(key, func(tx *shard.Tx, k *shard.Key) { require.NoError(s.t, tx.Put(k, shard.Value{Bytes: value})) })
}

func (s *exampleWriter) delete(key string) {
	s.on(key, func(tx *shard.Tx, k *shard.Key) { require.True(s.t, tx.Delete(k)) })
}

func (s *exampleWriter) idem(key string, state idem.State, owner, result string) {
	s.on(key, func(tx *shard.Tx, k *shard.Key) {
		r := idem.Record{State: state, Fingerprint: []byte("request-digest"), Owner: []byte(owner), Result: []byte(result)}
		deadline := s.e.Clock.NowMilli() + 600_000
		if v, ok := tx.Get(k); ok {
			deadline = v.DeadlineMilli
		}
		require.NoError(s.t, tx.PutIdem(k, idem.Append(nil, &r), deadline))
	})
}

func (s *exampleWriter) save() {
	_, err := s.e.StartSnapshot("example")
	require.NoError(s.t, err)
	for !s.e.StepSnapshot() {
	}
	require.NoError(s.t, s.e.SnapshotStatus().LastErr)
}
