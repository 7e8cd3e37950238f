package report

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// RankPanel is the mean rank of each method over data sets, and the difference
// below which two cannot be told apart.
type RankPanel struct {
	Title    string
	Names    []string
	Ranks    []float64 // 1 the best
	Critical float64
	Ours     []bool
}

// Ranks draws panels below each other: methods from best to worst, a dot at the mean
// rank and a bar of half the critical difference on either side, so that two methods
// differ where their bars do not meet.
func Ranks(panels []RankPanel) (*Figure, error) {
	var plots []*plot.Plot
	var height vg.Length
	for _, ranks := range panels {
		if len(ranks.Names) == 0 || len(ranks.Names) != len(ranks.Ranks) || len(ranks.Names) != len(ranks.Ours) {
			return nil, fmt.Errorf("report: ranks of %s: %d names, %d ranks", ranks.Title, len(ranks.Names), len(ranks.Ranks))
		}
		p, err := ranks.plot()
		if err != nil {
			return nil, err
		}
		plots = append(plots, p)
		height = max(height, vg.Length(len(ranks.Names)+4)*0.6*vg.Centimeter)
	}
	return newGrid(plots, 1, 16*vg.Centimeter, height, nil, nil), nil
}

func (panel RankPanel) plot() (*plot.Plot, error) {
	p := newPlot()
	p.Title.Text, p.X.Label.Text = panel.Title, "mean rank"
	order := make([]int, len(panel.Names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(panel.Ranks[i], panel.Ranks[j]) })
	p.Add(newGridLines())
	var ticks plot.ConstantTicks
	for at, i := range order {
		y := float64(len(order) - at)
		ticks = append(ticks, plot.Tick{Value: y, Label: panel.Names[i]})
		colour := others[0]
		if panel.Ours[i] {
			colour = ours
		}
		half := panel.Critical / 2
		worst := float64(len(order)) // no rank lies outside 1 … worst
		bar, err := plotter.NewLine(plotter.XYs{{X: max(1, panel.Ranks[i]-half), Y: y}, {X: min(worst, panel.Ranks[i]+half), Y: y}})
		if err != nil {
			return nil, err
		}
		bar.Color, bar.Width = faint(colour), vg.Points(6)
		dot, err := plotter.NewScatter(plotter.XYs{{X: panel.Ranks[i], Y: y}})
		if err != nil {
			return nil, err
		}
		dot.GlyphStyle = draw.GlyphStyle{Color: colour, Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
		m := &marked{name: panel.Names[i], parts: []plot.Plotter{bar, dot}}
		m.say(panel.Ranks[i], y, fmt.Sprintf("%s: mean rank %.2f", panel.Names[i], panel.Ranks[i]))
		p.Add(m)
	}
	p.X.Min, p.X.Max = 0.8, float64(len(order))+0.2
	p.Y.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = 0.5, float64(len(order))+0.5
	return p, nil
}
