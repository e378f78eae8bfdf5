package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// Tables of the page are between marks, and made from a run:
//
//	<!-- bench:NAME -->
//	…
//	<!-- /bench:NAME -->
var (
	beginMark = regexp.MustCompile(`^<!-- bench:([a-z0-9-]+) -->$`)
	endMark   = regexp.MustCompile(`^<!-- /bench:([a-z0-9-]+) -->$`)
)

// piece is a part of the page: text that stays, or a block.
type piece struct {
	block string // its name, "" for text
	lines []string
}

// pieces takes a page apart. Every block ends, none is in another, and none is
// there twice.
func pieces(page string) ([]piece, error) {
	all := []piece{{}}
	seen := map[string]bool{}
	for i, line := range strings.Split(page, "\n") {
		last := &all[len(all)-1]
		begin, end := beginMark.FindStringSubmatch(line), endMark.FindStringSubmatch(line)
		switch {
		case begin != nil && (last.block != "" || seen[begin[1]]):
			return nil, fmt.Errorf("line %d: block %s inside another or for the second time", i+1, begin[1])
		case begin != nil:
			seen[begin[1]] = true
			all = append(all, piece{block: begin[1]})
		case end != nil && end[1] != last.block:
			return nil, fmt.Errorf("line %d: the end of %s, but it isn't open", i+1, end[1])
		case end != nil:
			all = append(all, piece{})
		case strings.Contains(line, "bench:") && strings.HasPrefix(strings.TrimSpace(line), "<!--"):
			return nil, fmt.Errorf("line %d is nearly a mark: %s", i+1, line)
		default:
			last.lines = append(last.lines, line)
		}
	}
	if last := all[len(all)-1]; last.block != "" {
		return nil, fmt.Errorf("block %s has no end", last.block)
	}
	return all, nil
}

// join is the reverse of pieces.
func join(all []piece) string {
	var lines []string
	for _, p := range all {
		if p.block == "" {
			lines = append(lines, p.lines...)
			continue
		}
		lines = append(lines, fmt.Sprintf("<!-- bench:%s -->", p.block))
		lines = append(lines, p.lines...)
		lines = append(lines, fmt.Sprintf("<!-- /bench:%s -->", p.block))
	}
	return strings.Join(lines, "\n")
}

// notMeasured is in a block that no run has filled yet.
const notMeasured = "Not in these runs."

// fill puts the runs' tables into a page. A block that the runs have nothing
// for stays as it is.
func fill(page string, all runs) (string, error) {
	parts, err := pieces(page)
	if err != nil {
		return "", err
	}
	for i, p := range parts {
		if p.block == "" {
			continue
		}
		table := blocks()[p.block]
		if table == nil {
			return "", fmt.Errorf("no table is called %s", p.block)
		}
		switch text := table(all); {
		case text != "":
			parts[i].lines = strings.Split(strings.Trim(text, "\n"), "\n")
		case strings.TrimSpace(strings.Join(p.lines, "")) == "":
			parts[i].lines = []string{notMeasured}
		}
	}
	return join(parts), nil
}

func fillPage(path string, all runs) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	filled, err := fill(string(page), all)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(filled), 0o644)
}

// blocks are the page's tables by their names: the runs, the aims, and one for
// each group.
func blocks() map[string]func(runs) string {
	all := map[string]func(runs) string{"runs": runs.describe, "aims": runs.aimsTable}
	for _, g := range groups {
		all[slug(g.name)] = func(all runs) string {
			if found := all.group(g.name); found != nil {
				return found.pageTable()
			}
			return ""
		}
	}
	return all
}

var noSlug = regexp.MustCompile(`[^a-z0-9]+`)

func slug(name string) string {
	return strings.Trim(noSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}
