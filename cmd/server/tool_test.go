package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// filled is a data directory that a server filled, took a snapshot of, wrote to
// again, and left in order.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	r := onDisk(t, dir)
	c := r.dial()
	require.Equal(t, "+OK", c.do("SET", "greeting", "hello"))
	require.Equal(t, "acquired", c.do("IDEM", "order:1", "BEGIN", "digest", "token", "600000"))
	require.Equal(t, "+OK", c.do("SAVE"))
	require.Equal(t, ":1", c.do("IDEM", "order:1", "COMPLETE", "digest", "token", "paid"))
	require.Equal(t, "+OK", c.do("SET", "bytes\x00", "\xff"))
	require.Zero(t, r.stop())
	return dir
}

// onDisk starts a server on a directory.
func onDisk(t *testing.T, dir string) *running {
	t.Helper()
	port := freePort(t)
	r := begin(t, nil, "", "--dir", dir, "--port", port, "--save", "")
	r.addr = "127.0.0.1:" + port
	r.await("Ready to accept connections")
	return r
}

func snapshots(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "snapshot", "*.hsnap"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

func flip(t *testing.T, file string, offset int64) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	require.NoError(t, err)
	b := []byte{0}
	_, err = f.ReadAt(b, offset)
	require.NoError(t, err)
	b[0] ^= 0xff
	_, err = f.WriteAt(b, offset)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestToolHelpAndUsage(t *testing.T) {
	for _, s := range subcommands {
		code, stdout, stderr := run(t, nil, s.name, "--help")
		require.Zero(t, code)
		require.Empty(t, stderr)
		require.Contains(t, stdout, "Usage: hapax-server "+s.name+" ")
		require.Contains(t, stdout, "Exit code: 0 good, 1 damaged or failed, 2 called in a wrong way.")

		for _, args := range [][]string{{}, {"a", "b"}, {"--no-such-flag", "a"}} {
			code, stdout, stderr = run(t, nil, append([]string{s.name}, args...)...)
			require.Equal(t, 2, code, "%s %v", s.name, args)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "hapax-server "+s.name+": ")
			require.Contains(t, stderr, "Usage: ")
		}
		args := []string{"hapax-server", s.name, "nowhere/at/all"}
		if s.name == "restore" {
			args = append(args, "--dir", filepath.Join(t.TempDir(), "new"))
		}
		code, _, stderr = run(t, nil, args...)
		require.Equal(t, 1, code)
		require.Contains(t, stderr, "nowhere/at/all: there is no such file or directory\n")
	}
	_, stdout, _ := run(t, nil, "--help")
	require.Contains(t, stdout, "hapax-server check|dump|stat|repair|restore --help")
	for _, args := range [][]string{
		{"dump", "--op", "set", "x"}, {"dump", "--lsn", "2-1", "x"}, {"dump", "--lsn", "0", "x"}, {"dump", "--lsn", "-", "x"},
		{"dump", "--db", "-1", "x"}, {"dump", "--from", "disk", "x"}, {"dump", "--key", `"\q"`, "x"}, {"restore", "x"},
	} {
		code, _, stderr := run(t, nil, args...)
		require.Equal(t, 2, code, args)
		require.Contains(t, stderr, "Usage: ", args)
	}
}

func TestToolsOnAGoodDirectory(t *testing.T) {
	dir := filled(t)
	code, stdout, stderr := run(t, nil, "check", dir)
	require.Zero(t, code, stdout+stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "IDEM: 1 begun, 1 completed, 1 live at the end, 0 removed or changed by other commands, 0 broken rules\n")
	require.True(t, strings.HasSuffix(stdout, "\ngood\n"), stdout)

	code, stdout, _ = run(t, nil, "check", "--json", dir)
	require.Zero(t, code)
	var report struct {
		Idem struct{ Completed, Broken int }
		Path string
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &report), stdout)
	require.Equal(t, 1, report.Idem.Completed)
	require.Equal(t, dir, report.Path)

	code, stdout, _ = run(t, nil, "dump", dir, "--key", `"bytes\x00"`)
	require.Zero(t, code)
	require.Regexp(t, `^4 \S+ put db=0 key="bytes\\x00" deadline=none value="\\xff" bytes=1\n$`, stdout)
	code, stdout, _ = run(t, nil, "dump", "--from", "log", "--match", "order:*", "--op", "53,put", "--json", dir)
	require.Zero(t, code)
	require.Equal(t, 1, strings.Count(stdout, "\n"), "the log begins behind the only snapshot: %s", stdout)
	require.Contains(t, stdout, `"result":"paid"`)
	code, stdout, _ = run(t, nil, "dump", "--from", "snapshot", dir)
	require.Zero(t, code)
	require.Equal(t, 2, strings.Count(stdout, "\n"))

	code, stdout, _ = run(t, nil, "stat", dir)
	require.Zero(t, code)
	require.Contains(t, stdout, "a start loads snapshot/snap-0000000000000001.hsnap (2 keys, as of record 2), then 2 records of the log, up to record 4\n")
	code, stdout, _ = run(t, nil, "stat", "--json", dir)
	require.Zero(t, code)
	require.True(t, json.Valid([]byte(stdout)))

	code, stdout, _ = run(t, nil, "repair", "--yes", dir)
	require.Zero(t, code)
	require.Equal(t, dir+": nothing to repair\n", stdout)
}

// Tools that only read work beside a server, on files that nobody may write.
func TestToolsBesideAServer(t *testing.T) {
	dir := t.TempDir()
	r := onDisk(t, dir)
	c := r.dial()
	require.Equal(t, "acquired", c.do("IDEM", "order:1", "BEGIN", "digest", "token", "600000"))
	for _, tool := range []string{"check", "stat", "dump"} {
		code, stdout, stderr := run(t, nil, tool, dir)
		require.Zero(t, code, stdout+stderr)
		if tool != "dump" {
			require.Contains(t, stdout, "note: a server holds this directory")
		}
	}
	code, _, stderr := run(t, nil, "repair", "--yes", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "in use by another server; stop it first")
	require.Equal(t, "pending", c.do("IDEM", "order:1", "BEGIN", "digest", "other", "600000"))
	require.Zero(t, r.stop())
}

// The tools' reading races with a server's writing, snapshots and removal of
// files; check still finds nothing wrong.
func TestCheckBesideABusyServer(t *testing.T) {
	dir, port := t.TempDir(), freePort(t)
	r := begin(t, nil, "", "--dir", dir, "--port", port, "--wal-segment-size", "1mb")
	r.addr = "127.0.0.1:" + port
	r.await("Ready to accept connections")
	stop, done := make(chan struct{}), make(chan struct{})
	writer, saver := r.dial(), r.dial()
	go func() {
		defer close(done)
		value := strings.Repeat("v", 4000)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			key := "order:" + strconv.Itoa(i%500)
			writer.do("IDEM", key, "BEGIN", "digest", "token"+strconv.Itoa(i), "20")
			writer.do("IDEM", key, "COMPLETE", "digest", "token"+strconv.Itoa(i), value)
			if i%100 == 99 {
				saver.do("SAVE")
			}
		}
	}()
	var failed []string
	for range 5 {
		for _, tool := range []string{"check", "stat"} {
			if code, stdout, stderr := run(t, nil, tool, dir); code != 0 {
				failed = append(failed, stdout+stderr)
			}
		}
	}
	close(stop)
	<-done
	require.Empty(t, failed)
	require.Zero(t, r.stop())
	code, stdout, _ := run(t, nil, "check", dir)
	require.Zero(t, code, stdout)
	require.NotContains(t, stdout, "a server holds")
}

// A backup is a copy of one file: check it, restore it, serve it.
func TestBackupAndRestore(t *testing.T) {
	dir := filled(t)
	backup := filepath.Join(t.TempDir(), "monday.hsnap")
	content, err := os.ReadFile(snapshots(t, dir)[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(backup, content, 0o400))
	for _, tool := range []string{"check", "stat", "dump"} {
		code, stdout, stderr := run(t, nil, tool, backup)
		require.Zero(t, code, stdout+stderr)
		require.NotEmpty(t, stdout)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	code, stdout, stderr := run(t, nil, "restore", backup, "--dir", fresh)
	require.Zero(t, code, stderr)
	require.Equal(t, fresh+": restored 2 keys as of record 2 from "+backup+"\n", stdout)
	r := onDisk(t, fresh)
	require.Equal(t, "pending", r.dial().do("IDEM", "order:1", "BEGIN", "digest", "other", "600000"))
	require.Zero(t, r.stop())

	code, _, stderr = run(t, nil, "restore", backup, "--dir", fresh)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the directory is not empty")
	require.NoError(t, os.Chmod(backup, 0o600))
	flip(t, backup, 100)
	for _, args := range [][]string{{"check", backup}, {"restore", backup, "--dir", filepath.Join(t.TempDir(), "other")}} {
		code, stdout, stderr = run(t, nil, args...)
		require.Equal(t, 1, code)
		require.Contains(t, stdout+stderr, backup+", offset ")
	}
}

// A damaged log: check names the place, a server refuses, repair without a yes
// changes nothing, and with one the server starts again.
func TestRepairOfALog(t *testing.T) {
	dir := filled(t)
	_, stdout, _ := run(t, nil, "dump", "--json", "--lsn", "3", dir)
	var item struct {
		File   string
		Offset int64
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &item))
	flip(t, filepath.Join(dir, item.File), item.Offset+70)

	code, stdout, _ := run(t, nil, "check", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "DAMAGED: "+item.File+", offset ")
	require.True(t, strings.HasSuffix(stdout, "\ndamaged: 1 problem\n"), stdout)
	for _, tool := range []string{"dump", "stat"} {
		code, stdout, stderr := run(t, nil, tool, dir)
		require.Equal(t, 1, code)
		require.Contains(t, stdout+stderr, "log damaged")
	}
	code, _, _ = run(t, nil, "--dir", dir, "--port", freePort(t))
	require.Equal(t, 1, code)

	code, stdout, _ = run(t, nil, "repair", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "would be kept: snapshot/snap-0000000000000001.hsnap (2 keys, as of record 2)\n")
	require.Contains(t, stdout, "nothing was changed; with --yes it will be\n")
	code, stdout, _ = run(t, nil, "dump", "--from", "salvage", "--lsn", "3-", dir)
	require.Zero(t, code)
	require.Regexp(t, `^4 .*\n$`, stdout)
	code, stdout, stderr := run(t, nil, "repair", "--yes", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "\nlost: records 3 to 4 at least, 1 of them can still be read\n")
	code, stdout, _ = run(t, nil, "check", dir)
	require.Zero(t, code, stdout)
	r := onDisk(t, dir)
	require.Equal(t, "pending", r.dial().do("IDEM", "order:1", "BEGIN", "digest", "other", "600000"))
	require.Zero(t, r.stop())
}

// However much of the log is gone with the snapshot: how many segments there
// are depends on whether the next was prepared when the server stopped.
func TestAnEmptyStoreNeedsMoreThanAYes(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, dir string){
		"a segment": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "wal", "wal-0000000000000001.seg")))
		},
		"all segments": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "wal")))
			require.NoError(t, os.Mkdir(filepath.Join(dir, "wal"), 0o700))
		},
		"all segments and the manifest": func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "wal")))
			require.NoError(t, os.Remove(filepath.Join(dir, "MANIFEST")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filled(t)
			flip(t, filepath.Join(dir, "snapshot", filepath.Base(snapshots(t, dir)[0])), 100)
			take(t, dir)
			code, stdout, stderr := run(t, nil, "repair", "--yes", dir)
			require.Equal(t, 1, code, stdout)
			require.Contains(t, stdout, "would be kept: an empty store\n")
			require.Contains(t, stderr, "or add --empty")
			code, _, stderr = run(t, nil, "repair", "--yes", "--empty", dir)
			require.Zero(t, code, stderr)
			r := onDisk(t, dir)
			require.Equal(t, "$-1", r.dial().do("GET", "greeting"))
			require.Zero(t, r.stop())
		})
	}
}

// A file named like a tool is still a configuration file, by its path.
func TestAConfigurationFileNamedLikeATool(t *testing.T) {
	file := filepath.Join(t.TempDir(), "check")
	require.NoError(t, os.WriteFile(file, []byte("prot 1\n"), 0o600))
	code, _, stderr := run(t, nil, file)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "unknown directive 'prot'")
}

// A signal ends a tool at once.
func TestASignalEndsATool(t *testing.T) {
	stuck := make(chan struct{})
	r := beginTool(t, &subcommand{name: "wait", setup: func(*toolCall) func() error {
		return func() error { <-stuck; return nil }
	}})
	r.signals <- os.Interrupt
	require.Equal(t, exitInterrupted, <-r.exit)
	close(stuck)
}

func beginTool(t *testing.T, s *subcommand) *running {
	t.Helper()
	r := &running{t: t, signals: make(chan os.Signal, 1), exit: make(chan int, 1), stdout: newOutput(), stderr: newOutput()}
	p := &process{args: []string{s.name, "x"}, dir: t.TempDir(), stdout: r.stdout, stderr: r.stderr, signals: r.signals}
	go func() { r.exit <- p.tool(s) }()
	return r
}
