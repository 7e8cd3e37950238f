package report

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Diagram is one method's reliability diagram over several seeds: per bin of the
// top class's confidence its frequency of hits, with the least and the most over
// the seeds.
type Diagram struct {
	Name                             string
	Confidence, Frequency, Low, High []float64
	Share                            []float64 // of the rows, per bin
}

// Diagrams draws small reliability diagrams side by side, each with the shares of
// its bins as grey bars.
func Diagrams(diagrams []Diagram) (*Figure, error) {
	var plots []*plot.Plot
	for k, d := range diagrams {
		p, err := d.plot()
		if err != nil {
			return nil, fmt.Errorf("report: reliability of %s: %w", d.Name, err)
		}
		if k%5 == 0 {
			p.Y.Label.Text = "frequency"
		}
		plots = append(plots, p)
	}
	return newGrid(plots, 5, 4.4*vg.Centimeter, 4.8*vg.Centimeter, nil), nil
}

func (d Diagram) plot() (*plot.Plot, error) {
	p := newPlot()
	p.Title.Text = d.Name
	p.X.Label.Text = "confidence"
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.X.Tick.Marker, p.Y.Tick.Marker = halves{}, halves{}
	p.Add(plainGrid())
	var points, low, high plotter.XYs
	bins := float64(len(d.Share))
	for k, share := range d.Share {
		if share == 0 {
			continue
		}
		left, right := float64(k)/bins, float64(k+1)/bins
		bar, err := plotter.NewPolygon(plotter.XYs{{X: left, Y: 0}, {X: right, Y: 0}, {X: right, Y: share}, {X: left, Y: share}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.LineStyle.Width = faint(grey), 0
		p.Add(bar)
		points = append(points, plotter.XY{X: d.Confidence[k], Y: d.Frequency[k]})
		low = append(low, plotter.XY{X: d.Confidence[k], Y: d.Low[k]})
		high = append(plotter.XYs{{X: d.Confidence[k], Y: d.High[k]}}, high...)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("there are no predictions")
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return nil, err
	}
	diagonal.Color, diagonal.Dashes = grey, []vg.Length{vg.Points(3), vg.Points(2)}
	p.Add(diagonal)
	if len(points) > 1 {
		band, err := plotter.NewPolygon(append(low, high...))
		if err != nil {
			return nil, err
		}
		band.Color, band.LineStyle.Width = faint(blue), 0
		p.Add(band)
	}
	line, dots, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = blue, vg.Points(1.4)
	dots.Color, dots.Radius = blue, vg.Points(1.6)
	p.Add(line, dots)
	return p, nil
}

// halves ticks the unit interval at 0, ½, 1.
type halves struct{}

func (halves) Ticks(float64, float64) (ticks []plot.Tick) {
	for _, x := range []float64{0, 0.5, 1} {
		ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprintf("%.1f", x)})
	}
	return ticks
}

// Pool averages the bins of several seeds, weighted by their rows.
func Pool(name string, counts [][]int, confidence, frequency [][]float64) Diagram {
	bins := len(counts[0])
	d := Diagram{name, make([]float64, bins), make([]float64, bins), make([]float64, bins), make([]float64, bins), make([]float64, bins)}
	var total float64
	for k := range bins {
		var n float64
		d.Low[k], d.High[k] = math.Inf(1), math.Inf(-1)
		for s := range counts {
			w := float64(counts[s][k])
			if w == 0 {
				continue
			}
			n += w
			d.Confidence[k] += w * confidence[s][k]
			d.Frequency[k] += w * frequency[s][k]
			d.Low[k], d.High[k] = min(d.Low[k], frequency[s][k]), max(d.High[k], frequency[s][k])
		}
		d.Confidence[k] /= n
		d.Frequency[k] /= n
		d.Share[k] = n
		total += n
	}
	for k := range d.Share {
		d.Share[k] /= total
	}
	return d
}
