package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"calibra/experiments/diagnosis"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// isotonic draws reliability curves by isotonic regression on one axis, below it the density of the rows. Of the last,
// which is judged and drawn in front, it draws the band of calibrated predictions, and ticks for some rows: above where
// the top class is right, below where it is wrong.
func isotonic(all []Shown) *Figure {
	curve, density := newPlot(), newPlot()
	curve.Title.Text = "Reliability by isotonic regression"
	curve.Y.Label.Text, density.X.Label.Text, density.Y.Label.Text = "frequency", "probability of the top class", "% of the rows"
	curve.Y.Min, curve.Y.Max = -0.04, 1.04
	var legend keys
	points := points{head: []string{"method", "part", "x", "y", "low", "high"}}
	curve.Add(newGridLines(), newDiagonal())
	left, least, most := 1.0, 100.0, 0.0
	for k, s := range all {
		judged := k == len(all)-1
		if judged {
			addBehind(curve, s.Isotonic, &legend)
		}
		colour, _ := look(k, judged)
		line := s.line(colour)
		curve.Add(line)
		legend.add(fmt.Sprintf("%s: miscalibration %.4f", s.Name, s.Isotonic.Miscalibration), line.parts[0].(*plotter.Line))
		density.Add(s.outline(colour))
		s.record(&points)
		if first := slices.IndexFunc(s.Isotonic.Density, func(share float64) bool { return share > 0 }); first >= 0 {
			left = min(left, float64(first)/float64(len(s.Isotonic.Density)))
		}
		for _, share := range s.Isotonic.Density {
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
	f := newStack([]*chart{curve, density}, []float64{0.74, 0.26}, 12*vg.Centimeter, 15*vg.Centimeter, legend)
	f.points = points
	return f
}

// record adds the corners of the curve, its band and the shares of the rows.
func (s Shown) record(to *points) {
	none := math.NaN()
	for i, x := range s.Isotonic.X {
		to.add(s.Name, "curve", x, s.Isotonic.Y[i], none, none)
	}
	for i, x := range s.Isotonic.Places {
		to.add(s.Name, "calibrated", x, none, s.Isotonic.Low[i], s.Isotonic.High[i])
	}
	for k, share := range s.Isotonic.Density {
		to.add(s.Name, "share of the rows from x on", float64(k)/float64(len(s.Isotonic.Density)), share, none, none)
	}
}

// line is the curve, with the texts of its corners.
func (s Shown) line(colour color.NRGBA) *marked {
	m := &marked{name: s.Name}
	var corners plotter.XYs
	for i, x := range s.Isotonic.X {
		corners = append(corners, plotter.XY{X: x, Y: s.Isotonic.Y[i]})
		m.label(x, s.Isotonic.Y[i], fmt.Sprintf("%s: of rows at %.3f the top class is right in %.3f", s.Name, x, s.Isotonic.Y[i]))
	}
	m.add(newLine(colour, vg.Points(1.6), corners...))
	return m
}

// addBehind adds the band and the ticks of a curve.
func addBehind(p *chart, l *diagnosis.Isotonic, legend *keys) {
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
		legend.add("95 % of calibrated predictions", band)
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
func (s Shown) outline(colour color.NRGBA) *marked {
	const none = -9
	var corners plotter.XYs
	parts := float64(len(s.Isotonic.Density))
	for k, share := range s.Isotonic.Density {
		height := math.Max(none, math.Log10(100*share))
		corners = append(corners, plotter.XY{X: float64(k) / parts, Y: height}, plotter.XY{X: float64(k+1) / parts, Y: height})
	}
	return &marked{name: s.Name, parts: []plot.Plotter{newLine(colour, vg.Points(1.2), corners...)}}
}
