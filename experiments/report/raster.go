package report

import (
	"image"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plane is a picture of a plane of the latent space: what a model makes of each
// place, and rows that lie there.
type Plane struct {
	Title, X, Y            string
	XMin, XMax, YMin, YMax float64
	Picture                image.Image
	Points                 []PlanePoint
	Names                  []string // of the classes, for the legend
}

// PlanePoint is a row at its place, in the colour of its class.
type PlanePoint struct {
	X, Y  float64
	Class int
}

// Planes draws the pictures side by side; they share the first one's legend.
func Planes(planes []Plane) *Figure {
	var plots []*chart
	legend := newLegend()
	for k, plane := range planes {
		plots = append(plots, plane.plot())
		if k > 0 {
			continue
		}
		for c, name := range plane.Names {
			legend.Add(name, swatch{ClassColour(c)})
		}
	}
	if len(planes[0].Names) == 0 {
		legend = nil
	}
	return newGrid(plots, 2, 10*vg.Centimeter, 10*vg.Centimeter, legend, nil)
}

func (plane Plane) plot() *chart {
	p := newPlot()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = plane.Title, plane.X, plane.Y
	p.Add(plotter.NewImage(plane.Picture, plane.XMin, plane.YMin, plane.XMax, plane.YMax))
	p.Add(plane.dots())
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = plane.XMin, plane.XMax, plane.YMin, plane.YMax
	return p
}

// dots are the points in the colours of their classes.
func (plane Plane) dots() ringed {
	r := ringed{radius: vg.Points(1.7), edge: vg.Points(0.6)}
	for _, q := range plane.Points {
		r.at, r.colours = append(r.at, plotter.XY{X: q.X, Y: q.Y}), append(r.colours, ClassColour(q.Class))
	}
	return r
}

// ringed are dots with a white edge, seen on any ground.
type ringed struct {
	at           plotter.XYs
	colours      []color.NRGBA
	radius, edge vg.Length
}

func (r ringed) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for k, q := range r.at {
		at := vg.Point{X: x(q.X), Y: y(q.Y)}
		if !c.Contains(at) {
			continue
		}
		c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: r.radius + r.edge, Shape: draw.CircleGlyph{}}, at)
		c.DrawGlyph(draw.GlyphStyle{Color: r.colours[k], Radius: r.radius, Shape: draw.CircleGlyph{}}, at)
	}
}

// swatch is a filled square of a legend.
type swatch struct{ colour color.Color }

func (s swatch) Thumbnail(c *draw.Canvas) { c.FillPolygon(s.colour, corners(c.Rectangle)) }
