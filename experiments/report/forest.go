package report

import (
	"fmt"
	"image/color"
	"math"

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
	titles := data.Each(v.Methods, func(j *verdict.Judged) string { return j.Title })
	for _, panel := range []struct {
		x  string
		of func(*verdict.Judged) *verdict.Difference
	}{
		{"NLL minus the lowest", func(j *verdict.Judged) *verdict.Difference { return j.ToLowest }},
		{"share of wrong rows minus that at the lowest NLL", func(j *verdict.Judged) *verdict.Difference { return j.ErrorsToLowest }},
	} {
		p, known := newLanes(titles), false
		for i, j := range v.Methods {
			d, colour, says := &verdict.Difference{Low: math.NaN()}, ours, j.Title+", the lowest NLL"
			if i > 0 {
				if d = panel.of(j); d == nil {
					continue
				}
				known, colour = true, others[0]
				points.add(panel.x, j.Title, d.Value, d.Low, d.High, d.P)
				says = fmt.Sprintf("%s: %s%v", j.Title, map[bool]string{true: "+"}[d.Value > 0], d)
			}
			m := &marked{name: j.Title}
			m.interval(colour, draw.CircleGlyph{}, float64(len(titles)-i), dot{d.Value, d.Low, d.High, false, says})
			p.Add(m)
		}
		if !known {
			continue
		}
		p.aroundZero()
		p.Title.Text, p.X.Label.Text = title, panel.x
		plots = append(plots, p)
	}
	if plots == nil {
		return nil
	}
	return newGrid(plots, 2, 9*vg.Centimeter, lanes(len(titles)), nil, points)
}

// aroundZero draws the line at 0 and gives the x axis room for it and for what was drawn.
func (c *chart) aroundZero() {
	c.Add(newDashes(plotter.XY{X: 0, Y: c.Y.Min}, plotter.XY{X: 0, Y: c.Y.Max}))
	edge := 0.05 * (c.X.Max - c.X.Min)
	if edge == 0 {
		edge = 1e-3
	}
	c.X.Min, c.X.Max = c.X.Min-edge, c.X.Max+edge
}

// lanes is the height of a plot of so many lines.
func lanes(n int) vg.Length { return vg.Length(n+4) * 0.55 * vg.Centimeter }

// newLanes is a plot with a line for each name, the first above; line i is at height len(names) − i.
func newLanes(names []string) *chart {
	p := newPlot()
	p.Add(newGridLines())
	var ticks plot.ConstantTicks
	const most = 32 // that a column has room for
	for i := 0; i < len(names); i += (len(names) + most - 1) / most {
		ticks = append(ticks, plot.Tick{Value: float64(len(names) - i), Label: names[i]})
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
		for i, d := range s.dots {
			hollow = hollow || d.hollow
			m.interval(colour, s.shape, float64(len(s.dots)-i)+.6*(.5-(float64(k)+.5)/float64(len(all))), d)
		}
		c.Add(m)
		sample := newDots(colour, vg.Points(3.2), plotter.XY{})
		sample.Shape = s.shape
		legend.add(s.name, sample)
	}
	if hollow {
		legend.add("within chance", newDots(grey, vg.Points(3.2), plotter.XY{}), newDots(white, vg.Points(2), plotter.XY{}))
	}
}

// interval draws a dot at height y, a line from its low to its high end.
func (m *marked) interval(colour color.Color, shape draw.GlyphDrawer, y float64, d dot) {
	at := plotter.XY{X: d.at, Y: y}
	if !math.IsNaN(d.low) {
		m.add(newLine(colour, vg.Points(1.4), plotter.XY{X: d.low, Y: y}, plotter.XY{X: d.high, Y: y}))
	}
	mark := newDots(colour, vg.Points(3.2), at)
	mark.Shape = shape
	if m.add(mark); d.hollow {
		m.add(newDots(white, vg.Points(2), at))
	}
	m.label(at.X, y, d.says)
}
