package report

import (
	"fmt"

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
	bins := float64(len(d.Count))
	for k, n := range d.Count {
		if n > 0 {
			left, right, share := float64(k)/bins, float64(k+1)/bins, float64(n)/float64(rows)
			p.Add(newBox(pale, left, right, 0, share), newLine(grey, vg.Points(.8), plotter.XY{X: left, Y: share}, plotter.XY{X: right, Y: share}))
			drawn.add(d.Name, d.Confidence[k], d.Frequency[k], d.Low[k], d.High[k], n)
		}
	}
	p.Add(newDiagonal(), reliabilityBins(d.Curve, ours))
	return p
}
