package report

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/data"

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
	heights := data.Each(panels, func(p RankPanel) vg.Length { return vg.Length(len(p.Names)+4) * 0.6 * vg.Centimeter })
	return newGrid(data.Each(panels, RankPanel.plot), 1, 16*vg.Centimeter, slices.Max(heights), nil, nil)
}

func (panel RankPanel) plot() *chart {
	if n := len(panel.Names); n == 0 || n != len(panel.Ranks) || n != len(panel.Ours) {
		p := newPlot()
		p.err = fmt.Errorf("%d names, %d ranks", n, len(panel.Ranks))
		return p
	}
	worst, half := float64(len(panel.Names)), panel.Critical/2 // no rank lies outside 1 … worst
	var lines []dotLine
	for i, rank := range panel.Ranks {
		line := dotLine{name: panel.Names[i], at: rank, low: max(1, rank-half), high: min(worst, rank+half), ours: panel.Ours[i]}
		line.says = fmt.Sprintf("%s: mean rank %.2f", line.name, rank)
		lines = append(lines, line)
	}
	slices.SortStableFunc(lines, func(a, b dotLine) int { return cmp.Compare(a.at, b.at) })
	p := dotLines(lines)
	p.Title.Text, p.X.Label.Text = panel.Title, "mean rank"
	p.X.Min, p.X.Max = 0.8, worst+0.2
	return p
}
