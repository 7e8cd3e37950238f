package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// BarPanel is one plot of bars: a metric of all methods on one data set.
type BarPanel struct {
	Title string
	Bars  []Bar
}

// Bar is one method's mean over the seeds.
type Bar struct {
	Name     string
	Ours     bool
	Mean, SD float64 // NaN mean: no bar
	// Floor is what the metric would be of a perfectly calibrated model, NaN if that
	// is not known.
	Floor float64
}

// barWidth is what a bar takes along the axis, at least.
const barWidth = 0.95 * vg.Centimeter

// Bars draws the panels side by side: a bar a method with its standard deviation
// over the seeds, and a white-edged tick where noise alone would put it.
func Bars(panels []BarPanel) (*Figure, error) {
	var plots []*plot.Plot
	most := 0
	for _, panel := range panels {
		p, err := panel.plot()
		if err != nil {
			return nil, fmt.Errorf("report: bars of %s: %w", panel.Title, err)
		}
		plots = append(plots, p)
		most = max(most, len(panel.Bars))
	}
	return newGrid(plots, 2, max(8.5*vg.Centimeter, vg.Length(most)*barWidth), 7*vg.Centimeter, nil), nil
}

func (panel BarPanel) plot() (*plot.Plot, error) {
	p := newPlot()
	p.Title.Text = panel.Title
	grid := plainGrid()
	grid.Vertical.Width = 0
	p.Add(grid)
	var names []string
	var top float64
	for at, bar := range panel.Bars {
		names = append(names, bar.Name)
		if math.IsNaN(bar.Mean) {
			continue
		}
		top = max(top, bar.Mean+bar.SD)
		x := float64(at)
		body, err := plotter.NewPolygon(plotter.XYs{{X: x - .36, Y: 0}, {X: x + .36, Y: 0}, {X: x + .36, Y: bar.Mean}, {X: x - .36, Y: bar.Mean}})
		if err != nil {
			return nil, err
		}
		body.Color, body.LineStyle.Width = barColour(bar.Ours), 0
		p.Add(body)
		if bar.SD > 0 {
			spread, err := plotter.NewYErrorBars(oneError{x, bar.Mean, bar.SD})
			if err != nil {
				return nil, err
			}
			spread.CapWidth = vg.Points(6)
			spread.Width = vg.Points(1.1)
			p.Add(spread)
		}
		if !math.IsNaN(bar.Floor) {
			p.Add(floorTick{x, bar.Floor})
			top = max(top, bar.Floor)
		}
	}
	p.X.Min, p.X.Max = -.7, float64(len(panel.Bars))-.3
	p.X.Tick.Marker = namedTicks(names)
	p.X.Tick.Length = 0
	if slices.ContainsFunc(names, func(name string) bool { return p.X.Tick.Label.Width(name) > barWidth }) {
		p.X.Tick.Label.Rotation = math.Pi / 2
		p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XRight, draw.YCenter
		p.X.Padding = vg.Points(7) // gonum/plot lets rotated names reach into the plot
	}
	p.Y.Min, p.Y.Max = 0, max(top*1.06, 1e-9)
	p.Y.Tick.Marker = evenTicks{}
	return p, nil
}

func barColour(oursToo bool) color.Color {
	if oursToo {
		return ours
	}
	return color.NRGBA{0x9f, 0xb3, 0xc8, 0xff}
}

// floorTick is a short dark line with white edges at one bar's noise floor.
type floorTick struct{ x, y float64 }

func (t floorTick) Plot(c draw.Canvas, p *plot.Plot) {
	at, y := p.Transforms(&c)
	for _, line := range []struct {
		width  vg.Length
		colour color.Color
	}{{vg.Points(3.4), color.White}, {vg.Points(1.6), color.NRGBA{0xd9, 0x3b, 0x1f, 0xff}}} {
		c.StrokeLine2(draw.LineStyle{Color: line.colour, Width: line.width}, at(t.x-.36), y(t.y), at(t.x+.36), y(t.y))
	}
}

// oneError is a single error bar.
type oneError struct{ x, y, sd float64 }

func (e oneError) Len() int                     { return 1 }
func (e oneError) XY(int) (x, y float64)        { return e.x, e.y }
func (e oneError) YError(int) (low, up float64) { return min(e.sd, e.y), e.sd }

// namedTicks puts names at 0, 1, 2, …
type namedTicks []string

func (n namedTicks) Ticks(float64, float64) (ticks []plot.Tick) {
	for at, name := range n {
		ticks = append(ticks, plot.Tick{Value: float64(at), Label: name})
	}
	return ticks
}
