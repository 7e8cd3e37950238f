package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// smoothed draws how often the top class is right against its probability: of each method a smooth curve, of the last, which is judged
// and drawn in front, its band, bins of equal weight, and bars where the bins of calibrated predictions would lie. Below it is the
// density of the rows.
func smoothed(all []Shown) *Figure {
	curve, density := newPlot(), newPlot()
	curve.Title.Text = "Reliability of the top class"
	curve.Y.Label.Text, density.X.Label.Text, density.Y.Label.Text = "frequency", "probability of the top class", "% of the rows"
	var legend keys
	points := points{head: []string{"method", "part", "x", "y", "low", "high", "rows"}}
	curve.Add(newGridLines(), newDiagonal())
	left, bottom, least, most := 1.0, 1.0, 100.0, 0.0
	for k, s := range all {
		judged := k == len(all)-1
		colour, _ := look(k, judged)
		if judged {
			bottom = min(bottom, s.addBins(curve, colour, &legend))
		}
		drawn, low := s.curve(colour)
		curve.Add(drawn)
		bottom = min(bottom, low)
		legend.add(fmt.Sprintf("%s: smECE %.4f", s.Name, s.Reliability.Curve.Error), newLine(colour, curveWidth))
		density.Add(s.outline(colour))
		s.record(&points)
		for part, share := range s.Reliability.Density {
			if share > 0 {
				left = min(left, float64(part)/float64(len(s.Reliability.Density)))
				least, most = min(least, 100*share), max(most, 100*share)
			}
		}
	}
	for _, p := range []*chart{curve, density} {
		p.X.Min, p.X.Max, p.X.Tick.Marker = left, 1, evenTicks{}
	}
	const edge = 0.02 // of the height: a line along it would be half a line
	curve.Y.Min, curve.Y.Max = min(left, bottom), 1
	curve.Y.Min, curve.Y.Max = curve.Y.Min-edge*(1-curve.Y.Min), 1+edge*(1-curve.Y.Min)
	density.Y.Min, density.Y.Max = math.Floor(math.Log10(least)), math.Ceil(math.Log10(most)+0.01)
	density.Y.Tick.Marker = decades{}
	f := newStack([]*chart{curve, density}, []float64{0.74, 0.26}, 12*vg.Centimeter, 15*vg.Centimeter, legend)
	f.points = points
	return f
}

// xys are the points of two lists.
func xys(x, y []float64) (points plotter.XYs) {
	for i := range x {
		points = append(points, plotter.XY{X: x[i], Y: y[i]})
	}
	return points
}

// record adds the curve with its band, the bins with their bars, and the shares of the rows.
func (s Shown) record(to *points) {
	c, none := s.Reliability.Curve, math.NaN()
	for i, x := range c.At {
		to.add(s.Name, "curve", x, c.Frequency[i], at(c.Low, i), at(c.High, i), "")
	}
	for _, b := range s.Reliability.Bins {
		to.add(s.Name, "bin, and bins of calibrated predictions", b.Confidence, b.Frequency, b.Low, b.High, b.Rows)
	}
	for k, share := range s.Reliability.Density {
		to.add(s.Name, "share of the rows from x on", float64(k)/float64(len(s.Reliability.Density)), share, none, none, "")
	}
}

const curveWidth = vg.Length(1.6)

// curve is the line, with the texts of some of its points, and its lowest point. It ends where there are too few rows.
func (s Shown) curve(colour color.NRGBA) (m *marked, bottom float64) {
	m, bottom = &marked{name: s.Name}, 1
	c := s.Reliability.Curve
	for _, part := range unbroken(c.At) {
		line := xys(c.At[part[0]:part[1]], c.Frequency[part[0]:part[1]])
		for i, p := range line {
			if bottom = min(bottom, p.Y); i%5 == 0 {
				m.label(p.X, p.Y, fmt.Sprintf("%s: of rows near %.3f the top class is right in %.3f", s.Name, p.X, p.Y))
			}
		}
		m.add(newLine(colour, curveWidth, line...))
	}
	return m, bottom
}

// unbroken are the parts of ascending places that are even, each from its first to before its last, and long enough for a line.
func unbroken(at []float64) (parts [][2]int) {
	step := math.Inf(1)
	for i := range max(0, len(at)-1) {
		step = min(step, at[i+1]-at[i])
	}
	first := 0
	for i := range at {
		if i == len(at)-1 || at[i+1]-at[i] > 1.5*step {
			if i > first {
				parts = append(parts, [2]int{first, i + 1})
			}
			first = i + 1
		}
	}
	return parts
}

// addBins adds the bars of calibrated predictions, the band of the curve and the bins, and returns the lowest of them.
func (s Shown) addBins(p *chart, colour color.NRGBA, legend *keys) (bottom float64) {
	c, bottom := s.Reliability.Curve, 1.
	var bars interval
	var dots plotter.XYs
	m := &marked{name: s.Name}
	for _, b := range s.Reliability.Bins {
		bars.add(b.Confidence, b.Confidence, b.Low, b.High)
		dots = append(dots, plotter.XY{X: b.Confidence, Y: b.Frequency})
		m.label(b.Confidence, b.Frequency, fmt.Sprintf("%s: %d rows of %.3f on average, right in %.3f; if calibrated %.3f to %.3f", s.Name, b.Rows, b.Confidence, b.Frequency, b.Low, b.High))
		bottom = min(bottom, b.Frequency, b.Low)
	}
	calibrated := bars.plotter(shade)
	calibrated.Width, calibrated.CapWidth = vg.Points(5), 0
	p.Add(calibrated)
	legend.add("95 % of the bins of calibrated predictions", newLine(shade, vg.Points(5)))
	for _, part := range unbroken(c.At) {
		if c.Low == nil {
			break
		}
		low, high := xys(c.At[part[0]:part[1]], c.Low[part[0]:part[1]]), xys(c.At[part[0]:part[1]], c.High[part[0]:part[1]])
		slices.Reverse(high)
		band := newFill(faint(colour), append(low, high...)...)
		m.add(band)
		legend.add("95 % of the curves if rows were drawn again", band)
		bottom = min(bottom, slices.Min(c.Low))
	}
	bins := newDots(colour, vg.Points(2.6), dots...)
	m.add(bins)
	legend.add(fmt.Sprintf("bins of about %d rows", s.Reliability.Bins[0].Rows), bins)
	p.Add(m)
	return bottom
}

// outline is the density of the rows: the logarithm of their shares in %, of a part without rows far below all others.
func (s Shown) outline(colour color.NRGBA) *marked {
	const none = -9
	var corners plotter.XYs
	parts := float64(len(s.Reliability.Density))
	for k, share := range s.Reliability.Density {
		height := math.Max(none, math.Log10(100*share))
		corners = append(corners, plotter.XY{X: float64(k) / parts, Y: height}, plotter.XY{X: float64(k+1) / parts, Y: height})
	}
	return &marked{name: s.Name, parts: []plot.Plotter{newLine(colour, vg.Points(1.2), corners...)}}
}
