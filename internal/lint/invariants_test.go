package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// invariantCount is how many invariants ARCHITECTURE.md numbers, I1 and up.
const invariantCount = 12

const architecture = "ARCHITECTURE.md"

var (
	citation   = regexp.MustCompile(`\bI([1-9][0-9]?)\b`)
	definition = regexp.MustCompile(`(?m)^- \*\*I([1-9][0-9]?)\*\* `)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	testName   = regexp.MustCompile(`^([a-z0-9/]+)\.((?:Test|Fuzz)[A-Za-z0-9_]+)$`)
	goFileName = regexp.MustCompile(`^[a-z0-9_/]+\.go$`)
)

// citedIn collects the invariants that a source cites in its comments.
func citedIn(s *source) map[int]string {
	cited := map[int]string{}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			for _, m := range citation.FindAllStringSubmatch(c.Text, -1) {
				n, _ := strconv.Atoi(m[1])
				if cited[n] == "" {
					cited[n] = s.at(c.Pos())
				}
			}
		}
	}
	return cited
}

// checkCitations wants every invariant defined once in ARCHITECTURE.md and
// cited where production code keeps it, and no citation of one that isn't.
func checkCitations(t *tree) []finding {
	var out []finding
	defined := map[int]int{}
	for _, m := range definition.FindAllStringSubmatch(t.docs[architecture], -1) {
		n, _ := strconv.Atoi(m[1])
		defined[n]++
	}
	cited := map[int]bool{}
	for _, s := range t.production() {
		if s.internalPackage() == "lint" {
			continue
		}
		for n, place := range citedIn(s) {
			cited[n] = true
			if n > invariantCount {
				out = append(out, find(place, "I%d is not an invariant", n))
			}
		}
	}
	for n := 1; n <= invariantCount; n++ {
		if defined[n] != 1 {
			out = append(out, find(architecture, "defines I%d %d times", n, defined[n]))
		}
		if !cited[n] {
			out = append(out, find(fmt.Sprintf("I%d", n), "no production code says that it keeps this invariant"))
		}
	}
	return out
}

// checkInvariantTable reads the rows "| I5 | code | tests |" of ARCHITECTURE.md:
// each file named must exist and cite the invariant, each test named must exist.
func checkInvariantTable(t *tree) []finding {
	tests := testFunctions(t)
	sources := map[string]*source{}
	for _, s := range t.sources {
		sources[s.path] = s
	}
	var out []finding
	rows := map[int]bool{}
	for i, line := range strings.Split(t.docs[architecture], "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || citation.FindString(strings.TrimSpace(cells[1])) != strings.TrimSpace(cells[1]) {
			continue
		}
		n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(cells[1]), "I"))
		if err != nil {
			continue
		}
		rows[n] = true
		place := fmt.Sprintf("%s:%d", architecture, i+1)
		out = append(out, checkRow(place, n, cells[2], cells[3], sources, tests)...)
	}
	for n := 1; n <= invariantCount; n++ {
		if !rows[n] {
			out = append(out, find(architecture, "the table has no row for I%d", n))
		}
	}
	return out
}

func checkRow(place string, n int, code, proof string, sources map[string]*source, tests map[string]bool) []finding {
	var out []finding
	files, proofs := 0, 0
	for _, m := range codeSpan.FindAllStringSubmatch(code, -1) {
		if !goFileName.MatchString(m[1]) {
			continue
		}
		files++
		s := sources[m[1]]
		switch {
		case s == nil:
			out = append(out, find(place, "I%d: %s does not exist", n, m[1]))
		case citedIn(s)[n] == "":
			out = append(out, find(place, "I%d: %s does not cite it", n, m[1]))
		}
	}
	for _, m := range codeSpan.FindAllStringSubmatch(proof, -1) {
		if !testName.MatchString(m[1]) {
			continue
		}
		proofs++
		if !tests[m[1]] {
			out = append(out, find(place, "I%d: there is no test %s", n, m[1]))
		}
	}
	if files == 0 || proofs == 0 {
		out = append(out, find(place, "I%d: names %d files and %d tests, at least one of each", n, files, proofs))
	}
	return out
}

// testFunctions names every test as the table does: directory below internal/
// (or from the root, for the others), a dot, the function.
func testFunctions(t *tree) map[string]bool {
	names := map[string]bool{}
	for _, s := range t.sources {
		if !s.isTest() {
			continue
		}
		dir := strings.TrimPrefix(s.dir, "internal/")
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				names[dir+"."+f.Name.Name] = true
			}
		}
	}
	return names
}

func TestInvariantsBroken(t *testing.T) {
	// A tree where everything is in order, to break one thing at a time.
	whole := func() map[string]string {
		files := map[string]string{
			"internal/wal/a_test.go": "package wal\nimport \"testing\"\nfunc TestAll(t *testing.T) {}\n",
		}
		var code, doc, table strings.Builder
		code.WriteString("package wal\n")
		for n := 1; n <= invariantCount; n++ {
			fmt.Fprintf(&code, "\n// kept here (I%d)\nconst c%d = 0\n", n, n)
			fmt.Fprintf(&doc, "- **I%d** holds.\n", n)
			fmt.Fprintf(&table, "| I%d | `internal/wal/a.go` | `wal.TestAll` |\n", n)
		}
		files["internal/wal/a.go"] = code.String()
		files[architecture] = doc.String() + "\n| | code | test |\n|---|---|---|\n" + table.String()
		return files
	}
	with := func(name, old, new string) map[string]string {
		files := whole()
		changed := strings.Replace(files[name], old, new, 1)
		if changed == files[name] {
			panic("the sample is not broken: " + old)
		}
		files[name] = changed
		return files
	}
	provesBroken(t, checkCitations, []broken{
		{"in order", whole(), nil},
		{"not cited", with("internal/wal/a.go", "(I7)", "(seven)"), []string{"I7: no production code"}},
		{"not defined", with(architecture, "**I3**", "**three**"), []string{architecture + ": defines I3 0 times"}},
		{"out of range", with("internal/wal/a.go", "(I12)", "(I12, I13)"), []string{"internal/wal/a.go:36: I13 is not an invariant"}},
	})
	provesBroken(t, checkInvariantTable, []broken{
		{"in order", whole(), nil},
		{"row missing", with(architecture, "| I4 |", "| four |"), []string{architecture + ": the table has no row for I4"}},
		{"test renamed", with("internal/wal/a_test.go", "TestAll", "TestEverything"), manyTests()},
		{"file moved", with(architecture, "| I1 | `internal/wal/a.go`", "| I1 | `internal/wal/b.go`"), []string{architecture + ":16: I1: internal/wal/b.go does not exist"}},
		{"citation lost", with("internal/wal/a.go", "(I2)", "(two)"), []string{architecture + ":17: I2: internal/wal/a.go does not cite it"}},
		{"no proof", with(architecture, "| `wal.TestAll` |", "| by reading |"), []string{architecture + ":16: I1: names 1 files and 0 tests"}},
	})
}

func manyTests() []string {
	var want []string
	for n := 1; n <= invariantCount; n++ {
		want = append(want, fmt.Sprintf("%s:%d: I%d: there is no test wal.TestAll", architecture, 15+n, n))
	}
	sort.Strings(want)
	return want
}
