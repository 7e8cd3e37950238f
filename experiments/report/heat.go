package report

import (
	"image/color"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// HeatPanel is a matrix of colours with names on both axes.
type HeatPanel struct {
	Title, X, Y   string
	Values        *mat.Dense // rows upward × columns rightward; NaN stays white
	Rows, Columns []string
	Text          func(float64) string // written into each cell; nil for none
	Low, High     float64              // ends of the colours; both 0: those of the values
	Width, Height vg.Length            // of the panel
}

// Heat draws the panels side by side, each with the bar of its colours.
func Heat(panels []HeatPanel, columns int) *Figure {
	var plots []*chart
	var width vg.Length
	bars := map[*plot.Plot]colourBar{}
	for _, panel := range panels {
		width = max(width, panel.Width)
		p, bar := panel.plot()
		plots, bars[p.Plot] = append(plots, p), bar
	}
	f := newGrid(plots, columns, width, panels[0].Height, nil, bars)
	f.points.head = []string{"panel", "row", "column", "value"}
	for _, panel := range panels {
		for i, row := range panel.Rows {
			for j, column := range panel.Columns {
				if v := panel.Values.At(i, j); !math.IsNaN(v) {
					f.points.add(panel.Title, row, column, v)
				}
			}
		}
	}
	return f
}

// limits are the least and the greatest value that have colours.
func (panel HeatPanel) limits() (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range panel.Values.RawMatrix().Data {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high {
		err, low, high = errNothing, 0, 1
	}
	if low == high {
		high = low + max(1e-9, math.Abs(low)*1e-3)
	}
	if panel.High > panel.Low {
		low, high = panel.Low, panel.High
	}
	return low, high, err
}

func (panel HeatPanel) plot() (*chart, colourBar) {
	p := newPlot()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.Title, panel.X, panel.Y
	var low, high float64
	low, high, p.err = panel.limits()
	colour := func(v float64) color.NRGBA {
		t := (v - low) / (high - low)
		if panel.Text != nil {
			t *= 0.47 // beyond, letters in the dark have a contrast below 4.5
		}
		return sequential(t)
	}
	rows, columns := panel.Values.Dims()
	p.Add(cells{panel, colour})
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -.5, float64(columns)-.5, -.5, float64(rows)-.5
	p.X.Tick.Marker = namedTicks{names: panel.Columns}
	p.Y.Tick.Marker = namedTicks{names: panel.Rows}
	p.X.Tick.Length, p.Y.Tick.Length = 0, 0
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
	return p, colourBar{low, high, colour}
}

// cells fills a unit square around each place of the matrix.
type cells struct {
	HeatPanel
	colour func(float64) color.NRGBA
}

func (h cells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	rows, columns := h.Values.Dims()
	for i := range rows {
		for j := range columns {
			v := h.Values.At(i, j)
			if math.IsNaN(v) {
				continue
			}
			cell := vg.Rectangle{Min: vg.Point{X: x(float64(j) - .5), Y: y(float64(i) - .5)}, Max: vg.Point{X: x(float64(j) + .5), Y: y(float64(i) + .5)}}
			c.FillPolygon(h.colour(v), corners(cell))
			if h.Text != nil {
				h.write(c, p, cell, h.Text(v))
			}
		}
	}
}

// write writes text into a cell that has room for it.
func (h cells) write(c draw.Canvas, p *plot.Plot, cell vg.Rectangle, text string) {
	style := p.Y.Tick.Label
	style.Rotation, style.XAlign, style.YAlign = 0, draw.XCenter, draw.YCenter
	if size := cell.Size(); style.Width(text)+2 <= size.X && nameLine <= size.Y {
		c.FillText(style, vg.Point{X: (cell.Min.X + cell.Max.X) / 2, Y: (cell.Min.Y + cell.Max.Y) / 2}, text)
	}
}

// sequential goes from pale to dark blue for t from 0 to 1.
func sequential(t float64) color.NRGBA {
	stops := []color.NRGBA{{0xf3, 0xf7, 0xfb, 0xff}, {0xa6, 0xc8, 0xe4, 0xff}, {0x3d, 0x85, 0xc0, 0xff}, {0x08, 0x30, 0x6b, 0xff}}
	t = min(max(t, 0), 1) * float64(len(stops)-1)
	k := min(int(t), len(stops)-2)
	t -= float64(k)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-t) + float64(b)*t)) }
	a, b := stops[k], stops[k+1]
	return color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}
