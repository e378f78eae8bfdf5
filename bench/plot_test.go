package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// drawn is a run in which every picture finds what it draws. Hapax is the
// lowest everywhere, and figures grow with x.
func drawn() *Report {
	r := sampleReport()
	r.Groups = nil
	factor := map[string]float64{hapax: 1, reference: 2, "valkey": 3}
	add := func(group, row string, x float64, servers []string, metrics ...string) {
		var rows []Row
		for i, s := range servers {
			by := factor[s]
			if by == 0 {
				by = float64(i + 1)
			}
			row := Row{Name: row, Server: s, X: x, Metrics: map[string]Sample{}}
			for _, m := range metrics {
				v := by * (1 + x/1000)
				row.Metrics[m] = newSample(units[m], v, v*1.1, v*0.9)
			}
			rows = append(rows, row)
		}
		if n := len(r.Groups); n == 0 || r.Groups[n-1].Name != group {
			r.Groups = append(r.Groups, Group{Name: group, Note: "what holds"})
		}
		g := &r.Groups[len(r.Groups)-1]
		g.Rows = append(g.Rows, rows...)
	}
	all := []string{hapax, reference, "valkey"}
	usual := []string{metricCPU, metricRate, metricP50, metricP99}
	for _, row := range plainRows {
		add(groupPlain, row.name, 0, all, usual...)
	}
	for _, row := range durableRows {
		add(groupDurable, row.name, 0, all, usual...)
	}
	places := []string{hapax + " auto", hapax + " loop", hapax + " syncer", reference, "valkey"}
	for _, row := range slowRows {
		add(groupSlowDisk, row.name, 0, places, metricRate, metricP50, metricP99, metricReaderRate, metricReaderP50)
	}
	for _, n := range keyCounts(10_000_000) {
		add(groupGrowthKeys, loadedName, float64(n), all, metricBytes, metricRSS)
		for _, c := range keyCurves {
			add(groupGrowthKeys, c.name, float64(n), all, usual...)
		}
	}
	for _, c := range clientCurves {
		for _, n := range growingAll.clients {
			add(groupGrowthClients, c.name, float64(n), all, usual...)
		}
	}
	for _, n := range growingAll.bytes {
		for _, c := range valueCurves {
			add(groupGrowthValues, c.name, float64(n), all, usual...)
		}
	}
	return r
}

var svgText = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// texts are what a picture says; it has to be well-formed to say it.
func texts(t *testing.T, path string) []string {
	t.Helper()
	svg, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
		t.Errorf("%s has places that aren't any", path)
	}
	if len(svg) > 100<<10 {
		t.Errorf("%s has %d bytes", path, len(svg))
	}
	var all []string
	for _, m := range svgText.FindAllStringSubmatch(string(svg), -1) {
		all = append(all, m[1])
	}
	return all
}

func drawInto(t *testing.T, r *Report) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	if err := r.writeJSON(file); err != nil {
		t.Fatal(err)
	}
	before := drawing
	t.Cleanup(func() { drawing = before })
	drawing.out, drawing.doc = filepath.Join(dir, "img"), ""
	if err := plotFiles([]string{file}); err != nil {
		t.Fatal(err)
	}
	return drawing.out
}

// TestPictures: each one is there, names the servers, its panels and its
// points.
func TestPictures(t *testing.T) {
	dir := drawInto(t, drawn())
	for name, want := range map[string][]string{
		"ratios":             {"hapax", "valkey", "GET P64", "IDEM BEGIN, 50 clients P16"},
		"growth-keys":        {"hapax", "redis", "valkey", "10k", "1M", "10M", "GET P16: p99, ms", "IDEM BEGIN P16: server CPU, µs a request"},
		"growth-memory":      {"resident bytes a key", "100k", "SET, no pipeline: CPU, µs"},
		"growth-snapshots":   {"GET, snapshots: p99, ms", "SET, snapshots: server CPU, µs a request", "10M"},
		"growth-connections": {"1", "50", "5k", "connections", "SET: p50, ms"},
		"growth-values":      {"16 B", "1 KB", "4 MB", "IDEM replay: p99, ms"},
		"slow-disk":          {"hapax auto", "hapax loop", "hapax syncer", "redis", "writers alone: p99, ms"},
	} {
		got := texts(t, filepath.Join(dir, name+".svg"))
		for _, text := range want {
			if !slices.Contains(got, text) {
				t.Errorf("%s doesn't say %q: %q", name, text, got)
			}
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(pictures) {
		t.Errorf("%d pictures, want %d, %v", len(files), len(pictures), err)
	}
}

var (
	path   = regexp.MustCompile(`<path d="([^"]*)" style="fill:none;stroke:(#[0-9A-F]{6});stroke-width:1.4"`)
	height = regexp.MustCompile(`[ML][-0-9.]+,([-0-9.]+)`)
)

// TestHigherIsHigher: of two curves the one with the greater figures is the
// upper one, at every point, in the colour of its server.
func TestHigherIsHigher(t *testing.T) {
	svg, err := os.ReadFile(filepath.Join(drawInto(t, drawn()), "growth-values.svg"))
	if err != nil {
		t.Fatal(err)
	}
	heights := map[string][]float64{}
	for _, m := range path.FindAllStringSubmatch(string(svg), -1) {
		for _, at := range height.FindAllStringSubmatch(m[1], -1) {
			v, err := strconv.ParseFloat(at[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			heights[m[2]] = append(heights[m[2]], v)
		}
	}
	low, high := heights["#0B6FB8"], heights["#C9372C"]
	if points := len(growingAll.bytes) * 3 * len(valueCurves); len(low) != points || len(high) != points {
		t.Fatalf("%d and %d points, want %d; %v", len(low), len(high), points, heights)
	}
	for i := range low {
		if low[i] >= high[i] { // the picture's y goes up
			t.Fatalf("point %d: Hapax at %v, Redis at %v", i, low[i], high[i])
		}
	}
}

// TestPartOfARun draws what is there.
func TestPartOfARun(t *testing.T) {
	r := drawn()
	r.Groups = slices.DeleteFunc(r.Groups, func(g Group) bool { return g.Name != groupGrowthValues })
	r.Groups[0].Rows = slices.DeleteFunc(r.Groups[0].Rows, func(row Row) bool { return row.Name != "SET" })
	dir := drawInto(t, r)
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != "growth-values.svg" {
		t.Fatalf("%v, %v", files, err)
	}
	if got := texts(t, filepath.Join(dir, "growth-values.svg")); slices.Contains(got, "GET: p50, ms") {
		t.Errorf("it draws what wasn't measured: %q", got)
	}
}

// TestLaterRuns: of a group that two runs have, the later file's counts.
func TestLaterRuns(t *testing.T) {
	first, second := drawn(), drawn()
	second.Groups = second.Groups[:1]
	all := runs{first, second}
	if all.group(groupPlain) != &second.Groups[0] || all.group(groupDurable) != &first.Groups[1] {
		t.Error("the wrong run's group")
	}
	if got := all.of(second); !slices.Equal(got, []string{groupPlain}) {
		t.Errorf("of the second: %v", got)
	}
	if got := all.of(first); slices.Contains(got, groupPlain) || len(got) != len(first.Groups)-1 {
		t.Errorf("of the first: %v", got)
	}
}

// TestRatioSamples: the range is that of pairs, the median that of the table.
func TestRatioSamples(t *testing.T) {
	got := ratioSamples(newSample("", 1, 2, 3), newSample("", 2, 8, 4))
	if got.Median != 2.0/4 || got.Min != 0.25 || got.Max != 0.75 {
		t.Errorf("%+v", got)
	}
}

// TestTicks are round, few, and inside.
func TestTicks(t *testing.T) {
	for _, most := range []float64{0.013, 0.9, 1, 1.08, 7, 12, 95, 420, 70_000} {
		ticks := linearTicks{}.Ticks(0, most)
		if n := len(ticks); n < 3 || n > 8 || ticks[0].Value != 0 || ticks[n-1].Value > most*1.002 || ticks[n-1].Value < most/2 {
			t.Errorf("to %v: %v", most, ticks)
		}
	}
	for _, ends := range [][2]float64{{0.09, 5}, {1, 13}, {0.03, 200}, {7, 25_000}} {
		ticks := logTicks{}.Ticks(ends[0], ends[1])
		outside := func(k plot.Tick) bool { return k.Value < ends[0]*0.99 || k.Value > ends[1]*1.01 }
		if n := len(ticks); n < 3 || n > 9 || slices.ContainsFunc(ticks, outside) {
			t.Errorf("from %v to %v: %v", ends[0], ends[1], ticks)
		}
	}
}
