package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"calibra/data"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LinePanel is one plot of lines and points.
type LinePanel struct {
	Title, X, Y string
	Log, LogY   bool // X, Y on a logarithmic axis
	// Places label the x axis at the series' X alone; nil for even ticks.
	Places map[float64]string
	Series []Series
	// Apart gives the panel a scale of its own.
	Apart bool
}

// Series are the points of one method, or one quantity, in a figure of lines.
type Series struct {
	Name string
	Ours bool // drawn in front, in the colour of the paper's calibrator
	// Style picks the colour and the mark; give what is shown again elsewhere the same.
	Style int
	Kind  Kind
	// X are the places, Mean the values there; NaN where there is none.
	X, Mean []float64
	// SD is the standard deviation of each value, drawn as a band; nil for none.
	SD []float64
	// Low and High are the ends of each value's interval, drawn as a bar; nil for none.
	Low, High []float64
	// Seeds are the values that each mean is of, drawn as dots in place of a band as long
	// as they are few; nil for none.
	Seeds [][]float64
}

// Kind is how a series is drawn.
type Kind int

const (
	Joined     Kind = iota // marks joined by a line
	Marks                  // marks alone
	Prediction             // a dashed line: what is expected; each Style but 0 has dashes of its own, and marks
	Floor                  // a dotted line without marks: what chance alone shows
)

// fewSeeds is the most values of one mean that are drawn one by one.
const fewSeeds = 10

// Lines draws the panels side by side with one legend, of each name once; nil of none. Panels with the
// same Y show the same quantity and get one scale, but for those apart.
func Lines(panels []LinePanel) *Figure {
	if len(panels) == 0 {
		return nil
	}
	var legend keys
	plots := data.Each(panels, func(p LinePanel) *chart { return p.draw(&legend) })
	for i, a := range panels {
		for j, b := range panels {
			if a.Y == b.Y && a.LogY == b.LogY && !a.Apart {
				plots[i].Y.Min, plots[i].Y.Max = min(plots[i].Y.Min, plots[j].Y.Min), max(plots[i].Y.Max, plots[j].Y.Max)
			}
		}
	}
	points := points{head: []string{"panel", "series", "x", "y", "sd", "low", "high", "seeds"}}
	for _, panel := range panels {
		for _, s := range panel.Series {
			for i, x := range s.X {
				seeds := ""
				if s.Seeds != nil {
					seeds = strings.Trim(fmt.Sprint(s.Seeds[i]), "[]")
				}
				points.add(panel.Title, s.Name, x, s.Mean[i], at(s.SD, i), at(s.Low, i), at(s.High, i), seeds)
			}
		}
	}
	return newGrid(plots, 2, 9*vg.Centimeter, 7.5*vg.Centimeter, legend, points)
}

// draw also adds the series that have names to a legend.
func (panel LinePanel) draw(legend *keys) *chart {
	p := newPlot()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.Title, panel.X, panel.Y
	p.Add(newGridLines())
	var behind, middle, front []plot.Plotter
	for _, s := range panel.Series {
		m, sample := panel.series(s)
		if m == nil {
			continue
		}
		switch {
		case s.Kind == Floor:
			behind = append(behind, m)
		case s.Ours || s.Kind == Prediction:
			front = append(front, m)
		default:
			middle = append(middle, m)
		}
		if s.Name != "" {
			legend.add(s.Name, sample...)
		}
	}
	p.Add(slices.Concat(behind, middle, front)...)
	panel.axes(p)
	return p
}

// axes makes the axes a little longer than what is drawn reaches.
func (panel LinePanel) axes(p *chart) {
	if p.X.Min > p.X.Max {
		p.err, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = errNothing, 0, 1, 0, 1
	}
	edge := max((p.X.Max-p.X.Min)*0.04, 1e-6)
	p.X.Min, p.X.Max = p.X.Min-edge, p.X.Max+edge
	if panel.Log {
		p.X.Tick.Marker = logTicks(apart)
	}
	if panel.Places != nil {
		p.X.Tick.Marker = placedTicks{panel.Places, panel.Log}
	}
	bottom, top := p.Y.Min, p.Y.Max
	switch {
	case panel.LogY:
		margin := max(0.05*(top-bottom), 0.05)
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = bottom-margin, top+margin, logTicks(stacked)
	case bottom >= 0 && bottom <= 0.4*top: // a zero farther below would flatten the lines
		p.Y.Min, p.Y.Max = 0, max(top*1.05, 1e-9)
	default:
		margin := max(0.08*(top-bottom), 1e-9)
		p.Y.Min, p.Y.Max = bottom-margin, top+margin
	}
}

// look is the colour and the mark of the series.
func (s Series) look() (color.NRGBA, draw.GlyphDrawer) {
	if s.Kind == Floor || s.Kind == Prediction && !s.Ours {
		return ink, glyphs[s.Style%len(glyphs)]
	}
	return look(s.Style, s.Ours)
}

// series puts a series on the panel's scales, with the text of each of its points, and is what a legend shows of it;
// nil where it has none.
func (panel LinePanel) series(s Series) (m *marked, sample []plot.Thumbnailer) {
	m = &marked{name: s.Name}
	colour, _ := s.look()
	var points, seeds, low, high plotter.XYs // low and high are the edges of the band
	var bars []plot.Plotter
	for i, x := range s.X {
		mean := s.Mean[i]
		x, ok := panel.at(x, mean)
		if !ok {
			continue
		}
		y := panel.height(mean)
		points = append(points, plotter.XY{X: x, Y: y})
		says := fmt.Sprintf("%s: %s %.4g, %s %.4g", s.Name, panel.X, s.X[i], panel.Y, mean)
		values := s.fewSeeds(i)
		for _, v := range values {
			if !panel.LogY || v > 0 {
				seeds = append(seeds, plotter.XY{X: x, Y: panel.height(v)})
			}
		}
		if s.SD != nil && values == nil {
			below, above := panel.around(mean, s.SD[i])
			low, high = append(low, plotter.XY{X: x, Y: below}), append(high, plotter.XY{X: x, Y: above})
		}
		if s.SD != nil && s.SD[i] > 0 {
			says += fmt.Sprintf(" ± %.2g", s.SD[i])
		}
		if s.Low != nil && !math.IsNaN(s.Low[i]) {
			says += fmt.Sprintf(" (%.4g – %.4g)", s.Low[i], s.High[i])
			below := y
			if !panel.LogY || s.Low[i] > 0 {
				below = panel.height(s.Low[i])
			}
			bars = append(bars, newBar(colour, x, below, panel.height(s.High[i])))
		}
		m.label(x, y, says)
	}
	if points == nil {
		return nil, nil
	}
	if len(low) > 1 {
		_, parts := band(faint(colour), colour, low, high)
		m.add(parts...)
	}
	m.add(bars...)
	if len(seeds) > 0 {
		m.add(newDots(colour, vg.Points(1.3), seeds...))
	}
	line, marks := s.lineOf(points)
	if s.Kind != Marks {
		m.add(line)
		sample = append(sample, line)
	}
	if s.Kind == Marks || s.Kind == Joined || s.Kind == Prediction && s.Style > 0 {
		m.add(marks)
		sample = append(sample, marks)
	}
	return m, sample
}

// lineOf is the line through the points, as the kind of the series has it, and its marks.
func (s Series) lineOf(points plotter.XYs) (*plotter.Line, *plotter.Scatter) {
	colour, shape := s.look()
	line, marks := newLine(colour, vg.Points(1.2), points...), newDots(colour, vg.Points(2.2), points...)
	marks.Shape = shape
	if s.Ours {
		line.Width = vg.Points(2.2)
	}
	switch s.Kind {
	case Prediction:
		line.Dashes = dashed[s.Style%len(dashed)]
	case Floor:
		line.Dashes, line.Width = []vg.Length{vg.Points(1), vg.Points(2)}, vg.Points(1.6)
	}
	return line, marks
}

// fewSeeds are the values behind the i-th mean where they are few enough to be drawn, else nil.
func (s Series) fewSeeds(i int) []float64 {
	if s.Seeds == nil || len(s.Seeds[i]) < 2 || len(s.Seeds[i]) > fewSeeds {
		return nil
	}
	return s.Seeds[i]
}

// around are the heights of y ± sd.
func (panel LinePanel) around(y, sd float64) (below, above float64) {
	if panel.LogY { // log₁₀ y ± sd/(y ln 10), by the delta method
		spread := sd / y / math.Ln10
		return math.Log10(y) - spread, math.Log10(y) + spread
	}
	return y - sd, y + sd
}

// at is the place of x on its axis, false where x or y has none.
func (panel LinePanel) at(x, y float64) (float64, bool) {
	x = scaled(x, panel.Log)
	ok := !math.IsNaN(y) && !math.IsInf(y, 0) && !math.IsNaN(x) && !math.IsInf(x, 0) && !(panel.LogY && y <= 0)
	return x, ok
}

func (panel LinePanel) height(y float64) float64 { return scaled(y, panel.LogY) }

// scaled is the place of a value on its axis.
func scaled(x float64, log bool) float64 {
	if log {
		return math.Log10(x)
	}
	return x
}
