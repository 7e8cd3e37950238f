package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// BarPanel is one plot of bars: a metric of all methods on one data set.
type BarPanel struct {
	Title string
	Bars  []Bar
	Marks BarMarks
	// Top is how far the axis goes at least: give panels to be compared the same. 0 is no
	// bound.
	Top float64
}

// BarMarks is how a panel shows its values.
type BarMarks int

const (
	BarsFromZero  BarMarks = iota // for errors that are 0 at best
	DotsFromLeast                 // on an axis about the values, for those to which 0 means nothing
)

// Bar is one method's mean over the seeds.
type Bar struct {
	Name     string
	Winner   bool    // drawn in the colour of the best
	Mean, SD float64 // NaN mean: no bar
	// Seeds are the values that Mean is of, drawn as dots in place of SD as long as they
	// are few.
	Seeds []float64
	// Floor is the value of the metric for a perfectly calibrated model, NaN if it is
	// not known.
	Floor float64
}

// half is the half of a bar, 1 being the distance to the next.
const half = .36

// Bars draws the panels side by side: a bar a method, the first above, with the values of its seeds, or
// their standard deviation where they are many, and a white-edged tick where noise alone
// would put it.
func Bars(panels []BarPanel) *Figure {
	most := slices.Max(data.Each(panels, func(p BarPanel) int { return len(p.Bars) }))
	points := points{head: []string{"panel", "method", "mean", "sd", "floor", "seeds"}}
	for _, panel := range panels {
		for _, b := range panel.Bars {
			seeds := strings.Trim(fmt.Sprint(b.Seeds), "[]")
			points.add(panel.Title, b.Name, b.Mean, b.SD, b.Floor, seeds)
		}
	}
	return newGrid(data.Each(panels, BarPanel.plot), 2, 8.5*vg.Centimeter, lanes(most), nil, points)
}

// few reports whether the bar shows its seeds one by one.
func (b Bar) few() bool { return len(b.Seeds) > 1 && len(b.Seeds) <= fewSeeds }

// Reach is how high the bar and what stands on it go; 0 of none.
func (b Bar) Reach() float64 {
	if math.IsNaN(b.Mean) {
		return 0
	}
	top := b.Mean + b.SD
	if b.few() {
		top = slices.Max(b.Seeds)
	}
	if !math.IsNaN(b.Floor) {
		top = max(top, b.Floor)
	}
	return top
}

func (panel BarPanel) plot() *chart {
	p := newLanes(data.Each(panel.Bars, func(b Bar) string { return b.Name }))
	p.Title.Text = panel.Title
	top, bottom := panel.Top, math.Inf(1)
	for i, bar := range panel.Bars {
		if !math.IsNaN(bar.Mean) {
			top, bottom = max(top, bar.Reach()), min(bottom, slices.Min(append([]float64{bar.Mean - bar.SD}, bar.Seeds...)))
			p.Add(bar.at(float64(len(panel.Bars)-i), panel.Marks))
		}
	}
	p.X.Min, p.X.Max = 0, max(top*1.06, 1e-9)
	if panel.Marks == DotsFromLeast && bottom <= top {
		edge := max(0.08*(top-bottom), 1e-9)
		p.X.Min, p.X.Max = bottom-edge, top+edge
	}
	return p
}

// at draws the bar around y.
func (b Bar) at(y float64, marks BarMarks) *marked {
	m := &marked{name: b.Name}
	colour := muted
	if b.Winner {
		colour = ours
	}
	if marks == DotsFromLeast {
		m.add(newDots(colour, vg.Points(5), plotter.XY{X: b.Mean, Y: y}))
	} else {
		m.add(newBox(colour, 0, b.Mean, y-half, y+half))
		m.label(b.Mean/2, y, b.text())
	}
	rimmed := func(ends ...plotter.XY) { m.add(newLine(white, 3.4, ends...), newLine(ink, 1.6, ends...)) }
	switch {
	case b.few():
		for i, x := range b.Seeds { // below each other, so that equal ones show
			at := plotter.XY{X: x, Y: y + half*1.4*((float64(i)+.5)/float64(len(b.Seeds))-.5)}
			m.add(newDots(white, vg.Points(2.4), at), newDots(ink, vg.Points(1.6), at))
		}
	case b.SD > 0:
		rimmed(plotter.XY{X: b.Mean - min(b.SD, b.Mean), Y: y}, plotter.XY{X: b.Mean + b.SD, Y: y})
	}
	if !math.IsNaN(b.Floor) {
		rimmed(plotter.XY{X: b.Floor, Y: y - half}, plotter.XY{X: b.Floor, Y: y + half})
	}
	m.label(b.Mean, y, b.text())
	return m
}

// text describes the bar in words.
func (b Bar) text() string {
	text := fmt.Sprintf("%s: %.4g", b.Name, b.Mean)
	if b.SD > 0 {
		text += fmt.Sprintf(" ± %.2g", b.SD)
	}
	if !math.IsNaN(b.Floor) {
		text += fmt.Sprintf(", noise floor %.4g", b.Floor)
	}
	return text
}
