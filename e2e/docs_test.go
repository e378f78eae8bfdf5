package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hapaxkv/hapax/internal/script"
)

// TestDocs runs the examples of the documents: every fenced block tagged
// "hapax", written as the scripts of internal/script are, has to come out as it
// is printed, in both protocols. Each block starts on an empty server.
func TestDocs(t *testing.T) {
	s := start(t, t.TempDir())
	blocks := 0
	for _, doc := range documents(t) {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel("..", doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range fencedBlocks(string(text), "hapax") {
			blocks++
			t.Run(fmt.Sprintf("%s:%d", filepath.ToSlash(name), b.line), func(t *testing.T) {
				parsed, err := script.Parse(name, strings.Repeat("\n", b.line)+b.text)
				if err != nil {
					t.Fatal(err)
				}
				for _, protocol := range []int{2, 3} {
					if parsed.Resp == 0 || parsed.Resp == protocol {
						runBlock(t, s, parsed, protocol)
					}
				}
			})
		}
	}
	if blocks < 3 {
		t.Errorf("only %d examples found", blocks)
	}
}

func documents(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("../docs", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			docs = append(docs, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// block is the text of a fenced block, and the line where its fence opens.
type block struct {
	line int
	text string
}

func fencedBlocks(text, tag string) []block {
	var out []block
	var b *block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case b == nil && strings.TrimSpace(line) == "```"+tag:
			b = &block{line: i + 1}
		case b != nil && strings.TrimSpace(line) == "```":
			out = append(out, *b)
			b = nil
		case b != nil:
			b.text += line + "\n"
		}
	}
	return out
}

// runBlock runs a block as a reader would, from an empty server on.
func runBlock(t *testing.T, s *server, parsed *script.Script, protocol int) {
	t.Helper()
	dial(t, s).want("+OK", "FLUSHALL")
	runner := script.Runner{Target: running{s}, Proto: protocol}
	if err := runner.Run(parsed); err != nil {
		t.Errorf("in RESP%d: %v", protocol, err)
	}
}

// running is a server for the examples. Its clock is the machine's.
type running struct{ s *server }

func (r running) Dial() (script.Conn, error) {
	c, err := net.Dial("tcp", r.s.addr)
	if err != nil {
		return nil, err
	}
	return script.NewNetConn(c), nil
}

func (r running) Advance(milli int64) error {
	time.Sleep(time.Duration(milli) * time.Millisecond)
	return nil
}

func (r running) Reopen() error { return errors.New("an example doesn't restart the server") }
