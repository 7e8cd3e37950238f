package report

import (
	"fmt"
	"image/color"
	"math"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// newSquare is a plot of a frequency against confidence, both from 0 to 1.
func newSquare(title, frequency string) *chart {
	p := newPlot()
	p.square, p.Title.Text, p.X.Label.Text, p.Y.Label.Text = true, title, "confidence", frequency
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.X.Tick.Marker, p.Y.Tick.Marker = unitTicks, unitTicks
	p.Add(newGridLines())
	return p
}

// newDiagonal is where a calibrated model's bins lie.
func newDiagonal() *plotter.Line { return newDashes(plotter.XY{}, plotter.XY{X: 1, Y: 1}) }

// reliabilityBins are the bins of c with their intervals.
func reliabilityBins(c *metrics.Curve, colour color.NRGBA) *marked {
	m := &marked{}
	var points plotter.XYs
	for k, n := range c.Count {
		if n == 0 {
			continue
		}
		points = append(points, plotter.XY{X: c.Confidence[k], Y: c.Frequency[k]})
		m.add(newBar(colour, c.Confidence[k], c.Low[k], c.High[k]))
		m.label(c.Confidence[k], c.Frequency[k], fmt.Sprintf("confidence %.3f, frequency %.3f (%.3f – %.3f), %d predictions", c.Confidence[k], c.Frequency[k], c.Low[k], c.High[k], n))
	}
	m.add(newDots(colour, vg.Points(2.2), points...))
	return m
}

// calibrationError is Σ_k n_k/n |confidence_k − frequency_k| over the bins, and n.
func calibrationError(c *metrics.Curve) (n int, ece float64) {
	for k, rows := range c.Count {
		if rows > 0 {
			n += rows
			ece += float64(rows) * math.Abs(c.Confidence[k]-c.Frequency[k])
		}
	}
	return n, ece / float64(n)
}
