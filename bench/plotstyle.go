package main

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A page of GitHub is some 860 pixels wide, 645 points.
const (
	pageWidth = 645 * vg.Length(1)
	textSize  = font.Length(9)
)

var (
	paper = color.White
	ink   = color.RGBA{0x24, 0x29, 0x2f, 0xff}
	faint = color.RGBA{0xe4, 0xe7, 0xea, 0xff}
)

// inks are the servers', the same in every picture.
var inks = map[string]color.RGBA{
	hapax:             {0x0b, 0x6f, 0xb8, 0xff},
	reference:         {0xc9, 0x37, 0x2c, 0xff},
	"valkey":          {0x8a, 0x5a, 0xd0, 0xff},
	hapax + " auto":   {0x0b, 0x6f, 0xb8, 0xff},
	hapax + " loop":   {0x5b, 0xa3, 0xd9, 0xff},
	hapax + " syncer": {0x9c, 0xc9, 0xec, 0xff},
}

// inkOf is some grey for a server that nobody thought of.
func inkOf(server string) color.RGBA {
	if c, ok := inks[server]; ok {
		return c
	}
	return color.RGBA{0x77, 0x77, 0x77, 0xff}
}

// wash is a colour that lets the lines under it be seen.
func wash(c color.RGBA) color.NRGBA { return color.NRGBA{c.R, c.G, c.B, 0x30} }

func sans(size font.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func style(size font.Length) text.Style {
	return text.Style{Color: ink, Font: sans(size), Handler: plot.DefaultTextHandler}
}

// newPlot is an empty panel.
func newPlot(title, x string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, x
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = sans(textSize+1), ink
	p.Title.Padding = 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = sans(textSize), ink
		a.Tick.Label.Font, a.Tick.Label.Color = sans(textSize-1), ink
		a.LineStyle.Color, a.Tick.LineStyle.Color = ink, ink
		a.LineStyle.Width, a.Tick.LineStyle.Width = 0.5, 0.5
		a.Tick.Length = 3
		a.Padding = 2
	}
	return p
}

// legend names the servers in their colours, in one line at the top. It
// returns what is left below.
func legend(dc draw.Canvas, servers []string, note string) draw.Canvas {
	const height, swatch, gap = 18, 8, 16
	st := style(textSize)
	x := dc.Min.X + 8
	y := dc.Max.Y - 12
	for _, s := range servers {
		c := inkOf(s)
		dc.SetColor(c)
		dc.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + swatch, Y: y + swatch}}.Path())
		x += swatch + 4
		dc.FillText(st, vg.Point{X: x, Y: y}, s)
		x += st.Width(s) + gap
	}
	dc.FillText(st, vg.Point{X: x, Y: y}, note)
	return draw.Crop(dc, 0, 0, 0, -height)
}

// short is a figure for an axis: 10k, 0.5.
func short(v float64) string {
	for _, u := range []struct {
		by   float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if v >= u.by {
			return strconv.FormatFloat(v/u.by, 'g', 3, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// shortBytes is a size for an axis.
func shortBytes(v float64) string {
	switch {
	case v >= 1<<20:
		return short(v/(1<<20)) + " MB"
	case v >= 1<<10:
		return short(v/(1<<10)) + " KB"
	}
	return short(v) + " B"
}

// linearTicks are few, at round numbers, from 0 on.
type linearTicks struct{}

func (linearTicks) Ticks(_, most float64) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, by := range []float64{5, 2.5, 2} { // at least three steps
		if most/step < 3 {
			step /= by
			break
		}
	}
	for most/step > 6 {
		step *= 2
	}
	var ticks []plot.Tick
	for v := 0.0; v <= most*1.001; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: short(v)})
	}
	return ticks
}

// logTicks are at 1, 2, 5 of every decade, or at 1 where that would be many.
type logTicks struct{}

func (logTicks) Ticks(least, most float64) []plot.Tick {
	var ticks []plot.Tick
	many := most/least > 300
	for decade := math.Floor(math.Log10(least)); decade <= math.Log10(most); decade++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, decade)
			if v < least*0.999 || v > most*1.001 || many && m > 1 {
				continue
			}
			ticks = append(ticks, plot.Tick{Value: v, Label: short(v)})
		}
	}
	return ticks
}
