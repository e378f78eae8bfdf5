package lint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// maxFileLines is where a file certainly has more than one subject. Well under
// 500 is what we aim for.
const maxFileLines = 700

func checkLength(t *tree) []finding {
	var out []finding
	for _, s := range t.sources {
		if s.lines > maxFileLines {
			out = append(out, find(s.path, "%d lines, at most %d: what is it really made of?", s.lines, maxFileLines))
		}
	}
	return out
}

// checkPackageComments wants one sentence or more above the package clause of
// every package, in the usual form.
func checkPackageComments(t *tree) []finding {
	said := map[string]bool{} // directory → has a package comment
	names := map[string]string{}
	for _, s := range t.sources {
		if s.isTest() {
			continue
		}
		names[s.dir] = s.file.Name.Name
		if s.file.Doc == nil {
			continue
		}
		text := s.file.Doc.Text()
		opening := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			opening = "Command "
		}
		if strings.HasPrefix(text, opening) {
			said[s.dir] = true
		}
	}
	var out []finding
	for dir, name := range names {
		if !said[dir] {
			out = append(out, find(dir, "package %s has no comment that says what it promises", name))
		}
	}
	return out
}

// unfinished matches marks of work left for later. They are put together here
// so that this file doesn't match itself.
var unfinished = regexp.MustCompile(`\b(` + strings.Join([]string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}, "|") + `)\b`)

func checkUnfinished(t *tree) []finding {
	var out []finding
	for _, s := range t.sources {
		for _, group := range s.file.Comments {
			for _, c := range group.List {
				if mark := unfinished.FindString(c.Text); mark != "" {
					out = append(out, find(s.at(c.Pos()), "%s: do it, or file it where it is seen", mark))
				}
			}
		}
	}
	return out
}

var markdownLink = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)

// checkLinks follows the relative links of every document.
func checkLinks(t *tree) []finding {
	var out []finding
	for doc, text := range t.docs {
		for i, line := range strings.Split(text, "\n") {
			for _, m := range markdownLink.FindAllStringSubmatch(line, -1) {
				target := m[1]
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if to := path.Join(path.Dir(doc), target); !t.files[to] {
					out = append(out, find(fmt.Sprintf("%s:%d", doc, i+1), "links to %s, which is not there", to))
				}
			}
		}
	}
	return out
}

func TestShapeBroken(t *testing.T) {
	provesBroken(t, checkLength, []broken{
		{"one line too many", map[string]string{
			"internal/wal/long.go": "package wal\n" + strings.Repeat("\n", maxFileLines),
			"internal/wal/ok.go":   "package wal\n" + strings.Repeat("\n", maxFileLines-1),
		}, []string{"internal/wal/long.go: 701 lines"}},
	})
	provesBroken(t, checkPackageComments, []broken{
		{"no comment, or another's", map[string]string{
			"internal/wal/a.go":      "package wal\n",
			"internal/wal/a_test.go": "// Package wal is only described in a test.\npackage wal\n",
			"internal/op/a.go":       "// Package opcodes is something else.\npackage op\n",
			"internal/vfs/a.go":      "package vfs\n",
			"internal/vfs/doc.go":    "// Package vfs is files.\npackage vfs\n",
			"cmd/server/main.go":     "// Command server serves.\npackage main\n",
		}, []string{"internal/op: ", "internal/wal: "}},
	})
	mark := "TO" + "DO"
	provesBroken(t, checkUnfinished, []broken{
		{"left for later", map[string]string{
			"internal/wal/a.go": "package wal\n\n// " + mark + ": sync\nconst todo = 1\n",
		}, []string{"internal/wal/a.go:3: " + mark}},
	})
	provesBroken(t, checkLinks, []broken{
		{"dead link", map[string]string{
			"docs/a.md": "see [b](b.md#top), [c](../c.md) and\n[d](d.md), [web](https://example.org/x)\n",
			"docs/b.md": "", "c.md": "",
		}, []string{"docs/a.md:2: links to docs/d.md"}},
	})
}
