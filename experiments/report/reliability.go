package report

import (
	"fmt"
	"math"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Reliability draws a reliability diagram: frequency against confidence with its
// 95 % bootstrap band, the diagonal of perfect calibration, and below it how many
// predictions each bin holds, on a logarithmic scale. A bin whose rows all hit or
// all missed has a band of no width, whatever its size: read it with the bar below.
func Reliability(title string, c *metrics.Curve) (*Figure, error) {
	curve := newPlot()
	curve.Title.Text = title
	curve.Y.Label.Text = "observed frequency"
	curve.X.Min, curve.X.Max, curve.Y.Min, curve.Y.Max = 0, 1, 0, 1
	curve.X.Tick.Marker, curve.Y.Tick.Marker = fifths{}, fifths{}
	curve.Add(plainGrid())

	var low, high, points plotter.XYs
	for k, n := range c.Count {
		if n == 0 {
			continue
		}
		points = append(points, plotter.XY{X: c.Confidence[k], Y: c.Frequency[k]})
		if !math.IsNaN(c.Low[k]) {
			low = append(low, plotter.XY{X: c.Confidence[k], Y: c.Low[k]})
			high = append(high, plotter.XY{X: c.Confidence[k], Y: c.High[k]})
		}
	}
	diagonal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}})
	if err != nil {
		return nil, fmt.Errorf("report: reliability: %w", err)
	}
	diagonal.Color, diagonal.Dashes = grey, []vg.Length{vg.Points(4), vg.Points(3)}
	curve.Add(diagonal)
	curve.Legend.Add("perfect calibration", diagonal)
	if len(low) > 0 {
		outline := append(plotter.XYs{}, low...)
		for k := len(high) - 1; k >= 0; k-- {
			outline = append(outline, high[k])
		}
		band, err := plotter.NewPolygon(outline)
		if err != nil {
			return nil, fmt.Errorf("report: reliability: %w", err)
		}
		band.Color, band.LineStyle.Width = faint(blue), 0
		curve.Add(band)
		curve.Legend.Add("95 % bootstrap band", band)
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, fmt.Errorf("report: reliability: %w", err)
	}
	line.Color, line.Width = blue, vg.Points(1.5)
	marks.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	curve.Add(line, marks)
	curve.Legend.Add("this model", line, marks)
	curve.Legend.Top, curve.Legend.Left = true, true
	curve.Legend.XOffs, curve.Legend.YOffs = vg.Points(8), vg.Points(-6)

	counts, err := binCounts(c)
	if err != nil {
		return nil, err
	}
	return &Figure{panels: []panel{{curve, 0.74}, {counts, 0.26}}, width: 12 * vg.Centimeter, height: 15 * vg.Centimeter}, nil
}

// binCounts is a bar for each bin of the unit interval.
func binCounts(c *metrics.Curve) (*plot.Plot, error) {
	p := newPlot()
	p.X.Label.Text = "confidence"
	p.Y.Label.Text = "predictions"
	p.X.Min, p.X.Max = 0, 1
	p.X.Tick.Marker = fifths{}
	most := 0.0
	bins := float64(len(c.Count))
	const floor = -0.3 // half a prediction, so that the bar of one shows
	for k, n := range c.Count {
		if n == 0 {
			continue
		}
		left, right, top := float64(k)/bins, float64(k+1)/bins, math.Log10(float64(n))
		most = max(most, top)
		bar, err := plotter.NewPolygon(plotter.XYs{{X: left, Y: floor}, {X: right, Y: floor}, {X: right, Y: top}, {X: left, Y: top}})
		if err != nil {
			return nil, fmt.Errorf("report: reliability: %w", err)
		}
		bar.Color, bar.LineStyle.Width = blue, 0
		p.Add(bar)
	}
	p.Y.Min, p.Y.Max = floor, max(1, math.Ceil(most))
	p.Y.Tick.Marker = decades{}
	return p, nil
}

// ESSProfile draws local calibration error along the effective sample size of the
// neighbourhood, on a logarithmic scale from sparse to dense.
func ESSProfile(title string, profile metrics.Profile) (*Figure, error) {
	p := newPlot()
	p.Title.Text = title
	p.X.Label.Text = "effective sample size of the neighbourhood"
	p.Y.Label.Text = "local calibration error"
	var points plotter.XYs
	least, most := math.Inf(1), math.Inf(-1)
	for k, n := range profile.Count {
		if n == 0 {
			continue
		}
		// a neighbourhood of no one has a logarithm too: less than one row
		x := math.Log10(max(profile.At[k], 0.1))
		points = append(points, plotter.XY{X: x, Y: profile.LCE[k]})
		least, most = min(least, x), max(most, x)
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("report: ESS profile: no bin was measured")
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return nil, fmt.Errorf("report: ESS profile: %w", err)
	}
	line.Color, line.Width = orange, vg.Points(1.5)
	marks.GlyphStyle = draw.GlyphStyle{Color: orange, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}
	p.Add(plainGrid(), line, marks)
	p.X.Min, p.X.Max = least-0.1, most+0.1
	p.X.Tick.Marker = logTicks{}
	p.Y.Min = 0
	p.Y.Max = max(p.Y.Max*1.05, 1e-6)
	p.Y.Tick.Marker = evenTicks{}
	return &Figure{panels: []panel{{p, 1}}, width: 14 * vg.Centimeter, height: 9 * vg.Centimeter}, nil
}

func plainGrid() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	return grid
}

// fifths ticks the unit interval at 0, 0.2, …, 1.
type fifths struct{}

var _ plot.Ticker = fifths{}

func (fifths) Ticks(float64, float64) (ticks []plot.Tick) {
	for k := range 6 {
		x := float64(k) / 5
		ticks = append(ticks, plot.Tick{Value: x, Label: fmt.Sprintf("%.1f", x)})
	}
	return ticks
}

// Logarithmic axes hold log10 of their values: gonum/plot v0.17 places the label of
// an axis of plot.LogScale off its middle.

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
