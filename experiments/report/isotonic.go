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

// mostWhole is up to how many methods are drawn with their bins and bands; of more only the judged one is.
const mostWhole = 2

// isotonic draws how often the top class is right against its probability: of each method the isotonic curve, its band, bins of equal
// weight, and the region of the curves of calibrated predictions. The last method is judged and drawn in front. Below is the density of
// the rows.
func isotonic(all []Shown) *Figure {
	curve, density := newPlot(), newPlot()
	curve.Title.Text = "Reliability of the top class"
	curve.Y.Label.Text, density.X.Label.Text, density.Y.Label.Text = "frequency", "probability of the top class", "% of the rows"
	var legend keys
	points := points{head: []string{"method", "part", "x", "y", "low", "high", "rows"}}
	curve.Add(newGridLines())
	whole := all
	if len(all) > mostWhole {
		whole = all[len(all)-1:]
	}
	for _, s := range whole {
		s.addCalibrated(curve, &legend)
	}
	curve.Add(newDiagonal())
	left, bottom, least, most := 1.0, 1.0, 100.0, 0.0
	for k, s := range all {
		colour, _ := look(k, k == len(all)-1)
		if k >= len(all)-len(whole) {
			bottom = min(bottom, s.addBins(curve, colour, &legend))
		}
		curve.Add(s.curve(colour))
		bottom = min(bottom, s.Reliability.Curve.Frequency[0])
		legend.add(fmt.Sprintf("%s: smECE %.4f", s.Name, s.Reliability.SmoothECE), newLine(colour, curveWidth))
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

// record adds the curve with its band, the region of calibrated predictions, the bins, and the shares of the rows.
func (s Shown) record(to *points) {
	c, none := s.Reliability.Curve, math.NaN()
	for i, x := range c.At {
		to.add(s.Name, "curve", x, c.Frequency[i], at(c.Low, i), at(c.High, i), "")
	}
	for i, low := range c.CalibratedLow {
		to.add(s.Name, "curves of calibrated predictions", c.At[i], none, low, c.CalibratedHigh[i], "")
	}
	for _, b := range s.Reliability.Bins {
		to.add(s.Name, "bin, and bins of calibrated predictions", b.Confidence, b.Frequency, b.Low, b.High, b.Rows)
	}
	for k, share := range s.Reliability.Density {
		to.add(s.Name, "share of the rows from x on", float64(k)/float64(len(s.Reliability.Density)), share, none, none, "")
	}
}

const curveWidth = vg.Length(1.6)

// curve is the line, with the texts of some of its points.
func (s Shown) curve(colour color.NRGBA) *marked {
	m := &marked{name: s.Name}
	c := s.Reliability.Curve
	for i := 0; i < len(c.At); i += 5 {
		text := fmt.Sprintf("%s: of rows near %.3f the top class is right in %.3f", s.Name, c.At[i], c.Frequency[i])
		if c.Low != nil {
			text += fmt.Sprintf(" (95 %% %.3f to %.3f)", c.Low[i], c.High[i])
		}
		m.label(c.At[i], c.Frequency[i], text)
	}
	m.add(newLine(colour, curveWidth, xys(c.At, c.Frequency)...))
	return m
}

// ribbon fills what lies between low and high.
func ribbon(colour color.Color, x, low, high []float64) *plotter.Polygon {
	back := xys(x, high)
	slices.Reverse(back)
	return newFill(colour, append(xys(x, low), back...)...)
}

// addCalibrated adds the region of the curves of calibrated predictions.
func (s Shown) addCalibrated(p *chart, legend *keys) {
	if c := s.Reliability.Curve; len(c.CalibratedLow) > 1 {
		region := ribbon(shade, c.At, c.CalibratedLow, c.CalibratedHigh)
		p.Add(region)
		legend.add("95 % of the curves of calibrated predictions", region)
	}
}

// addBins adds the band of the curve and the bins, and returns the lowest of them.
func (s Shown) addBins(p *chart, colour color.NRGBA, legend *keys) (bottom float64) {
	c, bottom := s.Reliability.Curve, 1.
	var dots plotter.XYs
	m := &marked{name: s.Name}
	if len(c.Low) > 1 {
		band := ribbon(faint(colour), c.At, c.Low, c.High)
		m.add(band)
		legend.add("95 % interval of the curve", band)
		bottom = slices.Min(c.Low)
	}
	for _, b := range s.Reliability.Bins {
		dots = append(dots, plotter.XY{X: b.Confidence, Y: b.Frequency})
		m.label(b.Confidence, b.Frequency, fmt.Sprintf("%s: %d rows of %.3f on average, right in %.3f; if calibrated %.3f to %.3f", s.Name, b.Rows, b.Confidence, b.Frequency, b.Low, b.High))
		bottom = min(bottom, b.Frequency)
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
