package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const pagePath = "../docs/performance.md"

// TestPieces finds blocks, and refuses a page whose marks aren't in order.
func TestPieces(t *testing.T) {
	const page = "text\n<!-- bench:runs -->\nold\n<!-- /bench:runs -->\nmore\n<!-- bench:aims -->\n<!-- /bench:aims -->\n"
	parts, err := pieces(page)
	if err != nil || len(parts) != 5 || parts[1].block != "runs" || parts[3].block != "aims" {
		t.Fatalf("%+v, %v", parts, err)
	}
	if join(parts) != page {
		t.Errorf("put together again it is %q", join(parts))
	}
	for _, bad := range []string{
		"<!-- bench:runs -->\n",
		"<!-- /bench:runs -->\n",
		"<!-- bench:runs -->\n<!-- bench:aims -->\n<!-- /bench:aims -->\n<!-- /bench:runs -->\n",
		"<!-- bench:runs -->\n<!-- /bench:aims -->\n",
		"<!-- bench:runs -->\n<!-- /bench:runs -->\n<!-- bench:runs -->\n<!-- /bench:runs -->\n",
		"<!--bench:runs-->\n",
		" <!-- bench:runs -->\n",
	} {
		if parts, err := pieces(bad); err == nil {
			t.Errorf("%q is %+v", bad, parts)
		}
	}
}

// TestFill replaces what is between the marks and nothing else, and leaves what
// the runs have nothing for.
func TestFill(t *testing.T) {
	const page = "before\n<!-- bench:persistence-off -->\nold\n<!-- /bench:persistence-off -->\nafter\n" +
		"<!-- bench:disk -->\nkept\n<!-- /bench:disk -->\n"
	name := slug(groupDisk)
	r := judged() // GET P16 with persistence off
	got, err := fill(strings.ReplaceAll(page, "bench:disk", "bench:"+name), runs{r})
	if err != nil {
		t.Fatal(err)
	}
	const table = "what holds. In each cell: hapax / redis / valkey.\n\n" +
		"| load | cpu µs/req | rate /s | rss MB | cpu × Redis | rate × Redis |\n| --- | --- | --- | --- | --- | --- |\n" +
		"| GET P16 | 1.00 / 2.00 / – | 300 / 100 / 150 | 3.00 / – / – | 0.50 [0.50–0.50] | 3.00 [3.00–3.00] |\n"
	want := "before\n<!-- bench:persistence-off -->\n" + table + "<!-- /bench:persistence-off -->\nafter\n" +
		"<!-- bench:" + name + " -->\nkept\n<!-- /bench:" + name + " -->\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	again, err := fill(got, runs{r})
	if err != nil || again != got {
		t.Errorf("filled again it is another: %v\n%s", err, again)
	}
	if got, err := fill("<!-- bench:restart -->\n<!-- /bench:restart -->\n", runs{r}); err != nil || !strings.Contains(got, notMeasured) {
		t.Errorf("an empty block that no run fills: %q, %v", got, err)
	}
	if _, err := fill("<!-- bench:nothing -->\n<!-- /bench:nothing -->\n", runs{r}); err == nil {
		t.Error("a table that nobody makes")
	}
}

// TestAimsTable says what was met and what was missed.
func TestAimsTable(t *testing.T) {
	got := runs{judged()}.aimsTable()
	for _, want := range []string{
		"| Persistence off | GET P16 | cpu | ≤ 0.40 | 0.50 | 0.50–0.50 | **missed** |",
		"| Persistence off | GET P16 | rate | ≥ 3.00 | 3.00 | 3.00–3.00 | met |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestDescribe names commit, machine and versions, and which groups are whose.
func TestDescribe(t *testing.T) {
	r := judged()
	r.Options = map[string]string{optionLoad: "0.25"}
	got := runs{r, r}.describe()
	if n := strings.Count(got, "\n- "+r.Servers[0].Name+": "+r.Servers[0].Version); n != 1 {
		t.Errorf("%d times the same version:\n%s", n, got)
	}
	for _, want := range []string{r.Commit, r.Machine.Kernel, r.Servers[0].Version, r.StartedAt.Format("2006-01-02"), groupPlain, "load average 0.25"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestCurveTable has a line for each point, with its size.
func TestCurveTable(t *testing.T) {
	r := drawn()
	table := runs{r}.group(groupGrowthValues).pageTable()
	for _, want := range []string{"| GET | 16 B | ", "| SET | 256 KB | ", "| IDEM replay | 4 MB | "} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

var image = regexp.MustCompile(`\]\((img/[^)]+)\)`)

// TestPage: every block of the page is one that a run fills, and was filled;
// every group has one; its pictures are those that are drawn, and are there.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := pieces(string(text))
	if err != nil {
		t.Fatal(err)
	}
	all := blocks()
	for _, p := range parts {
		if p.block == "" {
			continue
		}
		if all[p.block] == nil {
			t.Errorf("no run fills %s", p.block)
		}
		if len(strings.TrimSpace(strings.Join(p.lines, ""))) == 0 {
			t.Errorf("%s is empty", p.block)
		}
		checkTable(t, p)
		delete(all, p.block)
	}
	for name := range all {
		t.Errorf("the page has no place for %s", name)
	}
	var shown []string
	for _, m := range image.FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, m[1])
		if _, err := os.Stat(filepath.Join(filepath.Dir(pagePath), m[1])); err != nil {
			t.Error(err)
		}
	}
	for _, p := range pictures {
		if !slices.Contains(shown, "img/"+p.name+".svg") {
			t.Errorf("the page doesn't show %s", p.name)
		}
	}
}

// checkTable: all lines of a table have as many cells.
func checkTable(t *testing.T, p piece) {
	t.Helper()
	cells := 0
	for _, line := range p.lines {
		n := strings.Count(line, "|")
		switch {
		case n == 0:
			cells = 0
		case cells == 0:
			cells = n
		case n != cells:
			t.Errorf("%s: %d cells instead of %d: %s", p.block, n-1, cells-1, line)
		}
	}
}
