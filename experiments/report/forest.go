package report

import (
	"fmt"
	"image/color"
	"math"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/verdict"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Forest draws what the verdict weighs, the lowest NLL above: the difference of each method to
// it in NLL, and in the share of wrong rows where that is known, with 95 % intervals. On the
// left of the line at 0 a method is better, on its right worse.
func Forest(v *verdict.Verdict, title string) *Figure {
	var plots []*chart
	points := points{head: []string{"panel", "method", "difference", "low", "high", "p"}}
	lowest := v.Methods[0].Title
	if utf8.RuneCountInString(lowest) > longName { // and would be cut off
		lowest = "the lowest"
	}
	for _, panel := range []struct {
		x  string
		of func(*verdict.Judged) *verdict.Difference
	}{
		{"NLL minus that of " + lowest, func(j *verdict.Judged) *verdict.Difference { return j.ToLowest }},
		{"share of wrong rows minus that of " + lowest, func(j *verdict.Judged) *verdict.Difference { return j.ErrorsToLowest }},
	} {
		var lines []dotLine
		known := false
		for i, j := range v.Methods {
			line := dotLine{name: j.Title, ours: i == 0}
			if d := panel.of(j); d != nil {
				known = true
				line.at, line.low, line.high = d.Value, d.Low, d.High
				points.add(panel.x, j.Title, d.Value, d.Low, d.High, d.P)
				line.says = fmt.Sprintf("%s: %s%v", j.Title, map[bool]string{true: "+"}[d.Value > 0], d)
			} else if i > 0 {
				line.at = math.NaN()
			} else {
				line.says = j.Title + ", the lowest NLL"
			}
			lines = append(lines, line)
		}
		if !known {
			continue
		}
		p := dotLines(lines)
		p.Title.Text, p.X.Label.Text = title, panel.x
		plots = append(plots, p)
	}
	if plots == nil {
		return nil
	}
	return newGrid(plots, 2, 9*vg.Centimeter, vg.Length(len(v.Methods)+4)*0.55*vg.Centimeter, nil, points)
}

// longName is how long the name of a method may be to stand below an axis.
const longName = 8

// aroundZero draws the line at 0 and gives the x axis room for it and for what was drawn.
func (c *chart) aroundZero() {
	c.Add(newDashes(plotter.XY{X: 0, Y: c.Y.Min}, plotter.XY{X: 0, Y: c.Y.Max}))
	edge := 0.05 * (c.X.Max - c.X.Min)
	if edge == 0 {
		edge = 1e-3
	}
	c.X.Min, c.X.Max = c.X.Min-edge, c.X.Max+edge
}

// dotLine is a dot with its interval on a line of its own; a NaN at leaves the line empty.
type dotLine struct {
	name          string
	at, low, high float64 // NaN ends of equal predictions
	ours          bool    // in the colour of what the figure is about
	says          string
}

// newLanes is a plot with a line for each name, the first above; line i is at height len(names) − i.
func newLanes(names []string) *chart {
	p := newPlot()
	p.Add(newGridLines())
	var ticks plot.ConstantTicks
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(len(names) - i), Label: name})
	}
	p.Y.Tick.Marker, p.X.Tick.Marker = ticks, spacedTicks{}
	p.Y.Min, p.Y.Max = 0.5, float64(len(names))+0.5
	return p
}

// dotted is a series of dots, one on each line of a plot.
type dotted struct {
	name  string
	ours  bool             // in the colour of what the figure is about
	shape draw.GlyphDrawer // of the dots
	dots  []dot
}

// dot is a value with its interval; ends that are NaN are of none.
type dot struct {
	at, low, high float64
	hollow        bool // it is within chance
	says          string
}

// addDotted adds series to the lines, in each line the first above the others.
func (c *chart) addDotted(all []dotted, legend *keys) {
	hollow := false
	for k, s := range all {
		m := &marked{name: s.name}
		colour, _ := look(k, s.ours)
		mark := func(at plotter.XY) *plotter.Scatter {
			dot := newDots(colour, vg.Points(3.2), at)
			dot.Shape = s.shape
			return dot
		}
		for i, d := range s.dots {
			at := plotter.XY{X: d.at, Y: float64(len(s.dots)-i) + .6*(.5-(float64(k)+.5)/float64(len(all)))}
			if !math.IsNaN(d.low) {
				m.add(newLine(colour, vg.Points(1.2), plotter.XY{X: d.low, Y: at.Y}, plotter.XY{X: d.high, Y: at.Y}))
			}
			m.add(mark(at))
			if d.hollow {
				hollow = true
				m.add(newDots(color.White, vg.Points(2), at))
			}
			m.label(at.X, at.Y, d.says)
		}
		c.Add(m)
		legend.add(s.name, mark(plotter.XY{}))
	}
	if hollow {
		edge, within := newDots(grey, vg.Points(3.2), plotter.XY{}), newDots(color.White, vg.Points(2), plotter.XY{})
		legend.add("within chance", edge, within)
	}
}

// dotLines is a plot of the lines, the first above, about 0.
func dotLines(lines []dotLine) *chart {
	p := newLanes(data.Each(lines, func(l dotLine) string { return l.name }))
	for i, l := range lines {
		y := float64(len(lines) - i)
		if math.IsNaN(l.at) {
			continue
		}
		m := &marked{name: l.name}
		colour, _ := look(0, l.ours)
		if !math.IsNaN(l.low) {
			m.add(newLine(colour, vg.Points(1.6), plotter.XY{X: l.low, Y: y}, plotter.XY{X: l.high, Y: y}))
		}
		m.add(newDots(colour, vg.Points(3.5), plotter.XY{X: l.at, Y: y}))
		m.label(l.at, y, l.says)
		p.Add(m)
	}
	p.aroundZero()
	return p
}
