package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// drawing is where plots and tables of earlier runs go.
var drawing struct{ out, doc, format string }

func init() {
	flag.StringVar(&drawing.out, "out", "docs/img", "where -plot draws to")
	flag.StringVar(&drawing.doc, "doc", "", "the page in which -plot fills the tables between its marks")
	flag.StringVar(&drawing.format, "format", "svg", "what -plot draws: svg, or png to look at")
	modes = append(modes, mode{
		flag: "plot", help: "measure nothing, draw what is in these files of -json instead, a,b: of a group in both, b's",
		run: func(files string, _ *flag.FlagSet) error { return plotFiles(strings.Split(files, ",")) },
	})
}

func plotFiles(files []string) error {
	runs, err := readRuns(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(drawing.out, 0o755); err != nil {
		return err
	}
	for _, p := range pictures {
		canvas, err := p.draw(runs)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if canvas == nil {
			continue // not in these runs
		}
		path := filepath.Join(drawing.out, p.name+"."+drawing.format)
		if err := writeCanvas(path, *canvas, drawing.format); err != nil {
			return err
		}
		fmt.Println(path)
	}
	if drawing.doc == "" {
		return nil
	}
	return fillPage(drawing.doc, runs)
}

// runs are reports, the later ones before the earlier where both have a group.
type runs []*Report

func readRuns(files []string) (runs, error) {
	var all runs
	for _, file := range files {
		r, err := readReport(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// group is nil when no run has it.
func (all runs) group(name string) *Group {
	for _, r := range slices.Backward(all) {
		for i := range r.Groups {
			if r.Groups[i].Name == name {
				return &r.Groups[i]
			}
		}
	}
	return nil
}

// of are the groups whose rows are taken from a run.
func (all runs) of(r *Report) []string {
	var names []string
	for i := range r.Groups {
		if all.group(r.Groups[i].Name) == &r.Groups[i] {
			names = append(names, r.Groups[i].Name)
		}
	}
	return names
}

// picture is one file.
type picture struct {
	name string
	draw func(runs) (*canvas, error) // nil: nothing to draw
}

// canvas is a drawing before it is in any format.
type canvas struct {
	width, height vg.Length
	paint         func(draw.Canvas)
}

// writeCanvas paints it into a file.
func writeCanvas(path string, c canvas, format string) error {
	var painted vg.CanvasWriterTo
	switch format {
	case "svg":
		painted = vgsvg.New(c.width, c.height)
	case "png":
		painted = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(96))}
	default:
		return fmt.Errorf("no format %q", format)
	}
	dc := draw.NewCanvas(painted, c.width, c.height)
	dc.SetColor(paper)
	dc.Fill(dc.Rectangle.Path())
	c.paint(dc)
	var text bytes.Buffer
	if _, err := painted.WriteTo(&text); err != nil {
		return err
	}
	if format == "svg" {
		return os.WriteFile(path, otherFonts(text.Bytes()), 0o644)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// otherFonts lets a browser that lacks the font take one of the same widths,
// and leaves out what is every text's default.
func otherFonts(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte("font-variant:normal;font-weight:normal;font-style:normal;"), nil)
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}
