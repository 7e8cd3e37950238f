package report

import (
	"fmt"
	"math"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Diagram is one method's reliability diagram.
type Diagram struct {
	Name string
	*metrics.Curve
}

// Diagrams draws small reliability diagrams side by side, each with the 95 % intervals of
// its bins, their shares of the rows as grey bars, and its calibration error.
func Diagrams(diagrams []Diagram) *Figure {
	var plots []*chart
	bins := points{head: []string{"method", "confidence", "frequency", "low", "high", "rows"}}
	for k, d := range diagrams {
		p := d.plot(&bins)
		if k%5 == 0 {
			p.Y.Label.Text = "frequency"
		}
		plots = append(plots, p)
	}
	return newGrid(plots, 5, 4.4*vg.Centimeter, 5.2*vg.Centimeter, nil, bins)
}

// plot draws the bins that hold rows, and adds them to those that are drawn.
func (d Diagram) plot(drawn *points) *chart {
	rows, ece := calibrationError(d.Curve)
	p := newSquare(fmt.Sprintf("%s\nECE %.4f", d.Name, ece), "")
	bins, intervals := float64(len(d.Count)), &marked{}
	var dots plotter.XYs
	for k, n := range d.Count {
		if n > 0 {
			left, right, share := float64(k)/bins, float64(k+1)/bins, float64(n)/float64(rows)
			p.Add(newBox(pale, left, right, 0, share), newLine(grey, vg.Points(.8), plotter.XY{X: left, Y: share}, plotter.XY{X: right, Y: share}))
			drawn.add(d.Name, d.Confidence[k], d.Frequency[k], d.Low[k], d.High[k], n)
			dots = append(dots, plotter.XY{X: d.Confidence[k], Y: d.Frequency[k]})
			intervals.add(newBar(ours, d.Confidence[k], d.Low[k], d.High[k]))
			intervals.label(d.Confidence[k], d.Frequency[k], fmt.Sprintf("confidence %.3f, frequency %.3f (%.3f – %.3f), %d predictions", d.Confidence[k], d.Frequency[k], d.Low[k], d.High[k], n))
		}
	}
	intervals.add(newDots(ours, vg.Points(2.2), dots...))
	p.Add(newDiagonal(), intervals)
	return p
}

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
