package report

import (
	"bytes"
	"fmt"
	"html"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Inline draws the figure for an HTML page: an SVG for each plot (a wide page has several side by side), and the legend
// in words. Each series is a group with its name in data-series; each of its points is an invisible disc with its
// values as title.
func (f *Figure) Inline() ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	plain := *f
	plain.headline = nil // a page says it in words
	l := plain.layout(0)
	var b bytes.Buffer
	b.WriteString("<div class=\"panels\">\n")
	width, height := l.cell.X, l.cell.Y
	size := vg.Point{X: width + 2*margin, Y: height + 2*margin}
	// as if below one another, so that all plots have one size
	n := len(f.plots)
	column := onPage(newSVG(size.X, 1), vg.Point{X: l.cell.X, Y: vg.Length(n)*(height+gap) - gap})
	for i, place := range l.places(column, 1) {
		c := newSVG(size.X, size.Y)
		place.Canvas = live{c}
		up := vg.Point{X: margin, Y: margin - vg.Length(n-1-i)*(height+gap)}
		place.Min, place.Max = place.Min.Add(up), place.Max.Add(up)
		l.plots[i].Draw(place)
		b.Write(c.element())
	}
	b.WriteString("</div>\n")
	f.words(&b)
	return b.Bytes(), nil
}

func (f *Figure) words(b *bytes.Buffer) {
	if f.legend == nil {
		return
	}
	b.WriteString("<ul class=\"legend\">\n")
	for _, k := range f.legend {
		c := newSVG(sampleWidth, sampleHeight)
		k.sample(onPage(c, vg.Point{X: sampleWidth, Y: sampleHeight}))
		fmt.Fprintf(b, "<li data-series=\"%s\">%s%s</li>\n", html.EscapeString(k.name), c.element(), html.EscapeString(k.name))
	}
	b.WriteString("</ul>\n")
}

// marked is what a series draws, with what is said of its points.
type marked struct {
	name  string
	parts []plot.Plotter
	at    plotter.XYs
	says  []string // of each point
}

func (m *marked) add(parts ...plot.Plotter) { m.parts = append(m.parts, parts...) }

// DataRange is how far the parts reach.
func (m *marked) DataRange() (left, right, bottom, top float64) {
	left, right, bottom, top = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, part := range m.parts {
		if r, ok := part.(plot.DataRanger); ok {
			l, r, b, t := r.DataRange()
			left, right, bottom, top = min(left, l), max(right, r), min(bottom, b), max(top, t)
		}
	}
	return left, right, bottom, top
}

func (m *marked) label(x, y float64, text string) {
	m.at, m.says = append(m.at, plotter.XY{X: x, Y: y}), append(m.says, text)
}

// Plot draws the parts in their order.
func (m *marked) Plot(c draw.Canvas, p *plot.Plot) {
	page, live := liveOf(c)
	if live {
		page.begin(m.name)
		defer page.end()
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
			page.point(point, m.says[i])
		}
	}
}
