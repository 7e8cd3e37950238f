package report

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// colourBar shows which colours of a map are which values.
type colourBar struct {
	low, high float64
	colour    func(float64) color.NRGBA
}

const (
	colourBarFrom  = vg.Length(8) // the map
	colourBarThick = vg.Length(10)
	colourBarSize  = letters
)

func (b colourBar) ticks() []plot.Tick { return evenTicks{}.Ticks(b.low, b.high) }

func (b colourBar) width() vg.Length {
	style := textStyle(colourBarSize)
	var widest vg.Length
	for _, t := range b.ticks() {
		widest = max(widest, style.Width(t.Label))
	}
	return colourBarFrom + colourBarThick + widest + vg.Points(8)
}

func (b colourBar) draw(c draw.Canvas) {
	left, right := c.Min.X+colourBarFrom, c.Min.X+colourBarFrom+colourBarThick
	height := c.Max.Y - c.Min.Y
	const steps = 64
	box := func(low, high vg.Length) []vg.Point {
		return corners(vg.Rectangle{Min: vg.Point{X: left, Y: low}, Max: vg.Point{X: right, Y: high}})
	}
	for k := range steps {
		low := c.Min.Y + height*vg.Length(k)/steps
		high := min(c.Max.Y, low+height/steps+0.5) // no white seams
		c.FillPolygon(b.colour(b.low+(b.high-b.low)*(float64(k)+.5)/steps), box(low, high))
	}
	line := draw.LineStyle{Color: grey, Width: vg.Points(0.5)}
	c.StrokeLines(line, append(box(c.Min.Y, c.Max.Y), vg.Point{X: left, Y: c.Min.Y}))
	style := textStyle(colourBarSize)
	for _, t := range b.ticks() {
		y := c.Min.Y + height*vg.Length((t.Value-b.low)/(b.high-b.low))
		c.StrokeLine2(line, right, y, right+vg.Points(3), y)
		c.FillText(style, vg.Point{X: right + vg.Points(5), Y: y}, t.Label)
	}
}
