package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"
	"testing"
	"testing/fstest"
)

// modulePath is the root module's; import paths below it are our own.
const modulePath = "github.com/hapaxkv/hapax"

// source is one parsed Go file.
type source struct {
	path  string // slash separated, from the root of the tree
	dir   string
	lines int
	file  *ast.File
	fset  *token.FileSet
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// internalPackage is the first path element below internal/, or "".
func (s *source) internalPackage() string {
	rest, ok := strings.CutPrefix(s.dir, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func (s *source) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line)
}

// tree is what the rules look at: every Go file parsed, every document as text.
type tree struct {
	sources []*source
	docs    map[string]string
	files   map[string]bool // every path, directories too
}

// finding is one broken rule, "place: what is wrong and what to do".
type finding string

func find(place, format string, args ...any) finding {
	return finding(place + ": " + fmt.Sprintf(format, args...))
}

// skippedDirs hold nothing that the rules speak about.
var skippedDirs = map[string]bool{".git": true, "bin": true, "data": true, "node_modules": true, "testdata": true}

func load(fsys fs.FS) (*tree, error) {
	t := &tree{docs: map[string]string{}, files: map[string]bool{}}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		t.files[p] = true
		if d.IsDir() {
			if skippedDirs[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		switch path.Ext(p) {
		case ".go":
			return t.addSource(fsys, p)
		case ".md":
			text, err := fs.ReadFile(fsys, p)
			t.docs[p] = string(text)
			return err
		}
		return nil
	})
	return t, err
}

func (t *tree) addSource(fsys fs.FS, p string) error {
	text, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.sources = append(t.sources, &source{
		path: p, dir: path.Dir(p), file: file, fset: fset,
		lines: strings.Count(string(text), "\n"),
	})
	return nil
}

// production yields the non-test files below internal/ and cmd/: the server.
func (t *tree) production() []*source {
	var out []*source
	for _, s := range t.sources {
		if !s.isTest() && (strings.HasPrefix(s.dir, "internal/") || strings.HasPrefix(s.dir, "cmd/")) {
			out = append(out, s)
		}
	}
	return out
}

// rule is one promise about the tree.
type rule struct {
	name  string
	check func(*tree) []finding
}

var rules = []rule{
	{"imports", checkImports},
	{"import table", checkImportTable},
	{"clock", checkClock},
	{"files", checkFiles},
	{"pure packages", checkPure},
	{"length", checkLength},
	{"package comments", checkPackageComments},
	{"unfinished", checkUnfinished},
	{"invariants cited", checkCitations},
	{"invariant table", checkInvariantTable},
	{"links", checkLinks},
}

// TestTree runs every rule over the repository.
func TestTree(t *testing.T) {
	tree, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.sources) < 20 {
		t.Fatalf("only %d Go files found: the rules are looking at the wrong place", len(tree.sources))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, f := range r.check(tree) {
				t.Error(f)
			}
		})
	}
}

// broken is a small tree that breaks one rule, and where the rule must say so.
type broken struct {
	name  string
	files map[string]string
	want  []string // a finding that starts with each, in any order, and no other
}

// provesBroken runs one rule over broken trees: a rule that finds nothing there
// could not find anything in the real tree either.
func provesBroken(t *testing.T, check func(*tree) []finding, samples []broken) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, text := range s.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			tree, err := load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			got := check(tree)
			sort.Slice(got, func(i, j int) bool { return got[i] < got[j] })
			sort.Strings(s.want)
			if len(got) != len(s.want) {
				t.Fatalf("found %d, want %d: %q", len(got), len(s.want), got)
			}
			for i, want := range s.want {
				if !strings.HasPrefix(string(got[i]), want) {
					t.Errorf("found %q, want it to start with %q", got[i], want)
				}
			}
		})
	}
}
