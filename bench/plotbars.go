package main

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars are horizontal, some for each name, from the top down.
type bars struct {
	title  string
	names  []string
	series []series
	one    bool // a line at 1, what ratios are against
	single bool // each name has one series only
}

// series is one server's bars.
type series struct {
	server string
	values []Sample // one for each name; one without values draws nothing
}

// ratioSamples are the ratios of each repetition to the other server's: both
// ran one after the other, so a slow spell of the machine is in both.
func ratioSamples(own, other Sample) Sample {
	var all []float64
	for i := range min(len(own.All), len(other.All)) {
		if other.All[i] > 0 {
			all = append(all, own.All[i]/other.All[i])
		}
	}
	s := newSample("", all...)
	if len(all) > 0 && other.Median > 0 {
		s.Median = own.Median / other.Median // as the tables say it
	}
	return s
}

// ratioBars compares some groups' rows with the reference.
func ratioBars(all runs, title, metric string, groups ...string) *bars {
	b := &bars{title: title, one: true}
	values := map[string]map[string]Sample{} // server → name → ratio
	for _, name := range groups {
		g := all.group(name)
		if g == nil {
			continue
		}
		for _, row := range g.Rows {
			if row.Server == reference {
				continue
			}
			base := slices.IndexFunc(g.Rows, func(r Row) bool { return r.Server == reference && r.Name == row.Name })
			if base < 0 {
				continue
			}
			ratio := ratioSamples(row.Metrics[metric], g.Rows[base].Metrics[metric])
			if len(ratio.All) == 0 {
				continue
			}
			if !slices.Contains(b.names, row.Name) {
				b.names = append(b.names, row.Name)
			}
			if values[row.Server] == nil {
				values[row.Server] = map[string]Sample{}
				b.series = append(b.series, series{server: row.Server})
			}
			values[row.Server][row.Name] = ratio
		}
	}
	for i := range b.series {
		for _, name := range b.names {
			b.series[i].values = append(b.series[i].values, values[b.series[i].server][name])
		}
	}
	return b
}

func drawRatios(all runs) (*canvas, error) {
	cpu := ratioBars(all, "Persistence off: server CPU a request, Redis = 1, less is better", metricCPU, groupPlain, groupMixed)
	rate := ratioBars(all, "appendfsync always: requests a second, Redis = 1, more is better", metricRate, groupDurable)
	var grid [][]*plot.Plot
	var heights []vg.Length
	servers := []string{}
	for _, b := range []*bars{cpu, rate} {
		if len(b.names) == 0 {
			continue
		}
		p, err := b.plot()
		if err != nil {
			return nil, err
		}
		grid = append(grid, []*plot.Plot{p})
		heights = append(heights, vg.Length(len(b.names))*20+46)
		for _, s := range b.series {
			if !slices.Contains(servers, s.server) {
				servers = append(servers, s.server)
			}
		}
	}
	if len(grid) == 0 {
		return nil, nil
	}
	return stacked(grid, heights, servers, "whisker: least to greatest"), nil
}

// stacked puts panels of different heights under each other.
func stacked(grid [][]*plot.Plot, heights []vg.Length, servers []string, note string) *canvas {
	sum := vg.Length(24)
	for _, h := range heights {
		sum += h
	}
	return &canvas{width: pageWidth, height: sum, paint: func(dc draw.Canvas) {
		dc = legend(dc, servers, note)
		top := dc.Max.Y
		for i, row := range grid {
			part := dc
			part.Max.Y, part.Min.Y = top, top-heights[i]
			// Padding as the tiles of the other pictures have it.
			row[0].Draw(draw.Crop(part, 4, -12, 2, -2))
			top -= heights[i]
		}
	}}
}

// plot draws the bars of a name under each other.
func (b *bars) plot() (*plot.Plot, error) {
	p := newPlot(b.title, "")
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Width = faint, 0
	p.Add(grid)
	names := slices.Clone(b.names)
	slices.Reverse(names) // the axis goes up
	most := 0.0
	each := vg.Length(6)
	if b.single {
		each = 9
	}
	for i, s := range b.series {
		var values plotter.Values
		whiskers := whisker{ink: ink}
		offset := each * (vg.Length(len(b.series)-1)/2 - vg.Length(i))
		if b.single {
			offset = 0
		}
		for n := range names {
			v := s.values[len(names)-1-n]
			values = append(values, v.Median)
			whiskers.at = append(whiskers.at, span{v.Min, v.Max, float64(n), offset})
			most = max(most, v.Max)
		}
		chart, err := plotter.NewBarChart(values, each)
		if err != nil {
			return nil, err
		}
		chart.Horizontal, chart.Offset = true, offset
		chart.Color, chart.LineStyle.Width = inkOf(s.server), 0
		p.Add(chart, whiskers)
	}
	p.NominalY(names...)
	p.Y.Tick.Label.Font = sans(textSize - 1)
	// Who shows the picture may have a wider font.
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	p.Y.Padding = vg.Length(longest)
	p.X.Min, p.X.Max = 0, most*1.05
	p.X.Tick.Marker = linearTicks{}
	if b.one {
		p.Add(oneLine{})
	}
	return p, nil
}

// span is from the least to the greatest of a bar's values.
type span struct {
	least, most, y float64
	offset         vg.Length
}

// whisker draws them.
type whisker struct {
	ink interface{ RGBA() (r, g, b, a uint32) }
	at  []span
}

// Plot implements plot.Plotter.
func (w whisker) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	st := draw.LineStyle{Color: w.ink, Width: 0.7}
	for _, s := range w.at {
		if s.most == s.least {
			continue
		}
		at := y(s.y) + s.offset
		c.StrokeLine2(st, x(s.least), at, x(s.most), at)
	}
}

// oneLine is where the reference is.
type oneLine struct{}

// Plot implements plot.Plotter.
func (oneLine) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: inkOf(reference), Width: 1.2}, x(1), c.Min.Y, x(1), c.Max.Y)
}

// drawSlowDisk has a panel for each figure, a bar for each server.
func drawSlowDisk(all runs) (*canvas, error) {
	g := all.group(groupSlowDisk)
	if g == nil {
		return nil, nil
	}
	alone, beside := slowRows[0].name, slowRows[1].name
	panels := [][]struct{ row, metric, title string }{
		{{alone, metricRate, "writers alone: writes a second"}, {alone, metricP99, "writers alone: p99, ms"}},
		{{beside, metricRate, "beside readers: writes a second"}, {beside, metricP99, "beside readers: writers' p99, ms"}},
		{{beside, metricReaderRate, "beside writers: reads a second"}, {beside, metricReaderP50, "beside writers: readers' p50, ms"}},
	}
	var grid [][]*plot.Plot
	for _, line := range panels {
		var row []*plot.Plot
		for _, pn := range line {
			p, err := g.serverBars(pn.row, pn.metric, pn.title)
			if err != nil {
				return nil, err
			}
			row = append(row, p)
		}
		grid = append(grid, row)
	}
	return gridCanvas(grid, 110, nil, "a sync takes 2 ms longer; whisker: least to greatest"), nil
}

// serverBars has one bar for each server of a row.
func (g *Group) serverBars(row, metric, title string) (*plot.Plot, error) {
	b := &bars{title: title, single: true}
	for _, r := range g.Rows {
		if r.Name == row && len(r.Metrics[metric].All) > 0 {
			b.names = append(b.names, r.Server)
		}
	}
	for i, server := range b.names {
		s := series{server: server, values: make([]Sample, len(b.names))}
		_, samples := g.points(row, server, metric)
		s.values[i] = samples[0]
		b.series = append(b.series, s)
	}
	if len(b.names) == 0 {
		return nil, nil
	}
	return b.plot()
}
