package report

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LinePanel is one plot of lines.
type LinePanel struct {
	Title, X, Y string
	Log         bool // X on a logarithmic axis
	// Places label the x axis at the series' X alone; nil for even ticks.
	Places map[float64]string
	Series []Series
	LogY   bool // Y on a logarithmic axis
}

// Lines draws the panels side by side with one legend: lines through the means, a
// band of one standard deviation around each.
func Lines(panels []LinePanel) (*Figure, error) {
	var plots []*plot.Plot
	legend := newLegend()
	for k, panel := range panels {
		var entries *plot.Legend // of the first panel; the others have the same series
		if k == 0 {
			entries = legend
		}
		p, err := panel.plot(entries)
		if err != nil {
			return nil, fmt.Errorf("report: lines of %s: %w", panel.Title, err)
		}
		plots = append(plots, p)
	}
	return newGrid(plots, 2, 9*vg.Centimeter, 7.5*vg.Centimeter, legend), nil
}

func (panel LinePanel) plot(legend *plot.Legend) (*plot.Plot, error) {
	p := newPlot()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.Title, panel.X, panel.Y
	p.Add(plainGrid())
	colours, marks := style(panel.Series)
	xs := []float64{}
	top, bottom := math.Inf(-1), math.Inf(1)
	var front []plot.Plotter
	for k, s := range panel.Series {
		var points, low, high plotter.XYs
		for i, x := range s.X {
			if math.IsNaN(s.Mean[i]) || panel.LogY && s.Mean[i] <= 0 {
				continue
			}
			if panel.Log {
				x = math.Log10(max(x, 0.1))
			}
			y, below, above := s.Mean[i], s.Mean[i]-s.SD[i], s.Mean[i]+s.SD[i]
			if panel.LogY {
				spread := s.SD[i] / y / math.Ln10 // of log₁₀ y, by the delta method
				y = math.Log10(y)
				below, above = y-spread, y+spread
			}
			xs = append(xs, x)
			points = append(points, plotter.XY{X: x, Y: y})
			low = append(low, plotter.XY{X: x, Y: below})
			high = append(high, plotter.XY{X: x, Y: above})
			top, bottom = max(top, above), min(bottom, below)
		}
		if len(points) == 0 {
			continue
		}
		slices.Reverse(high)
		if len(points) > 1 {
			band, err := plotter.NewPolygon(append(low, high...))
			if err != nil {
				return nil, err
			}
			band.Color, band.LineStyle.Width = fainter(colours[k]), 0
			p.Add(band)
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colours[k], vg.Points(1.2)
		dots.GlyphStyle = draw.GlyphStyle{Color: colours[k], Radius: vg.Points(2.2), Shape: marks[k]}
		if s.Ours {
			line.Width = vg.Points(2.2)
		}
		if legend != nil {
			legend.Add(s.Name, line, dots)
		}
		if s.Ours {
			front = append(front, line, dots)
			continue
		}
		p.Add(line, dots)
	}
	p.Add(front...)
	if len(xs) == 0 {
		return nil, fmt.Errorf("nothing was measured")
	}
	edge := max((slices.Max(xs)-slices.Min(xs))*0.04, 1e-6)
	p.X.Min, p.X.Max = slices.Min(xs)-edge, slices.Max(xs)+edge
	p.X.Tick.Marker = evenTicks{}
	if panel.Log {
		p.X.Tick.Marker = logTicks{}
	}
	if panel.Places != nil {
		p.X.Tick.Marker = placedTicks{panel.Places, panel.Log}
	}
	p.Y.Min, p.Y.Max = 0, top*1.05
	if bottom > 0.4*top { // a zero far below would flatten the lines
		p.Y.Min, p.Y.Max = bottom-0.08*(top-bottom), top+0.08*(top-bottom)
	}
	p.Y.Tick.Marker = evenTicks{}
	if panel.LogY {
		margin := max(0.05*(top-bottom), 0.05)
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = bottom-margin, top+margin, logTicks{}
	}
	return p, nil
}

// fainter is c as the fill of one band among many.
func fainter(c color.NRGBA) color.NRGBA {
	c.A = 0x22
	return c
}

// placedTicks ticks an axis at given places, and names those that leave the name to
// their right some room.
type placedTicks struct {
	labels map[float64]string
	log    bool
}

func (t placedTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for x, label := range t.labels {
		if t.log {
			x = math.Log10(x)
		}
		ticks = append(ticks, plot.Tick{Value: x, Label: label})
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	unname(ticks, 0.09*(high-low))
	return ticks
}
