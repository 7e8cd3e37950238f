package report

import (
	"bytes"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	_ "gonum.org/v1/plot/vg/vgsvg" // svg
)

// The colours of all figures; blue and orange stay apart for colour-blind readers.
var (
	blue   = color.NRGBA{0x1f, 0x77, 0xb4, 0xff}
	orange = color.NRGBA{0xd9, 0x5f, 0x02, 0xff}
	grey   = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	pale   = color.NRGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// faint is c as the fill of a band.
func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x40
	return c
}

// Figure is plots above each other, sharing the x axis's extent on the page, or
// plots in a grid, with a legend beside them if it has entries.
type Figure struct {
	panels        []panel
	grid          [][]*plot.Plot // in place of panels; rows of one length, nil where there is none
	legend        *plot.Legend
	strip         vg.Length // on the right, for the legend
	width, height vg.Length
}

type panel struct {
	plot  *plot.Plot
	share float64 // of the height
}

// margin is the white around a figure.
const margin = vg.Length(10)

// Formats are the file formats a figure can be drawn in.
var Formats = []string{"svg", "png"}

// Render draws the figure in one of Formats. Equal figures give equal bytes.
func (f *Figure) Render(format string) ([]byte, error) {
	canvas, err := draw.NewFormattedCanvas(f.width, f.height, format)
	if err != nil {
		return nil, fmt.Errorf("report: draw a figure: %w", err)
	}
	page := draw.New(canvas)
	// an SVG has no ground of its own, and black letters are lost on a dark one
	page.FillPolygon(color.White, []vg.Point{page.Min, {X: page.Max.X, Y: page.Min.Y}, page.Max, {X: page.Min.X, Y: page.Max.Y}})
	f.draw(draw.Crop(page, margin, -margin, margin, -margin))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: write a figure: %w", err)
	}
	// gonum/plot calls the PNG pictures in an SVG JPEG, which not every reader forgives.
	return bytes.ReplaceAll(out.Bytes(), []byte("data:image/jpg;base64,"), []byte("data:image/png;base64,")), nil
}

// draw lays the panels out from the top.
func (f *Figure) draw(page draw.Canvas) {
	if f.grid != nil {
		f.drawGrid(page)
		return
	}
	if len(f.panels) == 1 {
		f.panels[0].plot.Draw(page)
		return
	}
	column := make([][]*plot.Plot, len(f.panels))
	for k, p := range f.panels {
		column[k] = []*plot.Plot{p.plot}
	}
	// the data areas get one left and one right edge
	aligned := plot.Align(column, draw.Tiles{Rows: len(column), Cols: 1}, page)
	top, height := page.Max.Y, page.Max.Y-page.Min.Y
	for k, p := range f.panels {
		cell := aligned[k][0]
		cell.Max.Y = top
		top -= vg.Length(p.share) * height
		cell.Min.Y = top
		p.plot.Draw(cell)
	}
}

// newPlot is a plot in the style of all figures.
func newPlot() *plot.Plot {
	p := plot.New()
	p.Title.Padding = vg.Points(6)
	for _, text := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		text.Font.Variant = "Sans"
		text.Font.Size = 10
	}
	p.Title.TextStyle.Font.Size = 12
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.Padding = vg.Points(4)
		axis.Padding = 0
		axis.LineStyle.Color, axis.Tick.Color = grey, grey
	}
	p.Legend.ThumbnailWidth = vg.Points(16)
	p.Legend.Padding = vg.Points(2)
	return p
}
