package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// isotonic draws of each method how often the top class is right against its probability, in squares side by side.
func isotonic(all []Shown) *Figure {
	var legend keys
	var plots []*chart
	points := points{head: []string{"method", "part", "x", "y", "low", "high", "rows"}}
	for k, s := range all {
		colour, _ := look(k, k == len(all)-1)
		plots = append(plots, s.square(fmt.Sprintf("%s\nsmECE %.4f", clippedName(s.Name), s.Reliability.SmoothECE), colour, &legend))
		s.record(&points)
	}
	return newGrid(plots, 4, 7.5*vg.Centimeter, 8*vg.Centimeter, legend, points)
}

// square is the reliability of a method: the region of the curves of calibrated predictions, the isotonic curve, the
// wider the more rows lie there, its band, and bins of equal weight.
func (s Shown) square(title string, colour color.NRGBA, legend *keys) *chart {
	p := newSquare(title, "accuracy")
	if c := s.Reliability.Curve; len(c.CalibratedLow) > 1 {
		region, parts := band(shade, grey, xys(c.At, c.CalibratedLow), xys(c.At, c.CalibratedHigh))
		p.Add(parts...)
		legend.add("95 % of the curves of calibrated predictions", region)
	}
	p.Add(newDiagonal())
	s.addBins(p, colour, legend)
	p.Add(s.curve(colour))
	return p
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

// curve is the line, with the texts of some of its points.
func (s Shown) curve(colour color.NRGBA) *marked {
	m := &marked{name: s.Name}
	c, density := s.Reliability.Curve, s.Reliability.Density
	most := slices.Max(density)
	for i := range c.At[:len(c.At)-1] {
		share := density[min(int((c.At[i]+c.At[i+1])/2*float64(len(density))), len(density)-1)]
		m.add(newLine(colour, vg.Points(.6+3*math.Sqrt(share/most)), xys(c.At[i:i+2], c.Frequency[i:i+2])...))
	}
	for i := 0; i < len(c.At); i += 5 {
		text := fmt.Sprintf("%s: of rows near %.3f the top class is right in %.3f", s.Name, c.At[i], c.Frequency[i])
		if c.Low != nil {
			text += fmt.Sprintf(" (95 %% %.3f to %.3f)", c.Low[i], c.High[i])
		}
		m.label(c.At[i], c.Frequency[i], text)
	}
	return m
}

// addBins adds the band of the curve and the bins.
func (s Shown) addBins(p *chart, colour color.NRGBA, legend *keys) {
	c := s.Reliability.Curve
	var dots plotter.XYs
	m := &marked{name: s.Name}
	if len(c.Low) > 1 {
		area, parts := band(faint(colour), colour, xys(c.At, c.Low), xys(c.At, c.High))
		m.add(parts...)
		legend.add("95 % interval of the curve", area)
	}
	for _, b := range s.Reliability.Bins {
		dots = append(dots, plotter.XY{X: b.Confidence, Y: b.Frequency})
		m.label(b.Confidence, b.Frequency, fmt.Sprintf("%s: %d rows of %.3f on average, right in %.3f; if calibrated %.3f to %.3f", s.Name, b.Rows, b.Confidence, b.Frequency, b.Low, b.High))
	}
	bins := newDots(colour, vg.Points(2.6), dots...)
	m.add(bins)
	legend.add(fmt.Sprintf("bins of about %d rows", s.Reliability.Bins[0].Rows), bins)
	p.Add(m)
}
