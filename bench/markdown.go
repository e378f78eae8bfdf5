package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// columns are the metrics in the order of a table's columns. Those that no row
// of a group has are left out.
var columns = []string{
	metricCPU, metricRate, metricP50, metricP99, metricP999, metricMax, metricSmallRate, metricReaderRate, metricReaderP50, metricReaderP99, metricQuietRate, metricQuietP99, metricKept, metricSeconds, metricBytes, metricWaste,
	metricSyncs, metricRSS, metricGoHeap, metricGCShare, metricDisk, metricDiskLargest, metricDiskEnd, metricWritten, metricSnapshots,
}

// spread says of which metrics a table shows the range beside the median.
var spread = map[string]bool{metricCPU: true, metricRate: true, metricP99: true, metricSeconds: true}

// compared are the metrics that get a column of ratios.
var compared = []string{metricCPU, metricRate, metricP99, metricSeconds, metricBytes}

// head says on what a report was measured.
func (r *Report) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs, %s, Linux %s, %d MB; commit %s, %s\n", r.Machine.OS, r.Machine.CPUs, r.Machine.CPU,
		r.Machine.Kernel, r.Machine.MemoryBytes>>20, r.Commit, r.StartedAt.Format(time.RFC3339))
	for _, s := range r.Servers {
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Version)
	}
	fmt.Fprintf(&b, "\nMedians of %s repetitions of %s s [least–greatest]; × is the median over Redis's, (…v) over Valkey's.\n",
		r.Options["repetitions"], r.Options["seconds"])
	return b.String()
}

// verdict says how many aims were met, and which were not.
func (r *Report) verdict(took time.Duration) string {
	var b strings.Builder
	met, missed := r.aims()
	if len(met)+len(missed) == 0 {
		fmt.Fprintf(&b, "\nNo aims for these rows, in %s.\n", took.Round(time.Second))
		return b.String()
	}
	fmt.Fprintf(&b, "\n%d aims met, %d missed, in %s.\n", len(met), len(missed), took.Round(time.Second))
	for _, line := range missed {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	return b.String()
}

// aims are those that could be judged, with the ratios that came out.
func (r *Report) aims() (met, missed []string) {
	for _, g := range r.Groups {
		for _, row := range g.Rows {
			for _, a := range row.Aims {
				line := fmt.Sprintf("%s: %s: %s, it is %.2f", g.Name, row.Name, a, a.Ratio)
				switch {
				case a.Ratio == 0:
				case a.Met:
					met = append(met, line)
				default:
					missed = append(missed, line)
				}
			}
		}
	}
	return met, missed
}

// markdown is the group as a heading, what holds for it, and a table.
func (g *Group) markdown() string {
	note := ""
	if g.Note != "" {
		note = g.Note + ".\n\n"
	}
	return fmt.Sprintf("\n## %s\n\n%s%s", g.Name, note, table(g.Rows))
}

// table is rows as Markdown: the medians, the ratios, the aims.
func table(rows []Row) string {
	used := usedColumns(rows)
	against := []string{}
	for _, name := range []string{reference, "valkey"} {
		if hasServer(rows, name) {
			against = append(against, name)
		}
	}
	ratios := []string{}
	for _, m := range compared {
		if hasMetric(rows, m) && len(against) > 0 {
			ratios = append(ratios, m)
		}
	}
	head := []string{"", "server"}
	for _, m := range used {
		head = append(head, heading(m))
	}
	for _, m := range ratios {
		head = append(head, m+" ×")
	}
	head = append(head, "aim")
	var b strings.Builder
	line(&b, head)
	line(&b, strings.Split(strings.Repeat("---|", len(head)-1)+"---", "|"))
	for _, row := range rows {
		cells := []string{row.Name, row.Server}
		for _, m := range used {
			cells = append(cells, cell(m, row.Metrics[m]))
		}
		for _, m := range ratios {
			cells = append(cells, ratioCell(row, rows, m))
		}
		var aims []string
		for _, a := range row.Aims {
			aims = append(aims, a.String())
		}
		line(&b, append(cells, strings.Join(aims, ", ")))
	}
	return b.String()
}

func line(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func usedColumns(rows []Row) []string {
	var used []string
	for _, m := range columns {
		if hasMetric(rows, m) {
			used = append(used, m)
		}
	}
	return used
}

func hasMetric(rows []Row, metric string) bool {
	for _, row := range rows {
		if len(row.Metrics[metric].All) > 0 {
			return true
		}
	}
	return false
}

func hasServer(rows []Row, name string) bool {
	for _, row := range rows {
		if row.Server == name {
			return true
		}
	}
	return false
}

// shown are the units of a table's column, where they aren't the report's.
var shown = map[string]struct {
	unit string
	by   float64
}{
	metricRSS: {"MB", 1 << 20}, metricGoHeap: {"MB", 1 << 20}, metricDisk: {"MB", 1 << 20},
	metricDiskLargest: {"MB", 1 << 20}, metricDiskEnd: {"MB", 1 << 20}, metricWritten: {"MB", 1 << 20},
}

func heading(metric string) string {
	unit := units[metric]
	if s, ok := shown[metric]; ok {
		unit = s.unit
	}
	switch {
	case metric == metricCPU:
		return "cpu µs/req"
	case unit == "":
		return metric
	}
	return metric + " " + unit
}

// cell is a figure with as many digits as it deserves; a dash where there is
// none.
func cell(metric string, s Sample) string {
	if len(s.All) == 0 {
		return "–"
	}
	by := 1.0
	if to, ok := shown[metric]; ok {
		by = to.by
	}
	text := number(s.Median / by)
	if spread[metric] && len(s.All) > 1 {
		text += fmt.Sprintf(" [%s–%s]", number(s.Min/by), number(s.Max/by))
	}
	return text
}

// number has three digits, or all that are before the point.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case a >= 100 || a == 0:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// ratioCell is against Redis; Hapax's also against Valkey.
func ratioCell(row Row, rows []Row, metric string) string {
	if row.Server == reference {
		return "1"
	}
	text := "–"
	if x := ratio(row, rows, reference, metric); x > 0 {
		text = fmt.Sprintf("%.2f", x)
	}
	if row.Server != "valkey" {
		if x := ratio(row, rows, "valkey", metric); x > 0 {
			text += fmt.Sprintf(" (%.2fv)", x)
		}
	}
	return text
}
