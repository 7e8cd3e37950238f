package report

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
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
func Ranks(panels []RankPanel) *Figure {
	var plots []*chart
	var height vg.Length
	for _, ranks := range panels {
		plots = append(plots, ranks.plot())
		height = max(height, vg.Length(len(ranks.Names)+4)*0.6*vg.Centimeter)
	}
	return newGrid(plots, 1, 16*vg.Centimeter, height, nil, nil)
}

func (panel RankPanel) plot() *chart {
	if n := len(panel.Names); n == 0 || n != len(panel.Ranks) || n != len(panel.Ours) {
		p := newPlot()
		p.err = fmt.Errorf("%d names, %d ranks", n, len(panel.Ranks))
		return p
	}
	order := make([]int, len(panel.Names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(panel.Ranks[i], panel.Ranks[j]) })
	worst := float64(len(order)) // no rank lies outside 1 … worst
	var lines []dotLine
	for _, i := range order {
		half := panel.Critical / 2
		line := dotLine{name: panel.Names[i], at: panel.Ranks[i], low: max(1, panel.Ranks[i]-half), high: min(worst, panel.Ranks[i]+half), ours: panel.Ours[i]}
		line.says = fmt.Sprintf("%s: mean rank %.2f", line.name, line.at)
		lines = append(lines, line)
	}
	p := dotLines(lines)
	p.Title.Text, p.X.Label.Text = panel.Title, "mean rank"
	p.X.Min, p.X.Max = 0.8, worst+0.2
	return p
}
