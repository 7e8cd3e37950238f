package report

import (
	"fmt"
	"image/color"
	"math"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Reliability draws a reliability diagram: frequency against confidence with the 95 %
// interval of each bin, the diagonal of perfect calibration, the calibration error of
// these bins, and below it how many predictions each bin holds, on a logarithmic scale.
func Reliability(title string, c *metrics.Curve) *Figure {
	curve := newPlot()
	curve.Title.Text = title
	curve.Y.Label.Text = "observed frequency"
	curve.X.Min, curve.X.Max, curve.Y.Min, curve.Y.Max = 0, 1, 0, 1
	curve.X.Tick.Marker, curve.Y.Tick.Marker = unitTicks(5), unitTicks(5)
	curve.Add(newGridLines())
	curve.Add(newDiagonal(), reliabilityBins(c, ours))
	rows, ece := calibrationError(c)
	curve.X.Label.Text = fmt.Sprintf("95 %% Clopper–Pearson intervals; dashes: perfect calibration\nmean gap of the bins %.4f, %d predictions", ece, rows)
	f := newStack([]*chart{curve, binCounts(c)}, []float64{0.74, 0.26}, 12*vg.Centimeter, 15*vg.Centimeter, nil)
	f.points.head = []string{"of", "confidence", "frequency", "low", "high", "rows"}
	Diagram{title, c}.record(&f.points, title)
	return f
}

// newDiagonal is where a calibrated model's bins lie.
func newDiagonal() *plotter.Line { return newDashes(plotter.XY{}, plotter.XY{X: 1, Y: 1}) }

// reliabilityBins are the bins of c with their intervals.
func reliabilityBins(c *metrics.Curve, colour color.NRGBA) *marked {
	m := &marked{}
	var points plotter.XYs
	var bars interval
	for k, n := range c.Count {
		if n == 0 {
			continue
		}
		points = append(points, plotter.XY{X: c.Confidence[k], Y: c.Frequency[k]})
		bars.add(c.Confidence[k], c.Frequency[k], c.Low[k], c.High[k])
		m.label(c.Confidence[k], c.Frequency[k], fmt.Sprintf("confidence %.3f, frequency %.3f (%.3f – %.3f), %d predictions", c.Confidence[k], c.Frequency[k], c.Low[k], c.High[k], n))
	}
	m.add(newLine(faded(colour), vg.Points(1.2), points...), bars.plotter(colour), newDots(colour, vg.Points(2.2), points...))
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

// binCounts is a bar for each bin of the unit interval.
func binCounts(c *metrics.Curve) *chart {
	p := newPlot()
	p.X.Label.Text = "confidence"
	p.Y.Label.Text = "predictions"
	p.X.Min, p.X.Max = 0, 1
	p.X.Tick.Marker = unitTicks(5)
	most := 0.0
	bins := float64(len(c.Count))
	const foot = -0.3 // half a prediction, so that the bar of one shows
	for k, n := range c.Count {
		if n == 0 {
			continue
		}
		top := math.Log10(float64(n))
		most = max(most, top)
		p.Add(newBox(ours, float64(k)/bins, float64(k+1)/bins, foot, top))
	}
	p.Y.Min, p.Y.Max = foot, max(1, math.Ceil(most))
	p.Y.Tick.Marker = decades{}
	return p
}

// decades ticks 1, 10, 100, … of a logarithmic axis, every other one if they are many.
type decades struct{}

var _ plot.Ticker = decades{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	step := 1.0
	if high-low > 4 {
		step = 2
	}
	for e := step * math.Ceil(low/step); e <= high; e += step {
		ticks = append(ticks, plot.Tick{Value: e, Label: short(math.Pow(10, e))})
	}
	return ticks
}
