package report

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// endNames are the names of lines beside their right ends.
type endNames []entry

var _ aside = endNames{}

const (
	endNameSize  = vg.Length(9)
	endNamesFrom = vg.Length(6) // the plot
)

func (names endNames) width() vg.Length {
	style := textStyle(endNameSize)
	var widest vg.Length
	for _, n := range names {
		widest = max(widest, style.Width(n.name))
	}
	return widest + endNamesFrom + vg.Points(4)
}

// draw writes each name as near to its end as the other names leave room.
func (names endNames) draw(c draw.Canvas, p *plot.Plot) {
	_, y := p.Transforms(&c)
	type place struct {
		entry
		at vg.Length
	}
	var places []place
	for _, n := range names {
		places = append(places, place{n, y(n.end)})
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.at, b.at) })
	const apart = endNameSize + 1
	for i := 1; i < len(places); i++ { // push up what is too near below it
		places[i].at = max(places[i].at, places[i-1].at+apart)
	}
	limit := c.Max.Y
	for i := len(places) - 1; i >= 0; i-- { // and down what this pushed over the top
		places[i].at = min(places[i].at, limit)
		limit = places[i].at - apart
	}
	for _, n := range places {
		style := textStyle(endNameSize)
		style.Color = n.colour
		group := marked{name: n.name, parts: []plot.Plotter{written{style, vg.Point{X: c.Min.X + endNamesFrom, Y: n.at}, n.name}}}
		group.Plot(c, p)
	}
}

// written is text at a place of the page.
type written struct {
	style draw.TextStyle
	at    vg.Point
	text  string
}

func (w written) Plot(c draw.Canvas, _ *plot.Plot) { c.FillText(w.style, w.at, w.text) }
