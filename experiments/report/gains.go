package report

import (
	"fmt"
	"math"

	"calibra/data"

	"gonum.org/v1/plot/vg"
)

// GainPanel is what one method changes on several sources.
type GainPanel struct {
	Title   string
	Sources []Gain
}

// Gain is a change of NLL in percent with its 95 % interval.
type Gain struct {
	Source            string
	Change, Low, High float64
}

// Gains draws the panels side by side on one axis, a source a line: on the left of the line at 0 the NLL is lower.
func Gains(panels []GainPanel) *Figure {
	low, high, most := 0., 0., 0
	var plots []*chart
	for _, panel := range panels {
		lines := data.Each(panel.Sources, func(g Gain) dotLine {
			low, high = math.Min(low, g.Low), math.Max(high, g.High)
			return dotLine{name: g.Source, at: g.Change, low: g.Low, high: g.High, says: fmt.Sprintf("%s: %+.1f %% (%+.1f to %+.1f)", g.Source, g.Change, g.Low, g.High)}
		})
		p := dotLines(lines)
		p.Title.Text, p.X.Label.Text = panel.Title, "change of NLL, %"
		p.aroundZero(lines)
		plots, most = append(plots, p), max(most, len(lines))
	}
	edge := 0.03 * (high - low)
	for _, p := range plots {
		p.X.Min, p.X.Max = low-edge, high+edge
	}
	return newGrid(plots, 2, 9*vg.Centimeter, vg.Length(most+4)*0.5*vg.Centimeter, nil, nil)
}
