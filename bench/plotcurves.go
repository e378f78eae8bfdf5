package main

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// panel is one curve's metric.
type panel struct {
	row    string
	metric string
	title  string
}

// curves are a group's panels, in rows of so many.
type curves struct {
	group   string
	x       string               // of the axis
	tick    func(float64) string // a point's name
	columns int
	panels  []panel
	height  vg.Length // of a panel
}

func both(row string) []panel {
	return []panel{
		{row, metricCPU, row + ": server CPU, µs a request"},
		{row, metricP50, row + ": p50, ms"},
		{row, metricP99, row + ": p99, ms"},
	}
}

var pictures = []picture{
	{"ratios", drawRatios},
	{"growth-keys", curves{
		group: groupGrowthKeys, x: "keys", tick: short, columns: 3, height: 125,
		panels: slices.Concat(both("GET P16"), both("SET P16"), both("IDEM BEGIN P16")),
	}.draw},
	{"growth-memory", curves{
		group: groupGrowthKeys, x: "keys", tick: short, columns: 3, height: 140,
		panels: []panel{
			{loadedName, metricBytes, "resident bytes a key"},
			{"GET", metricCPU, "GET, no pipeline: CPU, µs"},
			{"SET", metricCPU, "SET, no pipeline: CPU, µs"},
		},
	}.draw},
	{"growth-snapshots", curves{
		group: groupGrowthKeys, x: "keys", tick: short, columns: 3, height: 125,
		panels: slices.Concat(both("GET, snapshots"), both("SET, snapshots")),
	}.draw},
	{"growth-connections", curves{
		group: groupGrowthClients, x: "connections", tick: short, columns: 3, height: 125,
		panels: slices.Concat(both("GET"), both("SET"), both("IDEM BEGIN")),
	}.draw},
	{"growth-values", curves{
		group: groupGrowthValues, x: "bytes of a value", tick: shortBytes, columns: 3, height: 125,
		panels: slices.Concat(both("GET"), both("SET"), both("IDEM replay")),
	}.draw},
	{"slow-disk", drawSlowDisk},
}

func (c curves) draw(all runs) (*canvas, error) {
	g := all.group(c.group)
	if g == nil {
		return nil, nil
	}
	rows := (len(c.panels) + c.columns - 1) / c.columns
	grid := make([][]*plot.Plot, rows)
	for i := range grid {
		grid[i] = make([]*plot.Plot, c.columns)
	}
	for i, p := range c.panels {
		drawn, err := c.panel(g, p)
		if err != nil {
			return nil, err
		}
		grid[i/c.columns][i%c.columns] = drawn
	}
	return gridCanvas(grid, c.height, g.servers(), "band: least to greatest"), nil
}

// gridCanvas puts panels of one height under a legend.
func gridCanvas(grid [][]*plot.Plot, height vg.Length, servers []string, note string) *canvas {
	return &canvas{width: pageWidth, height: vg.Length(len(grid))*height + 24, paint: func(dc draw.Canvas) {
		dc = legend(dc, servers, note)
		tiles := draw.Tiles{Rows: len(grid), Cols: len(grid[0]), PadX: 10, PadY: 6, PadLeft: 4, PadRight: 10, PadBottom: 4, PadTop: 2}
		parts := plot.Align(grid, tiles, dc)
		for i := range grid {
			for j, p := range grid[i] {
				if p != nil {
					p.Draw(parts[i][j])
				}
			}
		}
	}}
}

// servers are those of a group's rows, in their order.
func (g *Group) servers() []string {
	var names []string
	for _, row := range g.Rows {
		if !slices.Contains(names, row.Server) {
			names = append(names, row.Server)
		}
	}
	return names
}

// points are one server's samples of a curve, in the order of X.
func (g *Group) points(row, server, metric string) (x []float64, s []Sample) {
	var rows []Row
	for _, r := range g.Rows {
		if r.Name == row && r.Server == server && len(r.Metrics[metric].All) > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return int(math.Copysign(1, a.X-b.X)) })
	for _, r := range rows {
		x, s = append(x, r.X), append(s, r.Metrics[metric])
	}
	return x, s
}

// steepest is how far apart figures may be on an axis from 0; beyond it, its
// scale is logarithmic.
const steepest = 12

func (c curves) panel(g *Group, pn panel) (*plot.Plot, error) {
	p := newPlot(pn.title, c.x)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Width = faint, 0
	p.Add(grid)
	var ticks []plot.Tick
	least, most := math.Inf(1), 0.0
	for _, server := range g.servers() {
		xs, samples := g.points(pn.row, server, pn.metric)
		if len(xs) == 0 {
			continue
		}
		if len(ticks) == 0 {
			for _, x := range xs {
				ticks = append(ticks, plot.Tick{Value: x, Label: c.tick(x)})
			}
		}
		var line plotter.XYs
		var lower, upper plotter.XYs
		for i, s := range samples {
			line = append(line, plotter.XY{X: xs[i], Y: s.Median})
			lower = append(lower, plotter.XY{X: xs[i], Y: s.Min})
			upper = append(upper, plotter.XY{X: xs[i], Y: s.Max})
			least, most = min(least, s.Min), max(most, s.Max)
		}
		slices.Reverse(lower)
		if err := addCurve(p, server, line, slices.Concat(upper, lower)); err != nil {
			return nil, err
		}
	}
	if len(ticks) == 0 {
		return nil, nil // the run left this curve out
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
	if least > 0 && most/least > steepest {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		p.Y.Min, p.Y.Max = least*0.9, most*1.1
	} else {
		p.Y.Tick.Marker = linearTicks{}
		p.Y.Min, p.Y.Max = 0, most*1.08
	}
	return p, nil
}

func addCurve(p *plot.Plot, server string, line, band plotter.XYs) error {
	area, err := plotter.NewPolygon(band)
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = wash(inkOf(server)), 0
	l, dots, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	l.Color, l.Width = inkOf(server), 1.4
	dots.Color, dots.Shape, dots.Radius = inkOf(server), draw.CircleGlyph{}, 1.8
	p.Add(area, l, dots)
	return nil
}
