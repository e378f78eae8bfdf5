package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// describe says what the figures were measured on, and by which runs.
func (all runs) describe() string {
	var b strings.Builder
	m := all[len(all)-1].Machine
	fmt.Fprintf(&b, "Machine: %s, %d CPUs (%s), %.0f GB, Linux %s. The client ran on the same machine.\n",
		m.OS, m.CPUs, m.CPU, float64(m.MemoryBytes)/(1<<30), m.Kernel)
	var said []ServerInfo
	for _, r := range all {
		names := all.of(r)
		if len(names) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nCommit `%s`, %s, %s repetitions of %s s%s: %s.\n", r.Commit, r.StartedAt.Format(time.RFC3339),
			r.Options["repetitions"], r.Options["seconds"], r.busy(), strings.Join(names, ", "))
		if !slices.Equal(r.Servers, said) { // usually the same in all runs
			for _, s := range r.Servers {
				fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Version)
			}
			said = r.Servers
		}
	}
	return b.String()
}

// busy says what else the machine did.
func (r *Report) busy() string {
	if before := r.Options[optionLoad]; before != "" {
		return ", load average " + before + " before it"
	}
	return ""
}

// aimsTable is what the design asks for, met or missed.
func (all runs) aimsTable() string {
	var b strings.Builder
	line(&b, []string{"group", "load", "figure", "aim, × Redis", "measured", "range", ""})
	line(&b, slices.Repeat([]string{"---"}, 7))
	none := true
	for _, g := range groups {
		found := all.group(g.name)
		if found == nil {
			continue
		}
		for _, row := range found.Rows {
			for _, a := range row.Aims {
				if a.Ratio == 0 {
					continue
				}
				none = false
				bound, verdict := fmt.Sprintf("≥ %.2f", a.AtLeast), "missed"
				if a.AtMost > 0 {
					bound = fmt.Sprintf("≤ %.2f", a.AtMost)
				}
				if a.Met {
					verdict = "met"
				} else {
					verdict = "**" + verdict + "**"
				}
				_, spread := found.ratioOf(row, a.Metric, a.Against)
				line(&b, []string{found.Name, row.Name, a.Metric, bound, fmt.Sprintf("%.2f", a.Ratio), spread, verdict})
			}
		}
	}
	if none {
		return ""
	}
	return b.String()
}

// ratioOf is the median over another server's, and the range of the ratios of
// repetitions that ran one after the other.
func (g *Group) ratioOf(row Row, metric, against string) (median, spread string) {
	i := slices.IndexFunc(g.Rows, func(r Row) bool { return r.Server == against && r.Name == row.Name && r.X == row.X })
	if i < 0 {
		return "–", ""
	}
	s := ratioSamples(row.Metrics[metric], g.Rows[i].Metrics[metric])
	if len(s.All) == 0 {
		return "–", ""
	}
	return fmt.Sprintf("%.2f", s.Median), fmt.Sprintf("%.2f–%.2f", s.Min, s.Max)
}

// pageColumns are the metrics that the page shows: the others are in the file
// of -json, and on the terminal.
var pageColumns = []string{
	metricCPU, metricRate, metricP50, metricP99, metricP999, metricSmallRate, metricReaderRate, metricReaderP50, metricReaderP99,
	metricKept, metricQuietP99, metricSeconds, metricBytes, metricSyncs, metricRSS, metricDisk, metricDiskLargest, metricDiskEnd,
	metricWritten, metricSnapshots,
}

// pageTable has a line for each load, and in each cell the servers' medians in
// the order of the heading.
func (g *Group) pageTable() string {
	servers := g.servers()
	var used []string
	for _, m := range pageColumns {
		if hasMetric(g.Rows, m) {
			used = append(used, m)
		}
	}
	ratios := g.pageRatios(servers)
	curves := slices.ContainsFunc(g.Rows, func(r Row) bool { return r.X != g.Rows[0].X })
	head := []string{"load"}
	if curves {
		head = append(head, "of")
	}
	for _, m := range used {
		head = append(head, heading(m))
	}
	for _, m := range ratios {
		head = append(head, m+" × Redis")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. In each cell: %s.\n\n", strings.TrimSuffix(g.Note, "."), strings.Join(servers, " / "))
	line(&b, head)
	line(&b, slices.Repeat([]string{"---"}, len(head)))
	for _, load := range g.loads() {
		cells := []string{load[0].Name}
		if curves {
			cells = append(cells, g.pointName(load[0].X))
		}
		for _, m := range used {
			cells = append(cells, serverCells(load, servers, m))
		}
		for _, m := range ratios {
			median, spread := g.ratioOf(load[0], m, reference)
			cells = append(cells, strings.TrimSpace(median+" ["+spread+"]"))
		}
		line(&b, cells)
	}
	return b.String()
}

// pageRatios are the metrics whose ratio deserves a column: of a group that has
// Hapax once only.
func (g *Group) pageRatios(servers []string) []string {
	var ratios []string
	if !slices.Contains(servers, hapax) || !slices.Contains(servers, reference) {
		return nil
	}
	for _, m := range []string{metricCPU, metricRate, metricSeconds, metricBytes} {
		if hasMetric(g.Rows, m) {
			ratios = append(ratios, m)
		}
	}
	return ratios
}

// loads are the rows by load.
func (g *Group) loads() [][]Row {
	var all [][]Row
	for i, row := range g.Rows {
		if i > 0 && g.Rows[i-1].Name == row.Name && g.Rows[i-1].X == row.X {
			all[len(all)-1] = append(all[len(all)-1], row)
		} else {
			all = append(all, []Row{row})
		}
	}
	return all
}

func (g *Group) pointName(x float64) string {
	switch {
	case x == 0:
		return ""
	case g.Name == groupGrowthValues || g.Name == groupLarge:
		return shortBytes(x)
	}
	return short(x)
}

// serverCells is what all servers did, a dash where one has no such figure;
// one dash when none has.
func serverCells(load []Row, servers []string, metric string) string {
	var cells []string
	any := false
	for _, s := range servers {
		text := "–"
		for _, row := range load {
			if row.Server == s && len(row.Metrics[metric].All) > 0 {
				text, any = number(row.Metrics[metric].Median/shownBy(metric)), true
			}
		}
		cells = append(cells, text)
	}
	if !any {
		return "–"
	}
	return strings.Join(cells, " / ")
}

// shownBy is what a table divides by.
func shownBy(metric string) float64 {
	if s, ok := shown[metric]; ok {
		return s.by
	}
	return 1
}
