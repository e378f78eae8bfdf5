package e2e

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// filled is a data directory with two snapshots and a log behind them, stopped
// in order. "a" is in both snapshots and no longer in the log, "b" in the newer
// one, "c" in the log.
func filled(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s := start(t, dir, "--wal-segment-size", "1mb")
	c := dial(t, s)
	c.want("+OK", "SET a 1")
	for range 3 {
		c.want("+OK", "SET large "+strings.Repeat("x", 1<<20))
	}
	c.want(`["acquired"]`, "IDEM op BEGIN digest owner 600000")
	c.want("+OK", "SAVE")
	c.want("+OK", "SET b 2")
	c.want("1", "IDEM op COMPLETE digest owner result")
	c.want("+OK", "SAVE")
	c.want("+OK", "SET c 3")
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	return dir
}

// segmentHeader is the length of a segment's header, which holds the salt that
// each of its frames begins with: docs/format/wal.md.
const segmentHeader = 64

func salt(segment []byte) []byte { return bytes.Clone(segment[32:40]) }

// filesIn are the paths of one kind of files, oldest first.
func filesIn(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, dir, err)
	}
	return found
}

// TestLostFilesAreDamage: what an operator or a disk took away is not an empty
// store. The server refuses to start, names the file, and changes nothing.
func TestLostFilesAreDamage(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		says  []string
	}{
		{"the log is gone", func(t *testing.T, dir string) {
			for _, name := range filesIn(t, dir, "wal/*.seg") {
				remove(t, name)
			}
		}, []string{"wal-", "put the missing file back"}},
		{"the log's directory is gone", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "wal")); err != nil {
				t.Fatal(err)
			}
		}, []string{"wal-", "put the missing file back"}},
		{"the log is empty", func(t *testing.T, dir string) {
			for _, name := range filesIn(t, dir, "wal/*.seg") {
				text := read(t, name)
				clear(text[segmentHeader:])
				write(t, name, text)
			}
		}, []string{"wal-", "no frame in the whole log"}},
		{"the end of the log is empty", func(t *testing.T, dir string) {
			// The frame of the last SET and the seal behind it: what is left
			// looks like a log in which that SET never was.
			segments := filesIn(t, dir, "wal/*.seg")
			for i := len(segments) - 1; ; i-- {
				text := read(t, segments[i])
				if n := len(bytes.TrimRight(text, "\x00")); n > 200 {
					for range 2 {
						clear(text[bytes.LastIndex(text, salt(text)):])
					}
					write(t, segments[i], text)
					return
				}
			}
		}, []string{"wal-", "synced"}},
		{"a segment is gone", func(t *testing.T, dir string) {
			remove(t, filesIn(t, dir, "wal/*.seg")[0])
		}, []string{"wal-", "put the missing file back"}},
		{"both snapshots are gone", func(t *testing.T, dir string) {
			for _, name := range filesIn(t, dir, "snapshot/*.hsnap") {
				remove(t, name)
			}
		}, []string{"snap-", "restore"}},
		{"everything but the manifest is gone", func(t *testing.T, dir string) {
			for _, name := range append(filesIn(t, dir, "snapshot/*.hsnap"), filesIn(t, dir, "wal/*.seg")...) {
				remove(t, name)
			}
		}, []string{"snap-", "restore"}},
		{"the manifest is gone", func(t *testing.T, dir string) {
			remove(t, filepath.Join(dir, "MANIFEST"))
		}, []string{"MANIFEST"}},
		{"the manifest is damaged", func(t *testing.T, dir string) {
			name := filepath.Join(dir, "MANIFEST")
			text := read(t, name)
			text[len(text)/2]++
			write(t, name, text)
		}, []string{"MANIFEST"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := filled(t)
			test.spoil(t, dir)
			before := listing(t, dir)
			s := launch(t, dir)
			if code := s.wait(); code == 0 {
				t.Error("the server ended with 0")
			}
			for _, want := range test.says {
				if !strings.Contains(s.log.String(), want) {
					t.Errorf("the server doesn't say %q:\n%s", want, tail(s.log.String(), 20))
				}
			}
			if after := listing(t, dir); after != before {
				t.Errorf("a refused start changed files from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// TestDamagedSnapshot: with the older snapshot and the log since, nothing is
// lost, and the server says what it did.
func TestDamagedSnapshot(t *testing.T) {
	dir := filled(t)
	snapshots := filesIn(t, dir, "snapshot/*.hsnap")
	if len(snapshots) != 2 {
		t.Fatalf("%d snapshots are kept, want 2", len(snapshots))
	}
	text := read(t, snapshots[1])
	text[len(text)/2]++
	write(t, snapshots[1], text)
	s := start(t, dir)
	for _, want := range []string{filepath.Base(snapshots[1]), filepath.Base(snapshots[0])} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the server doesn't name %s:\n%s", want, tail(s.log.String(), 20))
		}
	}
	hasAll(t, s)
	if bad := filesIn(t, dir, "snapshot/*.bad"); !bytes.Equal(read(t, bad[0]), text) {
		t.Error("the damaged snapshot was not kept")
	}
}

// TestRestore: a backup is a copy of one file, and a store as of that moment.
func TestRestore(t *testing.T) {
	dir := filled(t)
	snapshots := filesIn(t, dir, "snapshot/*.hsnap")
	backup := filepath.Join(t.TempDir(), "backup")
	write(t, backup, read(t, snapshots[1]))
	restored := filepath.Join(t.TempDir(), "restored")
	if code, said := hapax(t, nil, "check", backup); code != 0 {
		t.Errorf("check of the backup: %d\n%s", code, said)
	}
	if code, said := hapax(t, nil, "restore", backup, "--dir", restored); code != 0 {
		t.Fatalf("restore: %d\n%s", code, said)
	}
	s := start(t, restored)
	c := dial(t, s)
	c.want(`"1"`, "GET a")
	c.want(`"2"`, "GET b")
	c.want("nil", "GET c")
	c.want(`["completed" "result"]`, "IDEM op BEGIN digest another 600000")
	c.want("+OK", "SET c 4")
	s.kill()
	dial(t, start(t, restored)).want(`"4"`, "GET c")

	// A directory that holds something is no place for it.
	if code, said := hapax(t, nil, "restore", backup, "--dir", dir); code == 0 {
		t.Errorf("restored over a store: %s", said)
	}
	hasAll(t, start(t, dir))
}

func hasAll(t *testing.T, s *server) {
	t.Helper()
	c := dial(t, s)
	c.want(`"1"`, "GET a")
	c.want(`"2"`, "GET b")
	c.want(`"3"`, "GET c")
	c.want(`["completed" "result"]`, "IDEM op BEGIN digest another 600000")
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// listing is every file below dir with a checksum of its content.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			fmt.Fprintf(&b, "%s %08x\n", name, crc32.ChecksumIEEE(read(t, name)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
