package report

import (
	"fmt"
	"math"

	"calibra/data"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Gains are the changes by one method on several sources.
type Gains struct {
	Method  string
	Ours    bool // in the colour of the paper's calibrator
	Sources []Gain
}

// Gain is a change of NLL in percent with its 95 % interval, NaN of equal predictions.
type Gain struct {
	Source            string
	Change, Low, High float64
}

// DrawGains draws the methods on one axis, below each other in each source: on the left of the line at 0 the NLL is
// lower. All methods have the same sources.
func DrawGains(all []Gains) *Figure {
	sources := all[0].Sources
	p := newLanes(data.Each(sources, func(g Gain) string { return g.Source }))
	p.X.Label.Text = "change of NLL, %"
	p.Add(newDashes(plotter.XY{X: 0, Y: p.Y.Min}, plotter.XY{X: 0, Y: p.Y.Max}))
	var legend keys
	points := points{head: []string{"method", "source", "change", "low", "high"}}
	low, high := 0., 0.
	for i, method := range all {
		m, dots := &marked{name: method.Method}, plotter.XYs{}
		colour, shape := look(i, method.Ours)
		for j, g := range method.Sources {
			y := float64(len(sources)-j) + 0.7*(0.5-(float64(i)+0.5)/float64(len(all)))
			dots = append(dots, plotter.XY{X: g.Change, Y: y})
			if !math.IsNaN(g.Low) {
				m.add(newLine(faded(colour), vg.Points(2), plotter.XY{X: g.Low, Y: y}, plotter.XY{X: g.High, Y: y}))
				low, high = math.Min(low, g.Low), math.Max(high, g.High)
			}
			m.label(g.Change, y, fmt.Sprintf("%s, %s: %+.1f %% (%+.1f to %+.1f)", method.Method, g.Source, g.Change, g.Low, g.High))
			points.add(method.Method, g.Source, g.Change, g.Low, g.High)
		}
		marks := newDots(colour, vg.Points(3), dots...)
		marks.Shape = shape
		m.add(marks)
		p.Add(m)
		legend.add(method.Method, marks)
	}
	edge := 0.03 * (high - low)
	p.X.Min, p.X.Max = low-edge, high+edge
	f := newGrid([]*chart{p}, 1, 17*vg.Centimeter, vg.Length(len(sources)+2)*0.9*vg.Centimeter, legend, nil)
	f.points = points
	return f
}
