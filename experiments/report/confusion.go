package report

import (
	"fmt"
	"math"
	"slices"

	"calibra/experiments/diagnosis"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
)

// confusion draws what is taken for what as two maps of classes × classes: how often, and with what probability. Classes
// have these names, or their numbers where it is nil. It is nil where no row is taken for another.
func confusion(c *diagnosis.Confusion, names []string) *Figure {
	if len(c.Taken) == 0 {
		return nil
	}
	var called []string
	place := map[int]int{}
	for at, k := range c.Classes {
		name := fmt.Sprint(k)
		if k < len(names) {
			name = clippedName(names[k])
		}
		called, place[k] = append(called, name), at
	}
	n := len(called)
	rows := slices.Clone(called) // the first class stands above
	slices.Reverse(rows)
	shares, means := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for _, m := range []*mat.Dense{shares, means} {
		m.Apply(func(int, int, float64) float64 { return math.NaN() }, m)
	}
	most := 0.
	for _, m := range c.Taken {
		i, j := place[m.Class], place[m.For]
		share := 100 * m.Rows / c.Rows[i]
		shares.Set(n-1-i, j, share)
		means.Set(n-1-i, j, m.Confidence)
		most = max(most, share)
	}
	number := func(format string) func(float64) string {
		if n > 10 {
			return nil
		}
		return func(v float64) string { return fmt.Sprintf(format, v) }
	}
	size := max(7, vg.Length(n)*0.62) * vg.Centimeter
	panel := HeatPanel{X: "top class", Y: "class", Rows: rows, Columns: called, Width: size, Height: size}
	often, sure := panel, panel
	often.Title, often.Values, often.Text, often.High = "% of a class taken for another", shares, number("%.2g"), most
	sure.Title, sure.Values, sure.Text = "their mean probability", means, number("%.2f")
	sure.Low, sure.High = 1/float64(c.Of), 1
	return Heat([]HeatPanel{often, sure}, 2)
}

// clippedName is a name as an axis has room for.
func clippedName(name string) string {
	const most = 14
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return name
}
