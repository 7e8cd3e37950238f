package report

import (
	"fmt"

	"calibra/experiments/metrics"

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
	for k, d := range diagrams {
		p := d.plot()
		if k%5 == 0 {
			p.Y.Label.Text = "frequency"
		}
		plots = append(plots, p)
	}
	f := newGrid(plots, 5, 4.4*vg.Centimeter, 5.2*vg.Centimeter, nil, nil)
	f.points.head = []string{"method", "confidence", "frequency", "low", "high", "rows"}
	for _, d := range diagrams {
		d.record(&f.points, d.Name)
	}
	return f
}

func (d Diagram) plot() *chart {
	p := newPlot()
	rows, ece := calibrationError(d.Curve)
	p.Title.Text = fmt.Sprintf("%s\nECE %.4f", d.Name, ece)
	p.X.Label.Text = "confidence"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.X.Tick.Marker, p.Y.Tick.Marker = unitTicks(2), unitTicks(2)
	p.Add(newGridLines())
	bins := float64(len(d.Count))
	for k, n := range d.Count {
		if n == 0 {
			continue
		}
		p.Add(newBox(faint(grey), float64(k)/bins, float64(k+1)/bins, 0, float64(n)/float64(rows)))
	}
	p.Add(newDiagonal(), reliabilityBins(d.Curve, ours))
	return p
}

// record adds the bins that hold rows.
func (d Diagram) record(to *points, name string) {
	for k, n := range d.Count {
		if n > 0 {
			to.add(name, d.Confidence[k], d.Frequency[k], d.Low[k], d.High[k], n)
		}
	}
}
