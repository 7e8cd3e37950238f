package rowcheck

import (
	"math"

	"calibra/data"

	"gonum.org/v1/gonum/stat/distuv"
)

// ClassesDiffer reports whether the classes of two sets of labelled rows differ in their shares by more than chance at
// 1 %, by the likelihood ratio test of homogeneity, 2 Σ n log(n/expected). Classes of fewer than five expected rows
// count together. Of rows without logits nothing is said.
func ClassesDiffer(cal, test *data.Set) bool {
	if cal.Logits == nil || test.Logits == nil || cal.Labels == nil || test.Labels == nil {
		return false
	}
	shares := [2][]float64{sharesOf(cal), sharesOf(test)}
	total := [2]float64{data.Effective(cal.Weights, cal.Len()), data.Effective(test.Weights, test.Len())}
	const fewest = 5 // expected rows
	ratio, cells, rest := 0., 0, [2]float64{}
	add := func(n [2]float64) {
		for k := range n {
			if expected := (n[0] + n[1]) * total[k] / (total[0] + total[1]); n[k] > 0 {
				ratio += 2 * n[k] * math.Log(n[k]/expected)
			}
		}
		cells++
	}
	for y := range shares[0] {
		n := [2]float64{shares[0][y] * total[0], shares[1][y] * total[1]}
		if (n[0]+n[1])*min(total[0], total[1])/(total[0]+total[1]) < fewest {
			rest[0], rest[1] = rest[0]+n[0], rest[1]+n[1]
			continue
		}
		add(n)
	}
	if rest[0]+rest[1] > 0 {
		add(rest)
	}
	return cells > 1 && distuv.ChiSquared{K: float64(cells - 1)}.Survival(ratio) < .01
}
