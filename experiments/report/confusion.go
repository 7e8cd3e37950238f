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
	place := map[int]int{}
	var whole []string
	for at, k := range c.Classes {
		name := fmt.Sprint(k)
		if k < len(names) {
			name = names[k]
		}
		whole, place[k] = append(whole, name), at
	}
	called := clippedNames(whole)
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
	size := min(16, max(8, vg.Length(n)*0.5)) * vg.Centimeter
	panel := HeatPanel{X: "top class", Y: "class", Rows: rows, Columns: called, Width: size, Height: size}
	often, sure := panel, panel
	often.Title, often.Values, often.Text, often.High = "% of a class taken for another", shares, number("%.2g"), most
	sure.Title, sure.Values, sure.Text = "their mean probability", means, number("%.2f")
	sure.Low, sure.High = 1/float64(c.Of), 1
	f := Heat([]HeatPanel{often, sure}, 2)
	f.whole = map[string]string{}
	for k, name := range called {
		f.whole[name] = whole[k]
	}
	return f
}

// longestName is how many letters an axis has room for.
const longestName = 14

// clippedName is a name as an axis has room for: of a longer one the beginning and the end.
func clippedName(name string) string {
	const end = 4
	if runes := []rune(name); len(runes) > longestName {
		return string(runes[:longestName-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}

// clippedNames clips names so that no two of them are alike: those that would be have their places before them.
func clippedNames(names []string) []string {
	short, times := make([]string, len(names)), map[string]int{}
	for k, name := range names {
		short[k] = clippedName(name)
		times[short[k]]++
	}
	for k, name := range names {
		if times[short[k]] > 1 {
			short[k] = clippedName(fmt.Sprintf("%d %s", k, name))
		}
	}
	return short
}
