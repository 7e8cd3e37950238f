package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// isotonicLine is a curve in a diagram of several on one axis.
type isotonicLine struct {
	Name string
	Ours bool // drawn in front, with its band and its rows
	*metrics.Isotonic
}

// isotonic draws reliability curves by isotonic regression on one axis, below it the density of the rows. Of the line
// that is ours, or the only one, it draws the band of calibrated predictions, and ticks for some rows: above where the
// top class is right, below where it is wrong.
func isotonic(title string, lines []isotonicLine) *Figure {
	curve, density := newPlot(), newPlot()
	curve.Title.Text = title
	curve.Y.Label.Text, density.X.Label.Text, density.Y.Label.Text = "frequency", "probability of the top class", "% of the rows"
	const entry = 0.05                                                 // of the axis, that a line of the legend takes
	curve.Y.Min, curve.Y.Max = -0.04, 1.07+entry*float64(len(lines)+1) // the legend is above all that is drawn
	curve.Add(newGridLines(), newDiagonal())
	left, least, most := 1.0, 100.0, 0.0
	for k, l := range lines {
		if l.Ours = l.Ours || len(lines) == 1; l.Ours {
			l.addBehind(curve)
		}
		colour, _ := look(k, l.Ours)
		line := l.line(colour)
		curve.Add(line)
		curve.Legend.Add(fmt.Sprintf("%s: miscalibration %.4f", l.Name, l.Miscalibration), line.parts[0].(*plotter.Line))
		density.Add(l.outline(colour))
		if first := slices.IndexFunc(l.Density, func(share float64) bool { return share > 0 }); first >= 0 {
			left = min(left, float64(first)/float64(len(l.Density)))
		}
		for _, share := range l.Density {
			if share > 0 {
				least, most = min(least, 100*share), max(most, 100*share)
			}
		}
	}
	for _, p := range []*chart{curve, density} {
		p.X.Min, p.X.Max, p.X.Tick.Marker = left, 1, evenTicks{}
	}
	curve.Y.Tick.Marker = unitTicks(5)
	density.Y.Min, density.Y.Max = math.Floor(math.Log10(least)), math.Ceil(math.Log10(most)+0.01)
	density.Y.Tick.Marker = decades{}
	curve.Legend.Top, curve.Legend.Left = true, true
	curve.Legend.XOffs, curve.Legend.YOffs = vg.Points(8), vg.Points(-2)
	return newStack([]*chart{curve, density}, []float64{0.74, 0.26}, 12*vg.Centimeter, 15*vg.Centimeter)
}

// line is the curve, with the texts of its corners.
func (l isotonicLine) line(colour color.NRGBA) *marked {
	m := &marked{name: l.Name}
	var corners plotter.XYs
	for i, x := range l.X {
		corners = append(corners, plotter.XY{X: x, Y: l.Y[i]})
		m.label(x, l.Y[i], fmt.Sprintf("%s: of rows at %.3f the top class is right in %.3f", l.Name, x, l.Y[i]))
	}
	m.add(newLine(colour, vg.Points(1.6), corners...))
	return m
}

// addBehind adds the band and the ticks.
func (l isotonicLine) addBehind(p *chart) {
	if l.Places != nil {
		var edge plotter.XYs
		for k, x := range l.Places {
			edge = append(edge, plotter.XY{X: x, Y: l.High[k]})
		}
		for k := len(l.Places) - 1; k >= 0; k-- {
			edge = append(edge, plotter.XY{X: l.Places[k], Y: l.Low[k]})
		}
		band := newFill(faint(grey), edge...)
		p.Add(band)
		p.Legend.Add("95 % of calibrated predictions", band)
	}
	for _, ticks := range []struct {
		at       []float64
		from, to float64
	}{{l.Right, 1.01, 1.04}, {l.Wrong, -0.04, -0.01}} {
		for _, x := range ticks.at {
			p.Add(newLine(faded(ours), vg.Points(0.5), plotter.XY{X: x, Y: ticks.from}, plotter.XY{X: x, Y: ticks.to}))
		}
	}
}

// outline is the density of the rows: the logarithm of their shares in %, of a part without rows far below all others.
func (l isotonicLine) outline(colour color.NRGBA) *marked {
	const none = -9
	var corners plotter.XYs
	parts := float64(len(l.Density))
	for k, share := range l.Density {
		height := math.Max(none, math.Log10(100*share))
		corners = append(corners, plotter.XY{X: float64(k) / parts, Y: height}, plotter.XY{X: float64(k+1) / parts, Y: height})
	}
	return &marked{name: l.Name, parts: []plot.Plotter{newLine(colour, vg.Points(1.2), corners...)}}
}
