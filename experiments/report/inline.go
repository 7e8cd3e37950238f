package report

import (
	"bytes"
	"regexp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Inline draws the figure for an HTML page: plots side by side, and for a narrow page, which shows the one or the other by
// the classes broad and slim, below one another.
func (f *Figure) Inline() ([]byte, error) {
	broad, err := f.inline()
	if err != nil || len(f.grid[0]) < 2 {
		return broad, err
	}
	slim, err := f.column().inline()
	return slices.Concat([]byte(`<div class="broad">`), broad, []byte(`</div><div class="slim">`), slim, []byte(`</div>`)), err
}

// column is the figure with its plots below one another.
func (f *Figure) column() *Figure {
	rows, columns := vg.Length(len(f.grid)), vg.Length(len(f.grid[0]))
	width := (f.width-2*margin-f.strip-(columns-1)*gap)/columns - f.besides
	height := (f.height - 2*margin - (rows-1)*gap) / rows
	slim := &Figure{bars: f.bars, besides: f.besides, legend: f.legend, strip: f.strip}
	for _, row := range f.grid {
		for _, p := range row {
			if p != nil {
				slim.grid = append(slim.grid, []*plot.Plot{p})
			}
		}
	}
	n := vg.Length(len(slim.grid))
	slim.width, slim.height = width+f.besides+f.strip+2*margin, n*height+(n-1)*gap+2*margin
	return slim
}

// inline is the figure as an SVG element: each series is a group with its name in data-series, each of its points a
// circle, not seen, with its values as title.
func (f *Figure) inline() ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	svg, err := f.render(inline{vgsvg.New(f.width, f.height)})
	if err != nil {
		return nil, err
	}
	svg = svg[bytes.Index(svg, []byte("<svg")):]
	return notes.ReplaceAllFunc(svg, func(note []byte) []byte {
		part := notes.FindSubmatch(note)
		x, y, kind, text := part[1], part[2], part[3], part[4]
		switch string(kind) {
		case beginSeries:
			return bytes.Join([][]byte{[]byte(`<g data-series="`), text, []byte(`">`)}, nil)
		case endSeries:
			return []byte("</g>")
		}
		return bytes.Join([][]byte{[]byte(`<circle class="point" cx="`), x, []byte(`" cy="`), y, []byte(`" r="6" transform="scale(1, -1)" fill-opacity="0"><title>`), text, []byte("</title></circle>")}, nil)
	}), nil
}

// inline is an SVG canvas with notes: text of a kind, which the canvas takes for letters.
// Inline puts elements in their place.
type inline struct{ *vgsvg.Canvas }

// The kinds of notes, of the Unicode's private use.
const (
	beginSeries = "\ue000"
	endSeries   = "\ue001"
	pointNote   = "\ue002"
)

var notes = regexp.MustCompile(`(?s)<text x="([^"]*)" y="([^"]*)"[^>]*>([\x{e000}-\x{e002}])(.*?)</text>`)

// inlineOf is the inline canvas that c is a part of, false if it is of another.
func inlineOf(c draw.Canvas) (inline, bool) {
	for {
		switch canvas := c.Canvas.(type) {
		case inline:
			return canvas, true
		case draw.Canvas:
			c = canvas
		default:
			return inline{}, false
		}
	}
}

func (c inline) note(at vg.Point, kind, text string) {
	c.FillString(font.DefaultCache.Lookup(plot.DefaultFont, 1), at, kind+text)
}

// marked is what a series draws, with what is said of its points.
type marked struct {
	name  string
	parts []plot.Plotter
	at    plotter.XYs
	says  []string // of each point
}

func (m *marked) add(parts ...plot.Plotter) { m.parts = append(m.parts, parts...) }

func (m *marked) label(x, y float64, text string) {
	m.at, m.says = append(m.at, plotter.XY{X: x, Y: y}), append(m.says, text)
}

// Plot draws the parts in their order.
func (m *marked) Plot(c draw.Canvas, p *plot.Plot) {
	page, live := inlineOf(c)
	if live {
		page.note(vg.Point{}, beginSeries, m.name)
	}
	for _, part := range m.parts {
		part.Plot(c, p)
	}
	if !live {
		return
	}
	x, y := p.Transforms(&c)
	for i, at := range m.at {
		if point := (vg.Point{X: x(at.X), Y: y(at.Y)}); c.Contains(point) {
			page.note(point, pointNote, m.says[i])
		}
	}
	page.note(vg.Point{}, endSeries, "")
}
