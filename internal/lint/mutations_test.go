package lint

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// mutation breaks one promise in one place. The test that it names has to fail
// then.
type mutation struct {
	invariant int
	what      string
	file      string
	old, new  string
	test      string // package.Test, as the documents write it
	hangs     bool   // the test fails by not coming to its end
}

const testingDoc = "docs/testing.md"

// mutationTable is the list as docs/testing.md shows it.
func mutationTable(list []mutation) string {
	var b strings.Builder
	b.WriteString("| | deliberate break | in | the test that fails |\n|---|---|---|---|\n")
	for _, m := range list {
		fmt.Fprintf(&b, "| I%d | %s | `%s` | `%s` |\n", m.invariant, m.what, m.file, m.test)
	}
	return b.String()
}

// checkMutations keeps a list in step with the code and the documents: each
// place is there exactly once, each test exists, testing.md shows the list as
// it is, and each invariant is broken at least once in a way that a test in its
// row of ARCHITECTURE.md sees.
func checkMutations(t *tree, text func(file string) string, list []mutation) []finding {
	var out []finding
	tests := testFunctions(t)
	proved := map[int]bool{}
	for _, m := range list {
		place := fmt.Sprintf("I%d, %s", m.invariant, m.what)
		if n := strings.Count(text(m.file), m.old); n != 1 {
			out = append(out, find(place, "the code to break is %d times in %s", n, m.file))
		}
		if m.old == m.new {
			out = append(out, find(place, "nothing is broken"))
		}
		if !tests[m.test] {
			out = append(out, find(place, "there is no test %s", m.test))
		}
		if strings.Contains(tableRow(t.docs[architecture], m.invariant), "`"+m.test+"`") {
			proved[m.invariant] = true
		}
	}
	for n := 1; n <= invariantCount; n++ {
		if !proved[n] {
			out = append(out, find(architecture, "I%d: no break shows that a test in its row sees one", n))
		}
	}
	if table := mutationTable(list); !strings.Contains(t.docs[testingDoc], table) {
		out = append(out, find(testingDoc, "the table of deliberate breaks is not the list of mutations; it should be\n%s", table))
	}
	return out
}

func TestMutationsApply(t *testing.T) {
	root := os.DirFS("../..")
	tree, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	text := func(file string) string {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for _, f := range checkMutations(tree, text, mutations) {
		t.Error(f)
	}
}

// TestMutationsBroken: the check above finds what it is for.
func TestMutationsBroken(t *testing.T) {
	list := make([]mutation, 0, invariantCount)
	var table strings.Builder
	for n := 1; n <= invariantCount; n++ {
		list = append(list, mutation{n, "broken", "internal/wal/a.go", fmt.Sprintf("const c%d = 0", n), "", "wal.TestAll", false})
		fmt.Fprintf(&table, "| I%d | `internal/wal/a.go` | `wal.TestAll` |\n", n)
	}
	changed := func(n int, change func(m *mutation)) []mutation {
		other := append([]mutation(nil), list...)
		change(&other[n-1])
		return other
	}
	var code strings.Builder
	for _, m := range list {
		code.WriteString(m.old + "\n")
	}
	for _, s := range []struct {
		name string
		list []mutation
		doc  string
		want string
	}{
		{"in order", list, mutationTable(list), ""},
		{"moved code", changed(2, func(m *mutation) { m.old = "const c = 0" }), mutationTable(list), "I2, broken: the code to break is 0 times"},
		{"code twice", changed(2, func(m *mutation) { m.old = "const" }), mutationTable(list), "I2, broken: the code to break is 12 times"},
		{"no break", changed(2, func(m *mutation) { m.new = m.old }), mutationTable(list), "I2, broken: nothing is broken"},
		{"no test", changed(2, func(m *mutation) { m.test = "wal.TestNone" }), "", "I2, broken: there is no test wal.TestNone"},
		{"not shown", list, "", testingDoc + ": the table of deliberate breaks"},
		{"not broken", list[1:], mutationTable(list[1:]), architecture + ": I1: no break shows"},
	} {
		tree, err := load(fstest.MapFS{
			"internal/wal/a_test.go": {Data: []byte("package wal\nimport \"testing\"\nfunc TestAll(t *testing.T) {}\n")},
			architecture:             {Data: []byte(table.String())},
			testingDoc:               {Data: []byte(s.doc)},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := checkMutations(tree, func(string) string { return code.String() }, s.list)
		if s.want == "" && len(got) > 0 || s.want != "" && (len(got) == 0 || !strings.HasPrefix(string(got[0]), s.want)) {
			t.Errorf("%s: found %q, want %q", s.name, got, s.want)
		}
	}
}

func tableRow(doc string, invariant int) string {
	for _, line := range strings.Split(doc, "\n") {
		if strings.HasPrefix(line, fmt.Sprintf("| I%d |", invariant)) {
			return line
		}
	}
	return ""
}

// TestEveryBreakIsSeen breaks each place in a copy of the tree and runs the test
// that has to fail. It takes minutes: `make prove`; HAPAX_PROVE=text takes only
// the breaks whose description or file contains the text.
func TestEveryBreakIsSeen(t *testing.T) {
	only := os.Getenv("HAPAX_PROVE")
	if only == "" {
		t.Skip("HAPAX_PROVE=1 (make prove) breaks the code and runs the tests")
	}
	for _, m := range mutations {
		if only != "1" && !strings.Contains(m.what+" "+m.file, only) {
			continue
		}
		t.Run(fmt.Sprintf("I%d %s", m.invariant, m.what), func(t *testing.T) {
			dir := copyTree(t)
			path := filepath.Join(dir, filepath.FromSlash(m.file))
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			mutated := strings.Replace(string(text), m.old, m.new, 1)
			if strings.Contains(m.new, "time.Now") {
				clause := regexp.MustCompile(`(?m)^package .*$`)
				mutated = clause.ReplaceAllString(mutated, "$0\n\nimport \"time\"")
			}
			if err := os.WriteFile(path, []byte(mutated), 0o600); err != nil {
				t.Fatal(err)
			}
			pkg, test, _ := strings.Cut(m.test, ".")
			timeout := "-timeout=5m"
			if m.hangs {
				timeout = "-timeout=30s"
			}
			out, err := goIn(dir, "test", "-trimpath", "-vet=off", timeout, "-run", "^"+test+"$", "./internal/"+pkg)
			switch {
			case err == nil:
				t.Errorf("%s passes:\n%s", m.test, out)
			case strings.Contains(out, "no tests to run"), strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
				t.Errorf("%s didn't run:\n%s", m.test, out)
			case strings.Contains(out, "panic: test timed out") != m.hangs:
				t.Errorf("%s hangs or doesn't, against the list:\n%s", m.test, out)
			default:
				t.Log(firstComplaint(out))
			}
		})
	}
}

// firstComplaint is the line with which a test says what is wrong.
func firstComplaint(out string) string {
	place := regexp.MustCompile(`(?m)^ +([a-z0-9_]+\.go:[0-9]+: .*)|^(panic: .*)$`)
	return strings.TrimSpace(place.FindString(out))
}

// copyTree copies what the tests of internal/ need.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"cmd", "internal", "docs"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS("../../"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum", architecture, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goIn(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HAPAX_PROVE=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
