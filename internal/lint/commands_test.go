package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hapaxkv/hapax/internal/command"
	"github.com/hapaxkv/hapax/internal/script"
)

const (
	commandPages   = "../../docs/commands"
	commandScripts = "../script/testdata"
)

// withoutExample are the rows that no example runs, and why.
var withoutExample = map[string]string{
	"shutdown":     "it ends the server that runs the examples",
	"command":      "its reply is every description there is",
	"client|help":  "HELP is the list of what the page describes",
	"command|help": "likewise",
	"config|help":  "likewise",
	"memory|help":  "likewise",
	"object|help":  "likewise",
}

// withoutScript are the rows that no script runs, and why. It may stay empty:
// SHUTDOWN is run with modifiers that it refuses.
var withoutScript = map[string]string{}

// TestEveryCommandIsShown wants each row of the table, subcommands too, run by
// an example of its page and by a script of the corpus. Both are run by tests
// elsewhere. A request that the table itself refuses runs nothing.
func TestEveryCommandIsShown(t *testing.T) {
	for _, f := range unshown(commandRows(), examples(t), withoutExample) {
		t.Error(f + "no example in docs/commands/*.md runs it")
	}
	for _, f := range unshown(commandRows(), scripts(t), withoutScript) {
		t.Error(f + "no script in internal/script/testdata runs it")
	}
}

// commandRows names every row that runs something.
func commandRows() []string {
	var out []string
	var walk func(c *command.Command)
	walk = func(c *command.Command) {
		if c.Run != nil {
			out = append(out, c.FullName())
		}
		for i := range c.Sub {
			walk(&c.Sub[i])
		}
	}
	for _, c := range command.All() {
		walk(c)
	}
	return out
}

// unshown are the rows that no text runs, and the exceptions that are none.
func unshown(rows []string, texts []*script.Script, exceptions map[string]string) []finding {
	ran := map[string]bool{}
	for _, s := range texts {
		for _, step := range s.Steps {
			for _, c := range step.Commands {
				if c.Args == nil {
					continue // raw bytes
				}
				if row, err := command.Resolve(c.Args); err == nil {
					ran[row.FullName()] = true
				}
			}
		}
	}
	var out []finding
	for _, row := range rows {
		if why := exceptions[row]; !ran[row] && why == "" {
			out = append(out, find(row, ""))
		}
	}
	for row := range exceptions {
		if ran[row] || !slices.Contains(rows, row) {
			out = append(out, find(row, "is an exception that isn't needed; "))
		}
	}
	slices.Sort(out)
	return out
}

var exampleBlock = regexp.MustCompile("(?s)```hapax\n(.*?)```")

// examples are the blocks of the command pages that the tests run.
func examples(t *testing.T) []*script.Script {
	return parseAll(t, commandPages, ".md", func(text string) []string {
		var blocks []string
		for _, m := range exampleBlock.FindAllStringSubmatch(text, -1) {
			blocks = append(blocks, m[1])
		}
		return blocks
	})
}

func scripts(t *testing.T) []*script.Script {
	return parseAll(t, commandScripts, ".txt", func(text string) []string { return []string{text} })
}

// parseAll parses what blocks finds in the files below dir.
func parseAll(t *testing.T, dir, ext string, blocks func(text string) []string) []*script.Script {
	t.Helper()
	var out []*script.Script
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ext {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, b := range blocks(string(text)) {
			s, err := script.Parse(path, b)
			if err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCommandsUnshown(t *testing.T) {
	text, err := script.Parse("a", "> GET a\nnil\n> SET a\n-ERR wrong number of arguments for 'set' command\n> CLIENT ID\n1..9\n")
	if err != nil {
		t.Fatal(err)
	}
	got := unshown([]string{"get", "set", "client|id", "client|list", "shutdown"}, []*script.Script{text},
		map[string]string{"shutdown": "ends the server", "get": "no reason", "gone": "no such row"})
	want := []finding{
		"client|list: ", "get: is an exception that isn't needed; ", "gone: is an exception that isn't needed; ", "set: ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
